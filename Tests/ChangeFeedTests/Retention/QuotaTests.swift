import ChangeFeed
import Foundation
import XCTest

/// Error 25: a user's private database has so much room, and what goes makes room again.
final class QuotaTests: XCTestCase {
    private let roomy = Locked<Int?>(nil)

    /// A server with room for so many bytes, which may be changed later through ``roomy``.
    private func world(quota: Int?) async throws -> (feed: FeedFixture, zone: RecordZone.ID) {
        roomy.withLock { $0 = quota }
        let roomy = roomy
        let feed = FeedFixture { $0.quota = { user in user == FeedFixture.userID ? roomy.withLock { $0 } : nil } }
        return (feed, try await feed.makeZone())
    }

    private func record(_ name: String, _ bytes: Int, in zone: RecordZone.ID, parent: String? = nil) -> Record {
        var record = FeedFixture.note(name, in: zone, parent: parent)
        record["body"] = String(repeating: "x", count: bytes)
        return record
    }

    private func used(_ feed: FeedFixture) async throws -> Int {
        try await feed.container.bytesUsed(by: FeedFixture.userID)
    }

    func testQuota_aSaveBeyondTheRoomIsRefusedAndStoresNothing() async throws {
        let (feed, zone) = try await world(quota: 1_000)
        try await feed.modify(saving: [record("a", 800, in: zone)], in: zone)
        let (token, before) = (try await feed.token(of: zone), try await used(feed))
        XCTAssertGreaterThanOrEqual(before, 800)
        XCTAssertLessThanOrEqual(before, 1_000)

        let results = try await feed.modify(saving: [record("b", 300, in: zone)], in: zone)

        XCTAssertEqual(results.story, ["+b quotaExceeded"])
        let limit = results.errors[FeedFixture.id("b", in: zone)]?.limit
        XCTAssertEqual(limit?.allowed, 1_000)
        XCTAssertGreaterThan(limit?.found ?? 0, 1_000)
        let (page, after) = (
            try await feed.database.recordZoneChanges(inZoneWith: zone, since: token), try await used(feed)
        )
        XCTAssertEqual(page.story, [])
        XCTAssertEqual(after, before)
    }

    func testQuota_exactlyFullIsNotTooFull() async throws {
        let (feed, zone) = try await world(quota: nil)
        try await feed.modify(saving: [record("a", 100, in: zone)], in: zone)
        let one = try await used(feed)

        roomy.withLock { $0 = 2 * one }
        let fits = try await feed.modify(saving: [record("b", 100, in: zone)], in: zone)
        XCTAssertEqual(fits.story, ["+b"])
        let full = try await used(feed)
        XCTAssertEqual(full, 2 * one)

        let over = try await feed.modify(saving: [record("c", 1, in: zone)], in: zone)
        XCTAssertEqual(over.story, ["+c quotaExceeded"])
    }

    func testQuota_aRewriteCountsByWhatItAddsOrTakes() async throws {
        let (feed, zone) = try await world(quota: 1_000)
        try await feed.modify(saving: [record("a", 800, in: zone)], in: zone)
        let before = try await used(feed)

        // Another content of the same size fits, though there is no room for a second copy
        let same = try await feed.modify(saving: [record("a", 800, in: zone)], in: zone, policy: .allKeys)
        XCTAssertEqual(same.story, ["+a"])
        let equal = try await used(feed)
        XCTAssertEqual(equal, before)
        // A larger one does not, and a smaller makes room
        let larger = try await feed.modify(saving: [record("a", 1_100, in: zone)], in: zone, policy: .allKeys)
        XCTAssertEqual(larger.story, ["+a quotaExceeded"])
        let smaller = try await feed.modify(saving: [record("a", 100, in: zone)], in: zone, policy: .allKeys)
        XCTAssertEqual(smaller.story, ["+a"])
        let less = try await used(feed)
        // The form of a value may have a byte or two more for a longer text
        XCTAssertTrue((695...705).contains(before - less), "\(before - less) bytes fewer")
        let next = try await feed.modify(saving: [record("b", 600, in: zone)], in: zone)
        XCTAssertEqual(next.story, ["+b"])
    }

    func testQuota_whoeverIsOverItMayStillShrink() async throws {
        let (feed, zone) = try await world(quota: nil)
        try await feed.modify(saving: [record("a", 500, in: zone), record("b", 500, in: zone)], in: zone)
        roomy.withLock { $0 = 100 }

        let grows = try await feed.modify(saving: [record("a", 501, in: zone)], in: zone, policy: .allKeys)
        let shrinks = try await feed.modify(saving: [record("a", 400, in: zone)], in: zone, policy: .allKeys)
        let goes = try await feed.modify(deleting: ["b"], in: zone)

        XCTAssertEqual(grows.story, ["+a quotaExceeded"])
        XCTAssertEqual(shrinks.story, ["+a"])
        XCTAssertEqual(goes.story, ["-b"])
    }

    func testQuota_aDeletionACascadeAndADeletedZoneMakeRoom() async throws {
        let (feed, zone) = try await world(quota: nil)
        let second = try await feed.makeZone("Second")
        var owned = record("owned", 200, in: zone)
        owned["owner"] = .reference(.init(recordID: FeedFixture.id("list", in: zone), action: .deleteSelf))
        try await feed.modify(
            saving: [record("a", 100, in: zone), record("list", 100, in: zone), owned], in: zone)
        try await feed.modify(saving: [record("x", 400, in: second)], in: second)
        var before = try await used(feed)

        try await feed.modify(deleting: ["a"], in: zone)
        var after = try await used(feed)
        XCTAssertGreaterThanOrEqual(before - after, 100)
        XCTAssertLessThan(before - after, 200)
        before = after

        try await feed.modify(deleting: ["list"], in: zone)
        after = try await used(feed)
        XCTAssertGreaterThanOrEqual(before - after, 300)

        try await feed.deleteZone(second)
        after = try await used(feed)
        XCTAssertEqual(after, 0)
    }

