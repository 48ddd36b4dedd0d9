import ChangeFeed
import XCTest

@testable import ChangeFeedCommand

/// Whole histories through the feed: what the devices hold in the end, and what is counted on the way.
final class ReplayTests: XCTestCase {
    func testDevicesHoldTheLastTreeWhateverTheSeedThePageAndTheBatch() async throws {
        for (name, script) in [("awkward", ImportScript.awkward), ("random", .random(commits: 60, seed: 3))] {
            let sandbox = try GitSandbox()
            try sandbox.makeRepository(history: script)
            var written: Set<[Int]> = []
            for pageLimit in [1, 2, 7, 200] {
                for batchLimit in [1, 3, 400] {
                    for seed: UInt64 in [1, 2, .max] {
                        let options = ReplayOptions.limits(pageLimit: pageLimit, batchLimit: batchLimit, seed: seed)
                        let report = try await sandbox.replay(options)
                        XCTAssertEqual(report.differences, [], "\(name): \(options)")
                        XCTAssertLessThanOrEqual(report.recordsFetched, report.pages * pageLimit, "\(name): \(options)")
                        written.insert([report.commits, report.saves, report.deletes])
                    }
                }
            }
            XCTAssertEqual(written.count, 1, "what is written depends on the history alone: \(name)")
        }
    }

    func testWhatIsWrittenIsWhatTheHistoryChanged() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .random(commits: 80, seed: 9))
        let commits = try allCommits(of: GitHistory(sandbox.git("repository")))
        let changes = commits.flatMap(\.changes)
        let puts = changes.filter { if case .put = $0 { true } else { false } }.count

        let report = try await sandbox.replay(.limits(batchLimit: 7))

        XCTAssertEqual(report.commits, commits.count)
        XCTAssertEqual(report.saves, puts)
        XCTAssertEqual(report.deletes, changes.count - puts)
        XCTAssertGreaterThan(report.deletes, 0)
    }

    func testOneSeedGivesOneSetOfCounts() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .random(commits: 50, seed: 4))
        func counts(seed: UInt64) async throws -> ReplayReport {
            var report = try await sandbox.replay(.limits(pageLimit: 2, batchLimit: 3, seed: seed))
            report.seconds = 0
            return report
        }
        var different: Set<[Int]> = []
        for seed: UInt64 in 1...4 {
            let report = try await counts(seed: seed)
            let again = try await counts(seed: seed)
            XCTAssertEqual(report, again)
            different.insert([report.pages, report.recordsFetched, report.recordsIfRefetched])
        }
        XCTAssertGreaterThan(different.count, 1, "the seed decides the moments")
    }

    func testCountsOfATinyHistoryByHand() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)

        let report = try await sandbox.replay(
            .limits(pageLimit: 2),
            fromStart: [1: .fetchAll, 3: .fetchAll],
            late: [3: .fetchPages(1)]
        )

        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.commits, 4)
        XCTAssertEqual(report.saves, 5)
        XCTAssertEqual(report.deletes, 1)
        // From the start: 3 files in commit 1, on two pages; a, d and the removal of b in commit 3, on two pages; at
        // the end nothing, on none. Late: two of three files in commit 3, on one page; at the end the third.
        XCTAssertEqual(report.pages, 2 + 2 + 0 + 1 + 1)
        XCTAssertEqual(report.recordsFetched, 3 + 3 + 0 + 2 + 1)
        // Three records are live at each of the five fetches.
        XCTAssertEqual(report.recordsIfRefetched, 5 * 3)
    }

    func testACommitInSeveralRequestsIsFollowedBetweenThem() async throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        script.commit([.put("a"), .put("b"), .put("c")])
        try sandbox.makeRepository(history: script)

        let report = try await sandbox.replay(.limits(batchLimit: 1), fromStart: [1: .fetchAll])

        // One record after the first request; at the end two more. Late: all three at the end.
        XCTAssertEqual(report.recordsFetched, 1 + 2 + 3)
        XCTAssertEqual(report.recordsIfRefetched, 1 + 3 + 3)
        XCTAssertEqual(report.differences, [])
    }

    func testWhatChangesWhilePagesAreReadIsNotLost() async throws {
        let sandbox = try GitSandbox()
        let names = (0..<9).map { "file\($0)" }
        var script = ImportScript()
        script.commit(names.map { .put($0, "first") })
        // What has been read goes, what has not been read goes, and both change.
        script.commit([.remove(names[0]), .remove(names[8]), .put(names[1], "second"), .put(names[7], "second")])
        script.commit([.put(names[0], "back"), .remove(names[1])])
        try sandbox.makeRepository(history: script)
        for pages in 1...4 {
            let report = try await sandbox.replay(
                .limits(pageLimit: 2),
                fromStart: [1: .fetchPages(pages), 2: .fetchPages(1)],
                late: [2: .fetchPages(pages), 3: .fetchPages(1)]
            )
            XCTAssertEqual(report.differences, [], "\(pages) pages")
        }
    }

    func testMaxCommitsIsVerifiedAgainstTheLastOneReplayed() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        let whole = try GitHistory(sandbox.git("repository"))
        let head = try whole.tree(at: whole.lastCommitID)
        var options = ReplayOptions()
        for count in 1...whole.commitCount + 1 {
            options.maxCommits = count
            let report = try await sandbox.replay(options)
            XCTAssertEqual(report.commits, min(count, whole.commitCount))
            XCTAssertEqual(report.differences, [], "\(count) commits")
        }
        let part = try GitHistory(sandbox.git("repository"), maxCommits: whole.commitCount - 1)
        XCTAssertNotEqual(try part.tree(at: part.lastCommitID), head, "the trees differ, so the right one was taken")
    }

    func testAHistoryOfEmptyCommitsIsVerifiedWithNothingWritten() async throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        for _ in 1...3 { script.commit([]) }
        try sandbox.makeRepository(history: script)
        let report = try await sandbox.replay()
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.commits, 3)
        XCTAssertEqual([report.saves, report.deletes, report.recordsFetched, report.recordsIfRefetched], [0, 0, 0, 0])
        XCTAssertEqual(report.recordsPerSecond, 0)
    }

    func testAPathLongerThanARecordMayBeElsewhereIsReplayed() async throws {
        let sandbox = try GitSandbox()
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 2 * Limits.cloudKit.recordBytes + 1)
        var script = ImportScript()
        script.commit([.put(long, mode: "100644", content: [1]), .put("beside")])
        script.commit([.put(long, mode: "100755", content: [2])])
        try sandbox.makeRepository(history: script)
        let report = try await sandbox.replay()
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.saves, 3)
    }
}
