/// One measured number, and beside it that of what it is compared with: plain Swift for `memory`, raw SQLite for
/// `sqlite`, the same store in another situation where the workload says so.
struct Figure: Sendable {
    /// What a number counts, and with that which way is better.
    enum Unit: String, Sendable {
        case recordsPerSecond = "records/s"
        case microseconds = "microseconds"
        case bytes = "bytes"
        case times = "times slower"

        var better: String {
            switch self {
            case .recordsPerSecond: "higher"
            case .microseconds, .bytes, .times: "lower"
            }
        }
    }

    /// The figure's name, the same in every run: workload, work, and where there are several the amount.
    let id: String
    let unit: Unit
    /// The feed's number.
    let ours: Double
    /// The number that it is compared with; nil where there is none.
    let baseline: Double?

    /// Ours divided by the baseline.
    var ratio: Double? {
        baseline.map { ours / $0 }
    }
}

extension Figure {
    /// A rate from the seconds that each round took on either side.
    init(id: String, records: Int, rounds: Rounds) {
        self.init(
            id: id, unit: .recordsPerSecond, ours: Double(records) / rounds.ours.median,
            baseline: Double(records) / rounds.baseline.median)
    }

    /// A time from the seconds that each round took on either side.
    init(id: String, rounds: Rounds) {
        self.init(
            id: id, unit: .microseconds, ours: rounds.ours.median * 1e6, baseline: rounds.baseline.median * 1e6)
    }
}

extension Figure: Encodable {
    private enum CodingKeys: String, CodingKey {
        case id, ours, baseline, ratio, unit, better
    }

    /// Encodes all six keys, null where there is no counterpart.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(ours, forKey: .ours)
        try container.encode(baseline, forKey: .baseline)
        try container.encode(ratio, forKey: .ratio)
        try container.encode(unit.rawValue, forKey: .unit)
        try container.encode(unit.better, forKey: .better)
    }
}
