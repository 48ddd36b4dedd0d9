import ChangeFeedTesting

/// Which of the hints of changes reach a device, and when its process is killed.
protocol FetchSchedule: Sendable {
    /// What the device does now; asked once after each request of a commit, and once after a commit that needs none.
    /// Commits are numbered from 1.
    mutating func next(inCommit number: Int) -> FetchDecision
}

enum FetchDecision: Equatable, Sendable {
    /// No hint arrives: it is lost.
    case wait
    /// A hint arrives.
    case fetchAll
    /// A hint arrives, and the process is killed after so many pages (at least 1). The next hint launches it again.
    case fetchPages(Int)
}

/// Moments that a seed fixes: mostly a few requests apart, now and then many, so that a fetch finds much at once. A
/// fourth of the fetches stop early, so that what has been read changes before the rest is.
struct SeededSchedule: FetchSchedule {
    /// The commit in which the device fetches for the first time.
    let firstCommit: Int
    private var generator: SeededGenerator
    private var turnsToWait = 0

    init(seed: UInt64, firstCommit: Int) {
        self.firstCommit = firstCommit
        generator = SeededGenerator(seed: seed)
    }

    /// A schedule whose first commit is somewhere in the second half of `count` (at least 1) commits.
    static func joiningLate(seed: UInt64, in count: Int) -> SeededSchedule {
        var generator = SeededGenerator(seed: seed)
        let firstCommit = Int.random(in: (count / 2 + 1)...max(count, count / 2 + 1), using: &generator)
        return SeededSchedule(seed: generator.next(), firstCommit: firstCommit)
    }

    mutating func next(inCommit number: Int) -> FetchDecision {
        guard number >= firstCommit else { return .wait }
        guard turnsToWait == 0 else {
            turnsToWait -= 1
            return .wait
        }
        turnsToWait = chance(1, in: 8) ? pick(0...99) : pick(0...7)
        return chance(1, in: 4) ? .fetchPages(pick(1...4)) : .fetchAll
    }

    private mutating func chance(_ favourable: Int, in cases: Int) -> Bool {
        pick(1...cases) <= favourable
    }

    private mutating func pick(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }
}
