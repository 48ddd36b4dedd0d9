/// What each round took in seconds, on either side.
struct Rounds {
    private(set) var ours: [Double] = []
    private(set) var baseline: [Double] = []

    /// Takes in a round of each side. Throws unless both found the same: that they did the same work is checked, and
    /// so is that the optimiser left it in place.
    mutating func add(ours: Sample, baseline: Sample, of id: String) throws {
        guard ours.checksum == baseline.checksum else { throw MeasurementError.differentWork(id: id) }
        self.ours.append(ours.seconds)
        self.baseline.append(baseline.seconds)
    }

    /// Takes in the seconds of a round of each side, where there is nothing to compare but the time.
    mutating func add(ours: Double, baseline: Double) {
        self.ours.append(ours)
        self.baseline.append(baseline)
    }

    /// Lets both sides work in turn, the feed first.
    static func measure(
        _ count: Int, of id: String, ours: () async throws -> Sample, baseline: () throws -> Sample
    ) async throws -> Rounds {
        var rounds = Rounds()
        for _ in 0..<count {
            let sample = try await ours()
            try rounds.add(ours: sample, baseline: try baseline(), of: id)
        }
        return rounds
    }
}

/// How long a piece of work took, and what came of it.
struct Sample {
    let seconds: Double
    /// A sum over what the work gave, equal on both sides.
    let checksum: Int64
}

/// A measurement that means nothing.
enum MeasurementError: Error, CustomStringConvertible {
    case differentWork(id: String)
    case noChange(id: String)

    var description: String {
        switch self {
        case .differentWork(let id): "both sides did not come to the same result in \(id)"
        case .noChange(let id): "the feed did not give the change that \(id) asks for"
        }
    }
}

/// Measures the time since it was made.
struct Stopwatch {
    private static let clock = ContinuousClock()
    /// What looking at the clock takes: the median of many looks with nothing in between.
    private static let ownSeconds = (0..<1001).map { _ in Stopwatch().rawSeconds }.median

    private let start = clock.now

    private var rawSeconds: Double { start.duration(to: Stopwatch.clock.now) / .seconds(1) }

    /// Prepares the clock, so that the first measurement does not pay for it.
    static func warmUp() {
        _ = ownSeconds
    }

    /// The seconds since the start, without what the clock itself takes: an answer of plain Swift may take less.
    var seconds: Double {
        let raw = rawSeconds
        return max(raw - Stopwatch.ownSeconds, 1e-9)
    }
}

extension [Double] {
    /// The middle value; of an even number the mean of the two; NaN of none.
    var median: Double {
        if isEmpty { return .nan }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
