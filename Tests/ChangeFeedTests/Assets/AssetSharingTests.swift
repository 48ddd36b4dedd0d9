import ChangeFeed
import Foundation
import XCTest

/// A content is stored once for each user, and counts once for his quota (rule AS1, error 25).
final class AssetSharingTests: XCTestCase {
    private func key(_ text: String, of databaseID: DatabaseID) -> AssetKey {
        AssetKey(AssetHash(digest: SHA256.hash(text.utf8)), in: databaseID)
    }

    private func note(_ name: String, photo: String, in zoneID: RecordZone.ID = .default) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
        record["photo"] = Asset(data: Data(photo.utf8))
        return record
    }

    func testAS1_aContentOfSeveralRecordsIsStoredOnce() async throws {
        try await overEveryStore {
            try await forEachAssetStore { base in
                // Given: two records of one request, one of another, and one in another zone.
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                let outcome = try await story.outcome(
                    saving: story.record("r1", photo: "photo"), story.record("r2", photo: "photo"))
                XCTAssertEqual(outcome, ["+r1", "+r2"])
                try await story.save("r3", pages: ["photo", "photo"])
                let other = try await story.fixture.makeZone("Other")
                try await story.saved(note("r4", photo: "photo", in: other))
                XCTAssertEqual(store.uploadCount, 1)
                XCTAssertEqual(try store.keys(), [story.key("photo")])

                // When: they go one after the other, it stays until the last has gone.
                try await story.delete("r1", "r3")
                try await story.fixture.deleteZone(other)
                var removed = try await story.collect()
                XCTAssertEqual(removed, 0)
                try await story.delete("r2")
                removed = try await story.collect()
                XCTAssertEqual(removed, 1)
            }
        }
    }

    func testAS1_usersAndTheirPublicDatabaseAreApart() async throws {
        try await overEveryStore {
            try await forEachAssetStore { base in
                let store = WatchedAssetStore(base)
                let container = try await AssetStory(store).fixture.container
                let (anna, boris) = (
                    container.database(.private, for: "anna"), container.database(.private, for: "boris")
                )
                let everybody = container.database(.public, for: "anna")
                for database in [anna, boris, everybody] { try await database.save(note("r1", photo: "photo")) }

                // Nobody can tell by an upload that costs nothing what others have stored.
                XCTAssertEqual(store.uploadCount, 3)
                let owners = [DatabaseID.private("anna"), .private("boris"), .public]
                XCTAssertEqual(Set(try store.keys()), Set(owners.map { key("photo", of: $0) }))

                // An identity alone opens nothing that is somebody else's.
                var forged = Record(recordType: "Note", recordID: Record.ID(recordName: "forged"))
                forged["photo"] = Asset(data: Data("of anna".utf8))
                try await anna.save(forged)
                let results = try await boris.modifyRecords(saving: [try Record(encoded: forged.encoded())])
                XCTAssertEqual(results.story, ["+forged assetFileNotFound"])

                // What one lets go is not taken from the others.
                try await anna.deleteRecord(withID: Record.ID(recordName: "r1"))
                while try await !container.compact().isComplete {}
                XCTAssertNil(try store.size(of: key("photo", of: .private("anna"))))
                for database in [boris, everybody] {
                    let photo: Asset? = try await database.record(for: Record.ID(recordName: "r1"))["photo"]
                    XCTAssertEqual(try photo?.data(), Data("photo".utf8))
                }
            }
        }
    }

    // MARK: Quota

    func testQuota_aContentCountsOnceForEachUserAndIsGivenBack() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            let photo = String(repeating: "x", count: 1_000)
            try await story.save("r1")
            let fields = try await story.used()

            // The first record with the content counts it, the next its fields only.
            try await story.save("r2", photo: photo)
            let one = try await story.used()
            try await story.save("r3", photo: photo, pages: [])
            try await story.save("r3", photo: photo)
            let two = try await story.used()
            XCTAssertGreaterThanOrEqual(one - fields, 1_000)
            XCTAssertLessThan(two - one, 200)

            // Another user's content is his own.
            try await story.fixture.database(of: "boris").save(note("r1", photo: photo))
            let boris = try await story.fixture.container.bytesUsed(by: "boris")
            XCTAssertGreaterThanOrEqual(boris, 1_000)
            let unchanged = try await story.used()
            XCTAssertEqual(unchanged, two)

            // Only the last gives it back; what is not collected yet counts no more.
            try await story.delete("r3")
            let back = try await story.used()
            XCTAssertEqual(back, one)
            var cleared = try await story.fetch(story.recordID("r2"))
            cleared["photo"] = nil
            try await story.saved(cleared)
            let after = try await story.used()
            XCTAssertEqual(after, 2 * fields)
        }
    }

    func testQuota_aContentBeyondTheRoomIsRefusedAndCollected() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: room for one photo and some fields.
                let story = try await AssetStory(store) { $0.quota = { _ in 1_500 } }
                let (mine, other) = (String(repeating: "a", count: 1_000), String(repeating: "b", count: 1_000))
                let outcome = try await story.outcome(
                    saving: story.record("r1", photo: mine), story.record("r2", photo: other),
                    story.record("r3", photo: mine))
                XCTAssertEqual(outcome, ["+r1", "+r2 quotaExceeded", "+r3"])
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)

                // One in place of the other fits if nothing else needs the first.
                let before = try await story.used()
                let both = try await story.outcome(saving: story.record("r1", photo: other), policy: .allKeys)
                XCTAssertEqual(both, ["+r1 quotaExceeded"])
                try await story.delete("r3")
                let instead = try await story.outcome(saving: story.record("r1", photo: other), policy: .allKeys)
                XCTAssertEqual(instead, ["+r1"])
                let after = try await story.used()
                XCTAssertLessThan(after, before)
                try await story.collect()
                XCTAssertEqual(try store.keys(), [story.key(other)])
            }
        }
    }

    func testQuota_aZoneThatEndsGivesBackWhatNoOtherHas() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            let shared = String(repeating: "s", count: 1_000)
            let other = try await story.fixture.makeZone("Other")
            try await story.saved(note("x", photo: shared, in: other))
            let before = try await story.used()
            try await story.save("r1", photo: shared, pages: [String(repeating: "p", count: 500)])

            try await story.fixture.deleteZone(story.zoneID)
            let rest = try await story.used()
            XCTAssertEqual(rest, before)
            try await story.fixture.container.purgeZone(other, for: FeedFixture.userID)
            let nothing = try await story.used()
            XCTAssertEqual(nothing, 0)
        }
    }
}
