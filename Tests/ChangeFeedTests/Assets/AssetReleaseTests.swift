import ChangeFeed
import Foundation
import XCTest

/// Every way in which the last record lets go of a content: compaction collects it, and not before (rule AS3).
final class AssetReleaseTests: XCTestCase {
    func testAS3_clearingTheFieldLetsTheContentGo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: a record with a photo.
                let story = try await AssetStory(store)
                var record: Record? = try await story.save("r1", photo: "photo", pages: ["page"])
                try await story.collect()
                XCTAssertEqual(try story.stored("photo", "page"), ["photo", "page"])

                // When: the field is set to nil and saved.
                record?["photo"] = nil
                try await story.saved(try XCTUnwrap(record))
                record = nil

                // Then: the content is an orphan, and collected later.
                XCTAssertEqual(try story.stored("photo", "page"), ["photo", "page"])
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try story.stored("photo", "page"), ["page"])
                let fetched = try await story.fetch(story.recordID("r1"))
                XCTAssertNil(fetched["photo"])
                let pages: [Asset]? = fetched["pages"]
                XCTAssertEqual(try pages?.first?.data(), Data("page".utf8))
            }
        }
    }

    func testAS3_anotherContentInItsPlaceLetsItGo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "before", pages: ["one", "two", "one"])
                try await story.save("r1", photo: "after", pages: ["two", "three"])
                let removed = try await story.collect()
                XCTAssertEqual(removed, 2)
                XCTAssertEqual(Set(try store.keys()), Set(["after", "two", "three"].map(story.key)))
            }
        }
    }

    func testAS3_whatIsLeftOutOfASaveIsNotLetGo() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            try await story.save("r1", photo: "photo", pages: ["page"])
            // Given: devices that do not know the photo, under both policies that write over whatever is there.
            for policy in [RecordSavePolicy.changedKeys, .allKeys] {
                let outcome = try await story.outcome(saving: story.record("r1", pages: []), policy: policy)
                XCTAssertEqual(outcome, ["+r1"])
            }
            let removed = try await story.collect()
            XCTAssertEqual(removed, 1)
            XCTAssertEqual(try story.store.keys(), [story.key("photo")])
        }
    }

    func testAS3_R11_aDeletionAndItsCascadeLetContentsGo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: an owner and two generations that go with it, and a bystander.
                let story = try await AssetStory(store)
                try await story.save("owner", photo: "of the owner")
                for (name, owner) in [("child", "owner"), ("grandchild", "child")] {
                    var record = FeedFixture.note(name, in: story.zoneID, owner: owner)
                    record["photo"] = Asset(data: Data("of the \(name)".utf8))
                    record["pages"] = [Asset(data: Data("shared".utf8))]
                    try await story.saved(record)
                }
                try await story.save("bystander", photo: "shared")

                // When: the owner is deleted.
                try await story.delete("owner")

                // Then: what only they had goes.
                let removed = try await story.collect()
                XCTAssertEqual(removed, 3)
                XCTAssertEqual(try store.keys(), [story.key("shared")])
            }
        }
    }

    func testAS3_Z5_everyWayAZoneEndsLetsItsContentsGo() async throws {
        try await overEveryStore {
            let ends: [(String, @Sendable (AssetStory) async throws -> Void)] = [
                ("deleted", { try await $0.fixture.deleteZone($0.zoneID) }),
                ("purged", { try await $0.fixture.container.purgeZone($0.zoneID, for: FeedFixture.userID) }),
                (
                    "reset",
                    {
                        try await $0.fixture.container.resetEncryptedData(
                            inZoneWith: $0.zoneID, for: FeedFixture.userID)
                    }
                ),
            ]
            for (name, end) in ends {
                try await forEachAssetStore { store in
                    // Given: two zones with a content in both, and a deleted record whose content went before.
                    let story = try await AssetStory(store)
                    try await story.save("r1", photo: "photo", pages: ["shared"])
                    try await story.save("r2", photo: "photo", pages: ["page"])
                    try await story.save("r3", photo: "deleted")
                    try await story.delete("r3")
                    let other = try await story.fixture.makeZone("Other")
                    var record = Record(recordType: "Note", recordID: .init(recordName: "x", zoneID: other))
                    record["photo"] = Asset(data: Data("shared".utf8))
                    try await story.saved(record)
                    let before = try await story.collect()
                    XCTAssertEqual(before, 1, name)

                    // When: the zone ends.
                    try await end(story)

                    // Then: only what the other zone has stays.
                    let removed = try await story.collect()
                    XCTAssertEqual(removed, 2, name)
                    XCTAssertEqual(try store.keys(), [story.key("shared")], name)

                    // And: in a new life of the zone it can all be stored again.
                    try await story.fixture.makeZone()
                    try await story.save("r1", photo: "photo")
                    let again = try await story.collect()
                    XCTAssertEqual(again, 0, name)
                    XCTAssertEqual(try story.stored("photo", "shared", "page"), ["photo", "shared"], name)
                }
            }
        }
    }

    func testAS3_anOrphanThatIsSavedAgainIsNone() async throws {
        try await overEveryStore {
            try await forEachAssetStore { base in
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo")
                try await story.delete("r1")
                try await story.save("r2", photo: "photo")
                let removed = try await story.collect()
                XCTAssertEqual(removed, 0)
                XCTAssertEqual(store.uploadCount, 1)
                XCTAssertEqual(try store.keys(), [story.key("photo")])
            }
        }
    }

    func testAS3_M11_aBatchThatFailsLetsNothingGo() async throws {
        try await overEveryStore {
            // Given: a deletion, a clearing and a save in one atomic batch, with a deletion that conflicts.
            let story = try await AssetStory()
            let stale = try await story.save("stale").recordChangeTag
            try await story.save("stale", photo: "newer")
            var cleared = try await story.save("cleared", photo: "of the cleared")
            try await story.save("deleted", photo: "of the deleted")
            cleared["photo"] = nil
            let results = try await story.database.modifyRecords(
                RecordModifyRequest(
                    saving: [cleared, story.record("new", photo: "of the new")],
                    deleting: [
                        .init(recordID: story.recordID("deleted")),
                        .init(recordID: story.recordID("stale"), recordChangeTag: stale),
                    ]))
            XCTAssertEqual(
                results.story,
                [
                    "+cleared batchRequestFailed", "+new batchRequestFailed", "-deleted batchRequestFailed",
                    "-stale serverRecordChanged",
                ])

            let removed = try await story.collect()

            XCTAssertEqual(removed, 1)
            XCTAssertEqual(
                Set(try story.store.keys()), Set(["newer", "of the cleared", "of the deleted"].map(story.key)))
        }
    }
}
