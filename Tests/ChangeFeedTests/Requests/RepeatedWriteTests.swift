import ChangeFeed
import Foundation
import XCTest

/// Section 6.13.6 where the repeat of a request meets what the request itself brought about.
final class RepeatedWriteTests: XCTestCase {
    private typealias Feed = FeedFixture

    func test6_13_6_aRecordThatWentWithItsOwnRequestDoesNotComeBack() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("list", in: zone)
            // Given a request that saves an item and deletes the list it belongs to: the item is saved, and goes
            let request = RecordModifyRequest(
                saving: [Feed.note("item", in: zone, owner: "list")],
                deleting: [.init(recordID: Feed.id("list", in: zone))], requestID: "one")
            let first = try await feed.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+item", "-list"])
            let token = try await feed.token(of: zone)

            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, ["+item", "-list"])
            XCTAssertEqual(
                try second.saves[0].result.get().recordChangeTag, try first.saves[0].result.get().recordChangeTag)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
            let living = try await feed.living(of: ["item"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func test6_13_6_aRepeatIsNotRefusedForWhatTheRequestItselfDidToItsZone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a request that demands the zone where it was, which its own write moved on
            let request = RecordModifyRequest(
                saving: [Feed.note("a", in: zone)], requestID: "one", ifZonesAt: [zone: try await feed.token(of: zone)])
            let first = try await feed.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+a"])

            // When its answer is lost and it is sent again
            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, ["+a"])
            XCTAssertEqual(
                try second.saves[0].result.get().recordChangeTag, try first.saves[0].result.get().recordChangeTag)
        }
    }

    func test6_13_6_theOutcomeIsKeptAsLongAsThePolicySays() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: .seconds(1_000), maximumTombstonesPerZone: nil)
            }
            let zone = try await feed.makeZone()
            let request = RecordModifyRequest(saving: [Feed.note("a", in: zone)], requestID: "one")
            _ = try await feed.database.modifyRecords(request)

            // Young, it stays
            feed.clock.advance(by: 999)
            var step = try await feed.container.compact()
            XCTAssertEqual(step.requests, 0)
            var repeated = try await feed.database.modifyRecords(request)
            XCTAssertEqual(repeated.story, ["+a"])

            // Old, it goes, and the repeat is a request like any other
            feed.clock.advance(by: 2)
            step = try await feed.container.compact()
            XCTAssertEqual(step.requests, 1)
            XCTAssertTrue(step.isComplete)
            repeated = try await feed.database.modifyRecords(request)
            XCTAssertEqual(repeated.story, ["+a serverRecordChanged"])
        }
    }

    func test6_13_6_theOutcomeGoesWithTheHistoryItBelongsTo() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let snapshot = try await feed.snapshot()
            let request = RecordModifyRequest(saving: [Feed.note("a", in: zone)], requestID: "one")
            let first = try await feed.database.modifyRecords(request)

            // When the store is put back to before the request
            try await feed.container.restoreFromSnapshot(snapshot)
            let second = try await feed.database.modifyRecords(request)

            // Then it is carried out, for nothing of it is there
            XCTAssertEqual(second.story, ["+a"])
            XCTAssertNotEqual(
                try second.saves[0].result.get().recordChangeTag, try first.saves[0].result.get().recordChangeTag)
            let fresh = try await feed.pages(of: zone).flatMap(\.story)
            XCTAssertEqual(fresh, ["+a"])
        }
    }

    func test6_13_6_namesThatRunTogetherAreNotMistakenForEachOther() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (one, two) = (try await feed.makeZone("A"), try await feed.makeZone("1A"))
            for (zone, id, name) in [(one, "id1", "a"), (two, "id", "b"), (one, "id", "c"), (two, "id1", "d")] {
                let results = try await feed.database.modifyRecords(
                    RecordModifyRequest(saving: [Feed.note(name, in: zone)], requestID: id))
                XCTAssertEqual(results.story, ["+\(name)"])
            }
        }
    }

    func test6_13_6_anEmptyOrEndlessIdIsRefused() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            for id in ["", String(repeating: "x", count: 256)] {
                await expectError(.invalidArguments, rule: "6.13.6", "\(id.count) characters") {
                    try await feed.database.modifyRecords(
                        RecordModifyRequest(saving: [Feed.note("a", in: zone)], requestID: id))
                }
            }
            let longest = try await feed.database.modifyRecords(
                RecordModifyRequest(saving: [Feed.note("a", in: zone)], requestID: String(repeating: "x", count: 255)))
            XCTAssertEqual(longest.story, ["+a"])
        }
    }

    func testM14_aMarkerIsNoRequestId() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let marker = Data("mine".utf8)
            for (name, owner) in [("a", "phone"), ("b", "pad")] {
                let results = try await feed.database.modifyRecords(
                    RecordModifyRequest(saving: [Feed.note(name, in: zone)], clientChangeTokenData: marker))
                XCTAssertEqual(results.story, ["+\(name)"], owner)
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
            XCTAssertEqual(page.story, ["+a", "+b"])
            XCTAssertEqual(page.clientChangeTokenData, marker)
        }
    }
}
