import ChangeFeed
import Foundation
import XCTest

/// What happens to a request's assets before its transaction.
final class AssetRulesTests: XCTestCase {
    func testAS1_newContentIsBroughtToTheServer() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "from a file")
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            let prepared = try story.prepare(
                story.record("r1", photo: Asset(fileURL: file), pages: [Asset(data: Data("in a list".utf8))]))
            XCTAssertTrue(prepared.failures.isEmpty)
            XCTAssertEqual(prepared.uploads, [story.key("from a file"), story.key("in a list")])
            XCTAssertEqual(try store.bytes(of: story.key("from a file")), [UInt8]("from a file".utf8))
            XCTAssertEqual(try store.bytes(of: story.key("in a list")), [UInt8]("in a list".utf8))
        }
    }

    func testAS1_anUnchangedAssetCostsNoBytes() async throws {
        let directory = try TemporaryDirectory()
        let asset = Asset(fileURL: try directory.file("a.txt", "content"))
        let store = WatchedAssetStore()
        let story = try await AssetStory(store)

        let fetched = try await story.save(story.record("r1", photo: asset))
        XCTAssertEqual(store.writtenBytes, 7)

        // The record as it was fetched, edited elsewhere.
        var edited = fetched
        edited["title"] = "edited"
        edited = try await story.save(edited)
        // The fetched asset in another record.
        _ = try await story.save(story.record("r2", photo: try story.photo(of: fetched)))
        // The same local asset once more, as after a conflict; the same bytes anew.
        _ = try await story.save(story.record("r3", photo: asset))
        _ = try await story.save(story.record("r4", photo: Asset(data: Data("content".utf8))))
        // A record from an archive.
        _ = try await story.save(try Record(encoded: edited.encoded()))
        XCTAssertEqual(store.writtenBytes, 7)
        XCTAssertEqual(try store.keys().count, 1)
    }

    func testAS6_aMissingFileIsAnErrorForItsRecordAlone() async throws {
        let directory = try TemporaryDirectory()
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            let missing = Asset(fileURL: directory.url.appendingPathComponent("missing"))
            let prepared = try story.prepare(
                story.record("r1", photo: Asset(data: Data("one".utf8))),
                story.record("r2", photo: missing),
                story.record("r3", pages: [Asset(data: Data("three".utf8)), Asset(fileURL: directory.url)]),
                story.record("r4"))
            XCTAssertEqual(prepared.failures.keys.sorted(), [1, 2])
            XCTAssertEqual(prepared.failures[1]?.code, .assetFileNotFound)
            XCTAssertEqual(prepared.failures[1]?.recordID, story.recordID("r2"))
            XCTAssertEqual(prepared.failures[1]?.rule, "AS6")
            XCTAssertEqual(prepared.failures[2]?.code, .assetFileNotFound)
            XCTAssertEqual(try store.keys().count, 2)
        }
    }

    func testAS6_anArchivedAssetThatTheServerHasNotIsAnErrorForItsRecordAlone() async throws {
        let story = try await AssetStory()
        let unsaved = story.record("r1", photo: Asset(data: Data("never saved".utf8)))
        let prepared = try story.prepare(
            try Record(encoded: unsaved.encoded()), story.record("r2", photo: Asset(data: Data("two".utf8))))
        XCTAssertEqual(prepared.failures.keys.sorted(), [0])
        XCTAssertEqual(prepared.failures[0]?.code, .assetFileNotFound)
    }

    func testAS6_aFileThatChangesWhileItIsSavedIsAnErrorForItsRecordAlone() async throws {
        let directory = try TemporaryDirectory()
        let content = Data(repeating: 7, count: 300_000)
        let happenings: [(String, @Sendable (URL) -> Void)] = [
            ("it grows", { file in try? Data(repeating: 7, count: 300_001).write(to: file, options: []) }),
            ("it shrinks", { file in truncate(file.path, 200_000) }),
            (
                "it is written at another time",
                { file in
                    let date = Date(timeIntervalSinceReferenceDate: 1_000)
                    try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
                }
            ),
            (
                "another takes its place",
                { file in try? Data(repeating: 7, count: 300_000).write(to: file, options: .atomic) }
            ),
            ("it is removed", { file in try? FileManager.default.removeItem(at: file) }),
        ]
        for (name, happening) in happenings {
            let store = WatchedAssetStore(InMemoryAssetStore())
            let story = try await AssetStory(store)
            let file = try directory.file("a.bin", content)
            store.atFirstWrite { happening(file) }
            let prepared = try story.prepare(
                story.record("r1", photo: Asset(fileURL: file)),
                story.record("r2", photo: Asset(data: Data("two".utf8))))
            XCTAssertEqual(prepared.failures.keys.sorted(), [0], name)
            XCTAssertEqual(prepared.failures[0]?.code, .assetFileModified, name)
            XCTAssertEqual(prepared.failures[0]?.recordID, story.recordID("r1"), name)
            XCTAssertEqual(try store.keys(), [story.key("two")], name)
        }
    }

    func testAS6_aFileThatIsNoLongerWhatTheRecordWasComparedByIsModified() async throws {
        let directory = try TemporaryDirectory()
        let story = try await AssetStory()
        let file = try directory.file("a.txt", "before")
        let asset = Asset(fileURL: file)
        XCTAssertNotNil(asset.contentHash)
        _ = try directory.file("a.txt", "and after")
        XCTAssertEqual(try story.prepare(story.record("r1", photo: asset)).failures[0]?.code, .assetFileModified)
        XCTAssertEqual(try story.store.keys(), [])

        // A touch changes no content.
        let touched = Asset(fileURL: try directory.file("b.txt", "the same"))
        XCTAssertNotNil(touched.contentHash)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceReferenceDate: 1_000)],
            ofItemAtPath: directory.url.appendingPathComponent("b.txt").path)
        XCTAssertTrue(try story.prepare(story.record("r1", photo: touched)).failures.isEmpty)
    }

    func testMoreThanTheLimitIsAnErrorForItsRecordAlone() async throws {
        let directory = try TemporaryDirectory()
        let story = try await AssetStory()
        let exact = Data(repeating: 1, count: 1_000)
        let over = Data(repeating: 2, count: 1_001)
        let records = [
            story.record("r1", photo: Asset(data: exact)),
            story.record("r2", photo: Asset(data: over)),
            story.record("r3", photo: Asset(fileURL: try directory.file("over", over))),
        ]
        let prepared = try story.library.prepare(.init(saving: records), in: story.databaseID, limit: 1_000)
        XCTAssertEqual(prepared.failures.keys.sorted(), [1, 2])
        for failure in prepared.failures.values {
            XCTAssertEqual(failure.code, .limitExceeded)
            XCTAssertEqual(failure.limit, .init(name: "assetBytes", allowed: 1_000, found: 1_001))
        }
        XCTAssertEqual(try story.store.keys().count, 1)
    }

    func testAnAssetOfAnotherUserIsReadFromThere() async throws {
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            let photo = try story.photo(of: try await story.save("r1", photo: "photo"))
            let prepared = try story.library.prepare(
                .init(saving: [story.record("r1", photo: photo)]), in: .private("boris"), limit: 1_000)
            XCTAssertTrue(prepared.failures.isEmpty)
            XCTAssertEqual(prepared.uploads.count, 1)
            XCTAssertEqual(try store.keys().count, 2)
        }
    }

    func testContentIsKeptUntilTheTransactionIsOver() async throws {
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            var prepared: PreparedAssets? = try story.prepare(
                story.record("r1", photo: Asset(data: Data("photo".utf8))))
            var removed = try await story.collectAll()
            XCTAssertEqual(removed, 0)
            XCTAssertEqual(try store.keys(), [story.key("photo")])
            XCTAssertNotNil(prepared?.lease)
            // The transaction came to refer to none of it.
            prepared = nil
            removed = try await story.collectAll()
            XCTAssertEqual(removed, 1)
            XCTAssertEqual(try store.keys(), [])
        }
    }

    func testAllKeysNeedsTheContentsOfTheBaseToo() async throws {
        let story = try await AssetStory()
        let fetched = try await story.save("r1", photo: "photo")
        let archived = try Record(encoded: fetched.encoded())
        try story.store.remove(story.key("photo"))
        XCTAssertTrue(try story.prepare(archived).failures.isEmpty, "nothing of it is sent")
        XCTAssertEqual(try story.prepare(archived, policy: .allKeys).failures[0]?.code, .assetFileNotFound)
    }

    func testAStoreThatFailsFailsTheRequest() async throws {
        let directory = try TemporaryDirectory()
        let store = try FileAssetStore(directory: directory.url)
        let story = try await AssetStory(store)
        try FileManager.default.removeItem(at: directory.url.appendingPathComponent("uploads"))
        expectAssetError(.internalError) {
            try story.prepare(story.record("r1", photo: Asset(data: Data("photo".utf8))))
        }
    }
}
