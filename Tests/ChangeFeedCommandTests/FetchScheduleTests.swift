import XCTest

@testable import ChangeFeedCommand

/// The moments that a seed makes.
final class FetchScheduleTests: XCTestCase {
    func testASeedFixesTheMoments() {
        XCTAssertEqual(decisions(seed: 1), decisions(seed: 1))
        XCTAssertNotEqual(decisions(seed: 1), decisions(seed: 2))
    }

    func testFetchesAreMostlyNearSometimesFarAndSomeStopEarly() {
        let decisions = decisions(seed: 7)
        let fetches = decisions.indices.filter { decisions[$0] != .wait }
        let gaps = zip(fetches, fetches.dropFirst()).map { $1 - $0 }
        XCTAssertEqual(fetches.first, 0)
        XCTAssertTrue(gaps.contains(1))
        XCTAssertGreaterThan(gaps.max() ?? 0, 20)
        let early = decisions.filter { if case .fetchPages = $0 { true } else { false } }
        XCTAssertGreaterThan(early.count, fetches.count / 8)
        XCTAssertLessThan(early.count, fetches.count / 2)
        XCTAssertFalse(early.contains(.fetchPages(0)))
    }

    func testWhoJoinsLateJoinsInTheSecondHalf() {
        for count in [1, 2, 3, 4, 5, 100, 101] {
            var joined: Set<Int> = []
            for seed: UInt64 in 0..<200 {
                var schedule = SeededSchedule.joiningLate(seed: seed, in: count)
                let first = (1...count).first { schedule.next(inCommit: $0) != .wait }
                XCTAssertEqual(first, schedule.firstCommit)
                joined.insert(schedule.firstCommit)
            }
            XCTAssertEqual(joined.min().map { $0 > count / 2 }, true)
            XCTAssertEqual(joined.max().map { $0 <= count }, true)
            XCTAssertGreaterThanOrEqual(joined.count, min(count - count / 2, 10))
        }
    }

    private func decisions(seed: UInt64) -> [FetchDecision] {
        var schedule = SeededSchedule(seed: seed, firstCommit: 1)
        return (0..<2_000).map { _ in schedule.next(inCommit: 1) }
    }
}
