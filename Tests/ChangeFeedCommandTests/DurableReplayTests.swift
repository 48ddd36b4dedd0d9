import ChangeFeed
import Foundation
import XCTest

@testable import ChangeFeedCommand

/// Replays that are stopped and go on over the same files.
final class DurableReplayTests: XCTestCase {
    func testAReplayStoppedAtAnyStepGoesOnAndEndsVerified() async throws {
        for (limit, seed) in [(1, 1), (2, 5)] {
            let options = ReplayOptions.limits(pageLimit: limit, batchLimit: limit, seed: UInt64(seed))
            let sandbox = try GitSandbox()
            try sandbox.makeRepository(history: .tiny)
            let starts = try sandbox.starts(options)
            var stoppedAt = 0
            var resumed: Set<Int> = []
            while true {
                stoppedAt += 1
                let point = StopPoint(at: stoppedAt)
                let store = "feed\(stoppedAt).db"
                let whole = try? await sandbox.durableReplay(options, store: store, stopping: point)
                guard point.hasStopped else {
                    XCTAssertEqual(whole?.differences, [])
                    break
                }
                XCTAssertNil(whole)

                let rest = StopPoint(at: nil)
                let report = try await sandbox.durableReplay(options, store: store, stopping: rest)

                XCTAssertEqual(report.differences, [], "stopped at step \(stoppedAt)")
                XCTAssertEqual(report.commits, 4)
                let done = point.writeCount
                XCTAssertEqual(report.start, done == 0 ? nil : starts[done - 1], "stopped at step \(stoppedAt)")
                XCTAssertEqual(done + rest.writeCount, starts.count, "nothing is written twice")
                resumed.insert(done)
            }
            XCTAssertEqual(resumed, Set(0...starts.count), "it was stopped around every request")
            XCTAssertGreaterThan(stoppedAt, 4 * starts.count, "and around pages")
        }
    }

    func testAReplayStoppedAgainAndAgainArrives() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        for steps in [12, 17, 40] {
            let store = "feed\(steps).db"
            var writes = 0
            var report: ReplayReport?
            for _ in 0..<200 where report == nil {
                let point = StopPoint(at: steps)
                report = try? await sandbox.durableReplay(
                    .limits(pageLimit: 7, batchLimit: 4), store: store, stopping: point)
                writes += point.writeCount
            }
            XCTAssertEqual(report?.differences, [], "\(steps) steps a run")
            XCTAssertEqual(writes, try sandbox.starts(.limits(batchLimit: 4)).count)
        }
    }

    func testOtherLimitsMayFinishWhatWasBegun() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        _ = try? await sandbox.durableReplay(.limits(pageLimit: 2, batchLimit: 5), stopping: StopPoint(at: 6))
        let report = try await sandbox.durableReplay(.limits(pageLimit: 3, batchLimit: 4, seed: 9))
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.start?.number, 1)
        XCTAssertEqual(report.start?.marker.isWholeCommit, false)
    }

    func testAFinishedReplayGoesOnWithTheCommitsThatAreNew() async throws {
        let sandbox = try GitSandbox()
        let script = ImportScript.random(commits: 30, seed: 6)
        try sandbox.makeRepository(history: script)
        var writes = 0
        for count in [1, 2, 10, 29, 30, 30] {
            var options = ReplayOptions.limits(pageLimit: 3, batchLimit: 2)
            options.maxCommits = count
            let point = StopPoint(at: nil)
            let report = try await sandbox.durableReplay(options, stopping: point)
            XCTAssertEqual(report.commits, count)
            XCTAssertEqual(report.differences, [], "\(count) commits")
            writes += point.writeCount
        }
        XCTAssertEqual(writes, try sandbox.starts(.limits(batchLimit: 2)).count)
        let again = try await sandbox.durableReplay()
        XCTAssertEqual([again.saves, again.deletes, again.pages, again.recordsFetched], [0, 0, 0, 0])
    }

    func testAHistoryOfEmptyCommitsBeginsAnewAndIsVerified() async throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        for _ in 1...3 { script.commit([]) }
        try sandbox.makeRepository(history: script)
        for _ in 1...2 {
            let report = try await sandbox.durableReplay()
            XCTAssertEqual(report.differences, [])
            XCTAssertNil(report.start)
        }
    }

    func testAnotherHistoryIsRefusedAndNothingIsLost() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        var rewritten = ImportScript()
        rewritten.commit([.put("a", "one"), .put("b", "two"), .put("c", "three")])
        rewritten.commit([.put("a", "changed otherwise")])
        try sandbox.makeRepository("rewritten", history: rewritten)
        try sandbox.makeRepository("other", history: .awkward)
        _ = try await sandbox.durableReplay()
        let last = try sandbox.run(["-C", "repository", "rev-parse", "HEAD~1"])

        for repository in ["rewritten", "other"] {
            await assertFailure("the store has a replay that ends with the commit \(last), which is not among the ") {
                _ = try await sandbox.durableReplay(repository: repository)
            }
        }
        await assertFailure("the store has a replay that ends with the commit \(last), which is not among the 2 ") {
            var fewer = ReplayOptions()
            fewer.maxCommits = 2
            _ = try await sandbox.durableReplay(fewer)
        }

        let report = try await sandbox.durableReplay()
        XCTAssertEqual(report.differences, [])
        XCTAssertEqual(report.start?.marker.commitID, last)
    }

    func testADeviceWhoseRecordIsLostOnTheWayIsFoundOut() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        _ = try await sandbox.durableReplay()
        let files = try await ReplayFiles(at: sandbox.folder + "/feed.db", durability: .normal)
        let storage = files.storage(ofDevice: "joined late")
        let record = FileRecord.recordName(for: Array("c".utf8))
        try await storage.keep(try await storage.state(), after: [.remove(record: record)])
        await files.close()
        let report = try await sandbox.durableReplay()
        XCTAssertEqual(report.differences.map(\.device), ["joined late"])
        XCTAssertEqual(report.differences.map(\.path), [Array("c".utf8)])
    }

    func testAMarkerIsReadBackAndNothingElseIs() {
        for marker in [
            ReplayMarker(commitID: "abc", written: 1, changes: 1), .init(commitID: "0", written: 400, changes: 1_200),
        ] {
            XCTAssertEqual(ReplayMarker(data: marker.data), marker)
        }
        for text in [
            "", " ", "abc", "abc 1", "abc 0/1", "abc 2/1", "abc 0/0", "abc -1/1", " 1/1", "a 1/1 ", "a 1/1/1", "a b/c",
        ] {
            XCTAssertNil(ReplayMarker(data: Data(text.utf8)), text)
        }
    }
}
