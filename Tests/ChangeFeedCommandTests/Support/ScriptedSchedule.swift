@testable import ChangeFeedCommand

/// Fetches in the commits that a test names, once in each, and waits otherwise.
struct ScriptedSchedule: FetchSchedule {
    var decisions: [Int: FetchDecision]

    mutating func next(inCommit number: Int) -> FetchDecision {
        decisions.removeValue(forKey: number) ?? .wait
    }
}
