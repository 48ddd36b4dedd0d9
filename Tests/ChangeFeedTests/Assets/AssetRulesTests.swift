import ChangeFeed
import Foundation
import XCTest

/// What happens to the contents of assets when records are saved (rules AS1, AS3).
final class AssetRulesTests: XCTestCase {
    func testAS1_newContentIsBroughtToTheServer() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let file = try directory.file("a.txt", "from a file")
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                let outcome = try await story.outcome(
                    saving: story.record(
                        "r1", photo: Asset(fileURL: file), pages: [Asset(data: Data("in a list".utf8))]))
                XCTAssertEqual(outcome, ["+r1"])
                XCTAssertEqual(Set(try store.keys()), [story.key("from a file"), story.key("in a list")])
                XCTAssertEqual(try store.bytes(of: story.key("from a file")), [UInt8]("from a file".utf8))
                XCTAssertEqual(try store.bytes(of: story.key("in a list")), [UInt8]("in a list".utf8))
            }
        }
    }

    func testAS1_anUnchangedAssetCostsNoBytes() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let asset = Asset(fileURL: try directory.file("a.txt", "content"))
            try await forEachAssetStore { base in
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                let fetched = try await story.save(story.record("r1", photo: asset))
                XCTAssertEqual(store.writtenBytes, 7)
                XCTAssertEqual(store.uploadCount, 1)

                // The record as it was fetched, edited elsewhere, under every policy.
                var edited = fetched
                for policy in RecordSavePolicy.allCases {
                    edited["title"] = "edited under \(policy)"
                    edited = try await story.saved(edited, policy: policy)
                }
                // The fetched asset in another record.
                try await story.saved(story.record("r2", photo: try story.photo(of: fetched)))
                // The same local asset once more, as after a conflict; the same bytes anew.
                try await story.saved(story.record("r3", photo: asset))
                try await story.saved(story.record("r4", photo: "content"))
                // A record from an archive.
                try await story.saved(try Record(encoded: edited.encoded()), policy: .allKeys)

                XCTAssertEqual(store.writtenBytes, 7)
                XCTAssertEqual(store.uploadCount, 1)
                XCTAssertEqual(store.readCount, 0)
                XCTAssertEqual(try store.keys(), [story.key("content")])
            }
        }
    }

    func testAS1_anAssetOfAnotherUserIsReadFromThere() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                let photo = try story.photo(of: try await story.save("r1", photo: "photo"))
                let boris = story.fixture.database(of: "boris")
                var record = Record(recordType: "Note")
                record["photo"] = photo
                try await boris.save(record)
                XCTAssertEqual(
                    Set(try store.keys()),
                    [story.key("photo"), AssetKey(AssetHash(digest: SHA256.hash("photo".utf8)), in: .private("boris"))])
                let mine = try story.photo(of: try await boris.record(for: record.recordID))
                XCTAssertEqual(try mine.data(), Data("photo".utf8))
            }
        }
    }

    func testAS1_contentIsKeptUntilTheTransactionIsOver() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let feed = InterruptedStore()
                let story = try await AssetStory(store, over: feed)

                // When: a whole compaction comes between the upload and the transaction.
                feed.beforeNextWrite {
                    let removed = try await story.collect()
                    XCTAssertEqual(removed, 0)
                    XCTAssertEqual(try store.keys(), [story.key("photo")])
                }
                let outcome = try await story.outcome(saving: story.record("r1", photo: "photo"))

                XCTAssertEqual(outcome, ["+r1"])
                let photo = try story.photo(of: try await story.fetch(story.recordID("r1")))
                XCTAssertEqual(try photo.data(), Data("photo".utf8))
            }
        }
    }

    func testAS3_contentOfARefusedRequestIsCollected() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: a request that is refused as a whole after its contents were stored.
                let story = try await AssetStory(store)
                let token = try await story.fixture.token(of: story.zoneID)
                try await story.save("r1")
                let request = RecordModifyRequest(
                    saving: [story.record("r2", photo: "photo")], ifZonesAt: [story.zoneID: token])
                let error = try? await story.database.modifyRecords(request).errors.values.first
                XCTAssertNil(error, "refused as a whole")
                XCTAssertEqual(try store.keys(), [story.key("photo")])

                let removed = try await story.collect()

                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try store.keys(), [])
            }
        }
    }

    func testAS3_contentForAZoneThatIsNotThereIsCollected() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            var record = Record(
                recordType: "Note", recordID: .init(recordName: "r1", zoneID: RecordZone.ID(zoneName: "nowhere")))
            record["photo"] = Asset(data: Data("photo".utf8))
            let error = try await story.error(saving: record)
            XCTAssertEqual(error?.code, .zoneNotFound)
            let removed = try await story.collect()
            XCTAssertEqual(removed, 1)
            XCTAssertEqual(try story.store.keys(), [])
        }
    }

    func testAS1_allKeysNeedsTheContentsOfTheBaseToo() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            let archived = try Record(encoded: try await story.save("r1", photo: "photo").encoded())
            try story.store.remove(story.key("photo"))
            let unchanged = try await story.outcome(saving: archived)
            XCTAssertEqual(unchanged, ["+r1"], "nothing of it is sent")
            let error = try await story.error(saving: archived, policy: .allKeys)
            XCTAssertEqual(error?.code, .assetFileNotFound)
        }
    }

    func testAS1_aStoreThatFailsFailsTheRequest() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let story = try await AssetStory(try FileAssetStore(directory: directory.url))
            try FileManager.default.removeItem(at: directory.url.appendingPathComponent("uploads"))
            await expectError(.internalError) { try await story.database.save(story.record("r1", photo: "photo")) }
            let page = try await story.page()
            XCTAssertEqual(page.story, [])
        }
    }

    func testAS1_whoCancelsDuringTheUploadStoresNothing() async throws {
        try await overEveryStore {
            try await forEachAssetStore { base in
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                store.atFirstWrite { withUnsafeCurrentTask { $0?.cancel() } }
                let large = Asset(data: Data(repeating: 1, count: 300_000))
                let saving = Task { () -> ChangeFeedError.Code? in
                    do throws(ChangeFeedError) {
                        try await story.database.save(story.record("r1", photo: large))
                        return nil
                    } catch {
                        return error.code
                    }
                }
                let code = await saving.value
                XCTAssertEqual(code, .operationCancelled)
                XCTAssertEqual(try store.keys(), [])
                let page = try await story.page()
                XCTAssertEqual(page.story, [])
            }
        }
    }
}

extension AssetStory {
    /// Saves a record that has to be saved, and gives the result.
    @discardableResult
    func saved(_ record: Record, policy: RecordSavePolicy = .ifServerRecordUnchanged) async throws -> Record {
        let results = try await database.modifyRecords(saving: [record], savePolicy: policy)
        return try XCTUnwrap(results.saves.first).result.get()
    }
}
