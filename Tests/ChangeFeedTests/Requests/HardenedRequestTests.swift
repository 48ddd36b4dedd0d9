import Foundation
import XCTest

@testable import ChangeFeed

/// Requests that went wrong in ways that are easy to overlook.
final class HardenedRequestTests: XCTestCase {
    private typealias Feed = FeedFixture

    func test6_13_6_aRequestThatWasTakenBackKeepsNoOutcome() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("parent", in: zone)
            var child = Feed.note("child", in: zone)
            child.setParent(Feed.id("parent", in: zone))
            try await feed.modify(saving: [child], in: zone)
            // Given a request whose save is written and taken back, because its deletion may not be
            let request = RecordModifyRequest(
                saving: [Feed.note("new", in: zone)], deleting: [.init(recordID: Feed.id("parent", in: zone))],
                requestID: "one")
            let first = try await feed.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+new batchRequestFailed", "-parent referenceViolation"])

            // When it is repeated, it is tried again and not said to have been written
            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, first.story)
            let living = try await feed.living(of: ["new"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func test6_13_6_aRepeatIsAnsweredWhereverOtherZonesHaveGot() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (written, watched) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            let request = RecordModifyRequest(
                saving: [Feed.note("a", in: written)], requestID: "one",
                ifZonesAt: [watched: try await feed.token(of: watched)])
            let first = try await feed.database.modifyRecords(request)
            try await feed.save("b", in: watched)

            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, ["+a"])
            XCTAssertEqual(
                try second.saves[0].result.get().recordChangeTag, try first.saves[0].result.get().recordChangeTag)
        }
    }

    func test6_6_oneYoungOutcomeHoldsUpNoOldOnes() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: .seconds(5), maximumTombstonesPerZone: nil)
            }
            let (quiet, busy) = (try await feed.makeZone("Quiet"), try await feed.makeZone("Busy"))
            for index in 1...10 {
                _ = try await feed.database.modifyRecords(
                    RecordModifyRequest(saving: [Feed.note("r\(index)", in: busy)], requestID: "\(index)"))
            }
            feed.clock.advance(by: 10)
            // A request that moves nothing, in a zone that has not moved for long
            _ = try await feed.database.modifyRecords(
                RecordModifyRequest(deleting: [.init(recordID: Feed.id("nobody", in: quiet))], requestID: "young"))

            var discarded = 0
            var step: CompactionStep
            repeat {
                step = try await feed.container.compact(stepBudget: 5)
                discarded += step.requests
            } while !step.isComplete

            XCTAssertEqual(discarded, 10)
        }
    }

    func testM21_aLimitNamesTheItemThatGoesPastIt() async throws {
        try await overEveryStore {
            var limits = Limits.cloudKit
            limits.itemsPerRequest = 3
            limits.bytesPerRequest = 2_500
            let feed = FeedFixture { $0.limits = limits }
            let zone = try await feed.makeZone()
            let many = (1...4).map { Feed.note("r\($0)", in: zone) }
            do throws(ChangeFeedError) {
                _ = try await feed.database.modifyRecords(saving: many)
                XCTFail("four items are too many")
            } catch {
                XCTAssertEqual(error.recordID, Feed.id("r4", in: zone))
                XCTAssertEqual(error.limit, .init(name: "itemsPerRequest", allowed: 3, found: 4))
            }
            let large = (1...3).map { number in
                var record = Feed.note("r\(number)", in: zone)
                record["text"] = String(repeating: "x", count: 1_000)
                return record
            }
            do throws(ChangeFeedError) {
                _ = try await feed.database.modifyRecords(saving: large)
                XCTFail("three times a thousand bytes are too many")
            } catch {
                XCTAssertEqual(error.recordID, Feed.id("r3", in: zone))
                XCTAssertEqual(error.limit?.name, "bytesPerRequest")
            }
        }
    }

    func testR5_whatIsRefusedTeachesNothing() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            var first = Feed.note("first", in: zone)
            first["number"] = 1
            try await feed.modify(saving: [first], in: zone)
            // A record that teaches a key and has a fault in another, and one that is refused for its parent
            var faulty = Feed.note("faulty", in: zone)
            faulty["aNewKey"] = "x"
            faulty["number"] = "not a number"
            var orphan = Feed.note("orphan", in: zone)
            orphan["anotherNewKey"] = "x"
            orphan.setParent(Feed.id("nobody", in: zone))

            let results = try await feed.modify(saving: [faulty, orphan], in: zone, atomically: false)

            XCTAssertEqual(results.story, ["+faulty invalidArguments", "+orphan referenceViolation"])
            let fields = try await feed.container.schema().recordTypes[first.recordType]?.fields
            XCTAssertNotNil(fields?["number"])
            XCTAssertNil(fields?["aNewKey"])
            XCTAssertNil(fields?["anotherNewKey"])
        }
    }

    func test1_12_aUsageThatCannotBeReadIsAnErrorAndNoTrap() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let malformed: [[UInt8]] = [[UInt8](repeating: 0xFF, count: 8), [1, 2, 3], []]
            for bytes in malformed {
                try await feed.store.write { (store) throws(ChangeFeedError) in
                    var key: String?
                    try store.scanMeta(of: .usage, from: "") { found, _ in
                        key = found
                        return .stop
                    }
                    if let key { try store.setMetaValue(bytes, for: key, of: .usage) }
                }
                do throws(ChangeFeedError) {
                    _ = try await feed.database.modifyRecords(saving: [Feed.note("b", in: zone)])
                    XCTFail("usage \(bytes)")
                } catch {
                    XCTAssertEqual(error.code, .internalError)
                    XCTAssertEqual(error.detail, .damaged)
                }
            }
        }
    }
}
