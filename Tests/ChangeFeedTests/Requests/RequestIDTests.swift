import ChangeFeed
import Foundation
import XCTest

/// Section 6.13.6: a request with an id whose answer was lost is answered again, not carried out again.
final class RequestIDTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// A request that creates `new`, changes `known`, and deletes `old`.
    private func request(_ id: String?, in zone: RecordZone.ID, known: Record) -> RecordModifyRequest {
        var changed = known
        changed["title"] = "changed"
        return RecordModifyRequest(
            saving: [Feed.note("new", in: zone), changed],
            deleting: [.init(recordID: Feed.id("old", in: zone))], requestID: id)
    }

    private func tags(_ results: RecordModifyResults) throws -> [String?] {
        try results.saves.map { try $0.result.get().recordChangeTag }
    }

    func test6_13_6_theSameRequestIsAnsweredTheSameAndNothingIsWritten() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let known = try await feed.saved("known", in: zone)
            try await feed.save("old", in: zone)
            let request = request("one", in: zone, known: known)
            let first = try await feed.database.modifyRecords(request)
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())

            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, ["+new", "+known", "-old"])
            XCTAssertEqual(try tags(second), try tags(first))
            for (left, right) in zip(first.saves, second.saves) {
                XCTAssertEqual(try left.result.get(), try right.result.get())
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
            let zones = try await feed.database.databaseChanges(since: database)
            XCTAssertEqual(zones.story, [])
        }
    }

    func test6_13_6_withoutAnIdTheRepeatMeetsItsOwnWrites() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let known = try await feed.saved("known", in: zone)
            try await feed.save("old", in: zone)
            let request = request(nil, in: zone, known: known)
            _ = try await feed.database.modifyRecords(request)

            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(
                second.story, ["+new serverRecordChanged", "+known serverRecordChanged", "-old batchRequestFailed"])
        }
    }

    func test6_13_6_theOutcomeOutlivesTheContainerAndLaterWrites() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let known = try await feed.saved("known", in: zone)
            try await feed.save("old", in: zone)
            let request = request("one", in: zone, known: known)
            let first = try await feed.database.modifyRecords(request)

            // Given a restart, and another device that went on with what was written
            let reopened = feed.reopened()
            try await reopened.save("known", title: "by another", in: zone)
            try await reopened.delete("new", in: zone)
            let token = try await reopened.token(of: zone)
            let second = try await reopened.database.modifyRecords(request)

            // Then the answer is what it was then, and the other device's work stands
            XCTAssertEqual(try tags(second), try tags(first))
            XCTAssertEqual(try second.saves[1].result.get()["title"], "changed")
            let page = try await reopened.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
            let record = try await reopened.record("known", in: zone)
            XCTAssertEqual(record["title"], "by another")
            let living = try await reopened.living(of: ["new"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func test6_13_6_theSameIdForOtherContentIsRefusedAndNothingIsWritten() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let known = try await feed.saved("known", in: zone)
            try await feed.save("old", in: zone)
            let first = request("one", in: zone, known: known)
            _ = try await feed.database.modifyRecords(first)
            let token = try await feed.token(of: zone)

            var others: [(String, RecordModifyRequest)] = []
            var other = first
            other.saving[0]["title"] = "other"
            others.append(("another value", other))
            other = first
            other.saving.removeLast()
            others.append(("an item less", other))
            other = first
            other.saving.swapAt(0, 1)
            others.append(("another order", other))
            other = first
            other.deleting[0].recordChangeTag = "tag"
            others.append(("another tag", other))
            other = first
            other.deleting = [.init(recordID: Feed.id("known2", in: zone))]
            others.append(("another deletion", other))
            other = first
            other.savePolicy = .allKeys
            others.append(("another policy", other))
            other = first
            other.atomically = false
            others.append(("not atomically", other))
            for (what, request) in others {
                await expectError(.invalidArguments, zoneID: zone, rule: "6.13.6", what) {
                    try await feed.database.modifyRecords(request)
                }
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
        }
    }

    func test6_13_6_idsAreAUsersAndADevicesOwn() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let request = { (zone: RecordZone.ID, title: String) in
                var record = Feed.note("record", in: zone)
                record["title"] = title
                return RecordModifyRequest(saving: [record], savePolicy: .allKeys, requestID: "one")
            }
            // Given two users with zones of one name, and two devices of one of them
            let zone = try await feed.makeZone()
            try await feed.database(of: "bert").save(RecordZone(zoneID: zone))
            var databases: [any RecordDatabase] = [feed.database, feed.database(of: "bert")]
            for name in ["phone", "pad"] {
                let device = feed.container.device(name)
                device.signIn(FeedFixture.userID)
                databases.append(device.database(.private))
            }

            for (index, database) in databases.enumerated() {
                let results = try await database.modifyRecords(request(zone, "by \(index)"))
                XCTAssertEqual(results.story, ["+record"], "\(index)")
                let record = try await database.record(for: Feed.id("record", in: zone))
                XCTAssertEqual(record["title"], "by \(index)")
            }
        }
    }

    func test6_13_6_idsAreAZonesOwn() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))

            for (zone, name) in [(one, "a"), (two, "b")] {
                let results = try await feed.database.modifyRecords(
                    RecordModifyRequest(saving: [Feed.note(name, in: zone)], requestID: "one"))
                XCTAssertEqual(results.story, ["+\(name)"])
            }
        }
    }

    func test6_13_6_aRequestInSeveralZonesIsRepeatedInAllOfThem() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            let request = RecordModifyRequest(
                saving: [Feed.note("a", in: one), Feed.note("b", in: two), Feed.note("c", in: one)], requestID: "one")
            let first = try await feed.database.modifyRecords(request)
            let tokens = (try await feed.token(of: one), try await feed.token(of: two))

            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, ["+a", "+b", "+c"])
            XCTAssertEqual(try tags(second), try tags(first))
            let (pageOne, pageTwo) = (
                try await feed.database.recordZoneChanges(inZoneWith: one, since: tokens.0),
                try await feed.database.recordZoneChanges(inZoneWith: two, since: tokens.1)
            )
            XCTAssertEqual(pageOne.story + pageTwo.story, [])
        }
    }

    func test6_13_6_aZoneThatFailedIsTriedAgainAndOneThatWasWrittenIsNot() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let one = try await feed.makeZone("One")
            let missing = RecordZone.ID(zoneName: "Two")
            let request = RecordModifyRequest(
                saving: [Feed.note("a", in: one), Feed.note("b", in: missing)], requestID: "one")
            let first = try await feed.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+a", "+b zoneNotFound"])

            try await feed.makeZone("Two")
            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, ["+a", "+b"])
            XCTAssertEqual(
                try second.saves[0].result.get().recordChangeTag, try first.saves[0].result.get().recordChangeTag)
        }
    }

    func test6_13_6_theFailuresWithinAPartlySuccessfulRequestAreRepeatedToo() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(
                saving: [Feed.note("parent", in: zone), Feed.note("kid", in: zone, parent: "parent")], in: zone)
            let request = RecordModifyRequest(
                saving: [Feed.note("a", in: zone), Feed.note("orphan", in: zone, parent: "late")],
                deleting: [.init(recordID: Feed.id("parent", in: zone))], atomically: false, requestID: "one")
            let first = try await feed.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+a", "+orphan referenceViolation", "-parent referenceViolation"])

            // Though the reasons for the failures have gone
            try await feed.save("late", in: zone)
            try await feed.delete("kid", in: zone)
            let second = try await feed.database.modifyRecords(request)

            XCTAssertEqual(second.story, first.story)
            for id in [Feed.id("orphan", in: zone), Feed.id("parent", in: zone)] {
                XCTAssertEqual(second.errors[id]?.rule, first.errors[id]?.rule)
                XCTAssertEqual(second.errors[id]?.recordID, id)
            }
        }
    }

    func test6_13_6_ofARequestThatWroteNothingNothingIsKept() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let request = RecordModifyRequest(saving: [Feed.note("a", in: zone, parent: "late")], requestID: "one")
            let first = try await feed.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+a referenceViolation"])

            // The same again succeeds once it can, and another content may use the id
            try await feed.save("late", in: zone)
            let second = try await feed.database.modifyRecords(request)
            XCTAssertEqual(second.story, ["+a"])
        }
    }
}
