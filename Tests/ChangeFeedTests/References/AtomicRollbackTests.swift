import ChangeFeed
import Foundation
import XCTest

/// Rules M10 and M11 where a deletion fails after the saves of its zone were looked at: nothing of them is left.
final class AtomicRollbackTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// A zone with `parent`, `child` under it, and `record` that belongs to `list`.
    private func world() async throws -> (feed: FeedFixture, zone: RecordZone.ID) {
        let feed = FeedFixture()
        let zone = try await feed.makeZone()
        try await feed.modify(
            saving: [
                Feed.note("parent", in: zone), Feed.note("child", in: zone, parent: "parent"),
                Feed.note("list", in: zone), Feed.note("other", in: zone),
                Feed.note("record", in: zone, owner: "list"),
            ], in: zone)
        return (feed, zone)
    }

    func testM11_theSavesOfARefusedBatchLeaveNoTrace() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world()
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())
            let bytes = try await feed.container.bytesUsed(by: FeedFixture.userID)
            var record = try await feed.record("record", in: zone)
            let tag = record.recordChangeTag
            record["title"] = "never"

            let results = try await feed.database.modifyRecords(
                RecordModifyRequest(
                    saving: [record, Feed.note("new", in: zone)],
                    deleting: [
                        .init(recordID: Feed.id("parent", in: zone)), .init(recordID: Feed.id("other", in: zone)),
                    ],
                    clientChangeTokenData: Data("never".utf8)))

            XCTAssertEqual(
                results.story,
                [
                    "+record batchRequestFailed", "+new batchRequestFailed", "-parent referenceViolation",
                    "-other batchRequestFailed",
                ])
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
            XCTAssertNil(page.clientChangeTokenData)
            let zones = try await feed.database.databaseChanges(since: database)
            XCTAssertEqual(zones.story, [])
            let left = try await feed.record("record", in: zone)
            XCTAssertEqual(left.recordChangeTag, tag)
            XCTAssertEqual(left["title"], RecordValue?.none)
            let living = try await feed.living(of: ["new", "other"], in: zone)
            XCTAssertEqual(living, ["other"])
            let used = try await feed.container.bytesUsed(by: FeedFixture.userID)
            XCTAssertEqual(used, bytes)
        }
    }

    func testM11_theLinksOfARefusedBatchAreWhatTheyWere() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world()
            // Given a refused batch that would have moved `record` from `list` to `other` and `child` out of `parent`'s
            // reach, and that fails because of a new child
            var (record, child) = (try await feed.record("record", in: zone), try await feed.record("child", in: zone))
            record["owner"] = .reference(.init(recordID: Feed.id("other", in: zone), action: .deleteSelf))
            child.setParent(nil)
            let results = try await feed.modify(
                saving: [record, child, Feed.note("late", in: zone, parent: "parent")], deleting: ["parent"], in: zone)
            XCTAssertEqual(results.errors.count, 4)

            // Then `child` still holds `parent`, `other` takes nothing and `list` takes the record
            let held = try await feed.modify(deleting: ["parent"], in: zone)
            XCTAssertEqual(held.story, ["-parent referenceViolation"])
            let token = try await feed.token(of: zone)
            try await feed.modify(deleting: ["other"], in: zone)
            try await feed.modify(deleting: ["list"], in: zone)
            let gone = try await feed.gone(in: zone, since: token)
            XCTAssertEqual(gone, ["list: deleted", "other: deleted", "record: cascaded"])
        }
    }

    func testM11_aDeletionThatConflictsTakesTheSavesBackToo() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world()
            let token = try await feed.token(of: zone)

            let results = try await feed.database.modifyRecords(
                RecordModifyRequest(
                    saving: [Feed.note("new", in: zone)],
                    deleting: [.init(recordID: Feed.id("other", in: zone), recordChangeTag: "of another time")]))

            XCTAssertEqual(results.story, ["+new batchRequestFailed", "-other serverRecordChanged"])
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
        }
    }

    func testM10_anotherZoneOfTheRequestIsNotTouchedByTheFailure() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world()
            let second = try await feed.makeZone("Second")
            let third = try await feed.makeZone("Third")

            let results = try await feed.database.modifyRecords(
                saving: [Feed.note("a", in: second), Feed.note("new", in: zone), Feed.note("b", in: third)],
                deleting: [Feed.id("parent", in: zone)])

            XCTAssertEqual(results.story, ["+a", "+new batchRequestFailed", "+b", "-parent referenceViolation"])
            for (name, zone) in [("a", second), ("b", third)] {
                let fresh = try await feed.pages(of: zone).flatMap(\.story)
                XCTAssertEqual(fresh, ["+\(name)"])
            }
        }
    }

    func testM11_aBatchGoesThroughOnceItIsMended() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world()
            let token = try await feed.token(of: zone)
            let new = Feed.note("new", in: zone)
            try await feed.modify(saving: [new], deleting: ["parent"], in: zone)

            let results = try await feed.modify(saving: [new], deleting: ["parent", "child"], in: zone)

            XCTAssertEqual(results.story, ["+new", "-parent", "-child"])
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+new", "-parent", "-child"])
        }
    }
}
