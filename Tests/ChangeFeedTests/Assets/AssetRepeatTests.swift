import ChangeFeed
import Foundation
import XCTest

/// Requests that are repeated, and snapshots that are put back, where records have assets.
final class AssetRepeatTests: XCTestCase {
    private func request(_ records: Record..., atomically: Bool = true) -> RecordModifyRequest {
        RecordModifyRequest(saving: records, atomically: atomically, requestID: "one")
    }

    func test6_13_6_aRepeatedRequestIsAnsweredTheSameAndCountsNothingTwice() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { base in
                // Given: a request with a photo from a file, that was carried out.
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                let file = try directory.file("a.txt", "photo")
                let request = request(story.record("r1", photo: Asset(fileURL: file)))
                func send() async throws -> Record {
                    let results = try await story.database.modifyRecords(request)
                    let record = try XCTUnwrap(results.saves.first).result.get()
                    XCTAssertEqual(try story.photo(of: record).data(), Data("photo".utf8))
                    return try Record(encoded: record.encoded())
                }
                let first = try await send()
                let used = try await story.used()

                // When: it is sent again; and once more, when the file is gone.
                let second = try await send()
                try FileManager.default.removeItem(at: file)
                let third = try await send()

                // Then: the answer is the same, with its content, which is stored and counted once.
                XCTAssertEqual([second, third].map(\.recordChangeTag), [first.recordChangeTag, first.recordChangeTag])
                XCTAssertEqual([second, third], [first, first])
                XCTAssertEqual(store.uploadCount, 1)
                let after = try await story.used()
                XCTAssertEqual(after, used)
                try await story.delete("r1")
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try store.keys(), [])
            }
        }
    }

    func test6_13_6_aRepeatAfterTheContentWasCollectedBringsNothingBack() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                let request = request(story.record("r1", photo: "photo"))
                func send() async throws -> [String] { try await story.database.modifyRecords(request).story }
                _ = try await send()
                try await story.delete("r1")
                try await story.collect()
                let used = try await story.used()

                let again = try await send()

                XCTAssertEqual(again, ["+r1"])
                let (found, after) = (try await story.page().story, try await story.used())
                XCTAssertEqual(found, [])
                XCTAssertEqual(after, used)
                try await story.collect()
                XCTAssertEqual(try store.keys(), [])
            }
        }
    }

    func test6_13_6_aRepeatedErrorOfAnAssetIsTheSame() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let story = try await AssetStory()
            let missing = Asset(fileURL: directory.url.appendingPathComponent("later"))
            let request = request(
                story.record("r1", photo: "photo"), story.record("r2", photo: missing), atomically: false)
            let first = try await story.database.modifyRecords(request)
            _ = try directory.file("later", "now it is there")
            let second = try await story.database.modifyRecords(request)
            XCTAssertEqual(first.story, ["+r1", "+r2 assetFileNotFound"])
            XCTAssertEqual(second.story, first.story)
            let error = second.errors[story.recordID("r2")]
            XCTAssertEqual(error?.recordID, story.recordID("r2"))
            XCTAssertEqual(error?.rule, "AS6")
        }
    }

    func test6_13_6_anotherContentIsAnotherRequest() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            _ = try await story.database.modifyRecords(request(story.record("r1", photo: "photo")))
            let other = request(story.record("r1", photo: "other"))
            await expectError(.invalidArguments, zoneID: story.zoneID, rule: "6.13.6") {
                try await story.database.modifyRecords(other)
            }
            let removed = try await story.collect()
            XCTAssertEqual(removed, 1)
            XCTAssertEqual(try story.store.keys(), [story.key("photo")])
        }
    }

    // MARK: Snapshots

    func test6_1_5_contentsThatWereCollectedSinceTheSnapshotAreNotAvailable() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: a snapshot with two photos, one of which is cleared and collected afterwards, and a new one.
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "lost")
                try await story.save("r2", photo: "kept")
                let snapshot = try await story.fixture.snapshot()
                try await story.delete("r1")
                try await story.save("r3", photo: "new")
                let collected = try await story.collect()
                XCTAssertEqual(collected, 1)

                // When: the snapshot is put back.
                try await story.fixture.container.restoreFromSnapshot(snapshot)

                // Then: of a page, that asset alone is not available (35).
                func look() async throws {
                    let page = try await story.page()
                    XCTAssertEqual(page.story, ["+r1", "+r2"])
                    let lost = try story.photo("r1", of: page)
                    XCTAssertEqual(lost, Asset(data: Data("lost".utf8)))
                    let error = expectAssetError(.assetNotAvailable) { try lost.loadFile() }
                    XCTAssertEqual(error?.code.rawValue, 35)
                    XCTAssertEqual(try story.photo("r2", of: page).data(), Data("kept".utf8))
                }
                try await look()

                // And: what came after the snapshot is garbage, what it refers to is not.
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try story.stored("lost", "kept", "new"), ["kept"])

                // And: whoever has the content sets it again, and it is there for all.
                try await story.save("r1", photo: "lost")
                let mended = try story.photo(of: try await story.fetch(story.recordID("r1")))
                XCTAssertEqual(try mended.data(), Data("lost".utf8))
            }
        }
    }

    func test6_1_5_countsAreThoseOfTheSnapshot() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            try await story.save("r1", photo: "photo")
            try await story.save("r2", photo: "photo")
            let (snapshot, used) = (try await story.fixture.snapshot(), try await story.used())
            try await story.delete("r2")

            try await story.fixture.container.restoreFromSnapshot(snapshot)

            let restored = try await story.used()
            XCTAssertEqual(restored, used)
            try await story.delete("r1")
            var removed = try await story.collect()
            XCTAssertEqual(removed, 0)
            try await story.delete("r2")
            removed = try await story.collect()
            XCTAssertEqual(removed, 1)
            let nothing = try await story.used()
            XCTAssertEqual(nothing, 0)
        }
    }
}