    func testQuota_everyWayAZoneEndsFreesItsBytesAndNoOthers() async throws {
        let (feed, zone) = try await world(quota: nil)
        try await feed.modify(saving: [record("a", 100, in: zone)], in: zone)
        let rest = try await used(feed)
        let ends: [(FeedFixture, RecordZone.ID) async throws -> Void] = [
            { feed, zone in try await feed.deleteZone(zone) },
            { feed, zone in try await feed.container.purgeZone(zone, for: FeedFixture.userID) },
            { feed, zone in try await feed.container.resetEncryptedData(inZoneWith: zone, for: FeedFixture.userID) },
        ]
        for end in ends {
            let doomed = try await feed.makeZone("Doomed")
            try await feed.modify(saving: [record("x", 300, in: doomed)], in: doomed)
            let more = try await used(feed)
            XCTAssertGreaterThan(more, rest)

            try await end(feed, doomed)

            let left = try await used(feed)
            XCTAssertEqual(left, rest)
        }
    }

    func testQuota_anAtomicBatchThatDoesNotFitTakesNoRoomAtAll() async throws {
        let (feed, zone) = try await world(quota: 1_000)
        let records = [record("a", 400, in: zone), record("b", 400, in: zone), record("c", 400, in: zone)]

        let refused = try await feed.modify(saving: records, in: zone)

        XCTAssertEqual(refused.story, ["+a batchRequestFailed", "+b batchRequestFailed", "+c quotaExceeded"])
        let none = try await used(feed)
        XCTAssertEqual(none, 0)
        // Each for itself, those that fit are stored
        let partial = try await feed.modify(saving: records, in: zone, atomically: false)
        XCTAssertEqual(partial.story, ["+a", "+b", "+c quotaExceeded"])
    }

    func testQuota_whatIsRefusedForAnotherReasonTakesNoRoom() async throws {
        let (feed, zone) = try await world(quota: 1_000)
        let orphan = record("orphan", 700, in: zone, parent: "nobody")

        let first = try await feed.modify(saving: [orphan], in: zone, atomically: false)
        let after = try await used(feed)
        let second = try await feed.modify(saving: [record("b", 700, in: zone)], in: zone)

        XCTAssertEqual(first.story, ["+orphan referenceViolation"])
        XCTAssertEqual(after, 0)
        XCTAssertEqual(second.story, ["+b"])
    }

    func testQuota_itIsEachUsersOwnAndSparesThePublicDatabase() async throws {
        let (feed, zone) = try await world(quota: 100)
        let bert = feed.database(of: "bert")
        try await bert.save(RecordZone(zoneID: zone))

        let here = try await feed.modify(saving: [record("a", 500, in: zone)], in: zone)
        let there = try await bert.modifyRecords(saving: [record("a", 500, in: zone)])
        let everybodys = try await feed.container.database(.public, for: FeedFixture.userID)
            .modifyRecords(saving: [record("a", 500, in: .default)])

        XCTAssertEqual(here.story, ["+a quotaExceeded"])
        XCTAssertEqual(there.story, ["+a"])
        XCTAssertEqual(everybodys.story, ["+a"])
        let (mine, his) = (try await used(feed), try await feed.container.bytesUsed(by: "bert"))
        XCTAssertEqual(mine, 0)
        XCTAssertGreaterThanOrEqual(his, 500)
    }

    func testQuota_usageOutlivesTheContainer() async throws {
        let (feed, zone) = try await world(quota: 1_000)
        try await feed.modify(saving: [record("a", 800, in: zone)], in: zone)
        let before = try await used(feed)

        let reopened = feed.reconfigured { $0.quota = { _ in 1_000 } }

        let after = try await used(reopened)
        XCTAssertEqual(after, before)
        let results = try await reopened.modify(saving: [record("b", 300, in: zone)], in: zone)
        XCTAssertEqual(results.story, ["+b quotaExceeded"])
    }

    func testB44_aParentWithoutRoomAndItsChildGoUpOnceThereIsRoom() async throws {
        let (feed, zone) = try await world(quota: 1_000)
        try await feed.modify(saving: [record("filler", 900, in: zone)], in: zone)
        let token = try await feed.token(of: zone)
        let (parent, child) = (record("p", 300, in: zone), FeedFixture.note("c", in: zone, parent: "p"))

        // Given a parent refused for want of room, and its child sent later
        let first = try await feed.modify(saving: [parent], in: zone)
        let second = try await feed.modify(saving: [child], in: zone)

        // Then nothing is told as deleted
        XCTAssertEqual(first.story, ["+p quotaExceeded"])
        XCTAssertEqual(second.story, ["+c referenceViolation"])
        let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
        XCTAssertEqual(page.story, [])

        // When there is room, both go up together
        try await feed.modify(deleting: ["filler"], in: zone)
        let third = try await feed.modify(saving: [child, parent], in: zone)
        XCTAssertEqual(third.story, ["+c", "+p"])
    }
}
