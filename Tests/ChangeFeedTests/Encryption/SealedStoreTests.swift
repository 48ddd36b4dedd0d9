import ChangeFeed
import Foundation
import XCTest

/// Rule R10 seen from the store: it gets what is sealed and nothing else, and what leaves the feed is open.
final class SealedStoreTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// What the store holds of a record.
    private func stored(_ name: String, in zoneID: RecordZone.ID, _ feed: FeedFixture) async throws -> RecordVersion? {
        let databaseID = feed.database.databaseID
        return try await feed.store.read { store throws(ChangeFeedError) in
            guard let zone = try store.zone(zoneID, in: databaseID),
                case .live(let version) = try store.record(named: name, in: zone.key)
            else { return nil }
            return version
        }
    }

    func testR10_theStoreHoldsNoneOfThePlainBytes() async throws {
        let feed = Feed.sealing(with: TestCipher())
        let zone = try await feed.makeZone()
        let secret = "the secret that nobody but the owner may read"

        let results = try await feed.modify(
            saving: [Feed.secret("a", .string(secret), title: "a title in clear", in: zone)], in: zone)

        let found = try await stored("a", in: zone, feed)
        let version = try XCTUnwrap(found)
        let sealed = try XCTUnwrap(version.encryptedPayload)
        XCTAssertNil(Data(sealed.encoded).range(of: Data("nobody but the owner".utf8)))
        XCTAssertNil(Data(version.payload.encoded).range(of: Data("nobody but the owner".utf8)))
        XCTAssertNotNil(Data(version.payload.encoded).range(of: Data("a title in clear".utf8)))
        XCTAssertEqual(try results.saves[0].result.get().encryptedValues["secret"], .string(secret))
    }

    func testR10_theOutcomeKeptForARepeatIsSealedToo() async throws {
        let feed = Feed.sealing(with: TestCipher())
        let zone = try await feed.makeZone()
        let request = RecordModifyRequest(
            saving: [Feed.secret("a", "nobody but the owner", title: "in clear", in: zone)], requestID: "one")
        _ = try await feed.database.modifyRecords(request)

        let tables = try await feed.store.read { store throws(ChangeFeedError) in
            var values: [[UInt8]] = []
            for table in MetaTable.allCases {
                try store.scanMeta(of: table, from: "") { _, bytes in
                    values.append(bytes)
                    return .next
                }
            }
            return values
        }
        XCTAssertTrue(tables.contains { Data($0).range(of: Data("in clear".utf8)) != nil })
        XCTAssertFalse(tables.contains { Data($0).range(of: Data("nobody but the owner".utf8)) != nil })
        let repeated = try await feed.database.modifyRecords(request)
        XCTAssertEqual(try repeated.saves[0].result.get().encryptedValues["secret"], "nobody but the owner")
    }

    func testR10_pagesLookupsResultsAndConflictsAreOpen() async throws {
        let feed = Feed.sealing(with: TestCipher())
        let zone = try await feed.makeZone()
        let saved = try await feed.modify(saving: [Feed.secret("a", "one", in: zone)], in: zone)
        XCTAssertEqual(try saved.saves[0].result.get().encryptedValues["secret"], "one")
        XCTAssertEqual(try saved.saves[0].result.get().encryptedValues.changedKeys, [])

        let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
        XCTAssertEqual(page.modifications.first?.encryptedValues["secret"], "one")
        let found = try await feed.record("a", in: zone)
        XCTAssertEqual(found.encryptedValues["secret"], "one")

        // A conflict has all three versions in clear
        var (mine, theirs) = (found, found)
        theirs.encryptedValues["secret"] = "two"
        try await feed.modify(saving: [theirs], in: zone)
        mine.encryptedValues["secret"] = "three"
        let results = try await feed.modify(saving: [mine], in: zone)
        let error = try XCTUnwrap(results.errors[mine.recordID])
        XCTAssertEqual(error.code, .serverRecordChanged)
        XCTAssertEqual(error.serverRecord?.encryptedValues["secret"], "two")
        XCTAssertEqual(error.clientRecord?.encryptedValues["secret"], "three")
        XCTAssertEqual(error.ancestorRecord?.encryptedValues["secret"], "one")
        let deletion = try await feed.database.modifyRecords(
            RecordModifyRequest(deleting: [.init(recordID: mine.recordID, recordChangeTag: mine.recordChangeTag)]))
        XCTAssertEqual(deletion.errors[mine.recordID]?.serverRecord?.encryptedValues["secret"], "two")
    }

    func testM4_encryptedFieldsAreMergedLikeOthers() async throws {
        for policy in [RecordSavePolicy.changedKeys, .allKeys] {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            // Given a client with an old version, of which the server has changed one field and added another
            var record = Feed.secret("a", "old", in: zone)
            record.encryptedValues["kept"] = "kept"
            let results = try await feed.modify(saving: [record], in: zone)
            var client = try XCTUnwrap(results.saves.first).result.get()
            var server = client
            server.encryptedValues["secret"] = "server's"
            server.encryptedValues["added"] = "server's"
            try await feed.modify(saving: [server], in: zone)

            // When it changes a third
            client.encryptedValues["mine"] = "client's"
            let merged = try await feed.modify(saving: [client], in: zone, policy: policy)
            XCTAssertEqual(merged.story, ["+a"])

            let stored = try await feed.record("a", in: zone)
            XCTAssertEqual(stored.encryptedValues["mine"], "client's")
            XCTAssertEqual(stored.encryptedValues["kept"], "kept")
            XCTAssertEqual(stored.encryptedValues["added"], "server's", "\(policy)")
            XCTAssertEqual(stored.encryptedValues["secret"], policy == .allKeys ? "old" : "server's", "\(policy)")
        }
    }

    func testM4_aRecordThatKnowsNothingOfThemRemovesNone() async throws {
        for policy in [RecordSavePolicy.changedKeys, .allKeys] {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            try await feed.modify(saving: [Feed.secret("a", "secret", in: zone)], in: zone)

            try await feed.save("a", title: "blind", in: zone)
            var partial = try await feed.database.records(for: [Feed.id("a", in: zone)], desiredKeys: ["title"])
            var record = try XCTUnwrap(partial.removeValue(forKey: Feed.id("a", in: zone))).get()
            record["title"] = "partial"
            try await feed.modify(saving: [record], in: zone, policy: policy)

            let stored = try await feed.record("a", in: zone)
            XCTAssertEqual(stored["title"], "partial")
            XCTAssertEqual(stored.encryptedValues["secret"], "secret", "\(policy)")
        }
    }

    func testR10_savingOtherFieldsSealsNothingAnew() async throws {
        let cipher = TestCipher()
        let feed = Feed.sealing(with: cipher)
        let zone = try await feed.makeZone()
        let results = try await feed.modify(saving: [Feed.secret("a", "secret", in: zone)], in: zone)
        var record = try XCTUnwrap(results.saves.first).result.get()
        let before = (cipher.sealedCount, try await stored("a", in: zone, feed)?.encryptedPayload)
        record["title"] = "changed"

        try await feed.modify(saving: [record], in: zone)

        let after = try await stored("a", in: zone, feed)?.encryptedPayload
        XCTAssertEqual(cipher.sealedCount, before.0)
        XCTAssertEqual(after, before.1)
    }

    func testR10_theSealedBytesCountForTheQuota() async throws {
        let feed = Feed.sealing(with: TestCipher())
        let zone = try await feed.makeZone()
        try await feed.modify(
            saving: [Feed.secret("a", .string(String(repeating: "x", count: 1_000)), in: zone)], in: zone)
        let used = try await feed.container.bytesUsed(by: Feed.userID)
        XCTAssertGreaterThanOrEqual(used, 1_000)

        try await feed.modify(deleting: ["a"], in: zone)
        let left = try await feed.container.bytesUsed(by: Feed.userID)
        XCTAssertEqual(left, 0)
    }
}
