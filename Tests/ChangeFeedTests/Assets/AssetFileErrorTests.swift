import ChangeFeed
import Foundation
import XCTest

/// What is wrong with an asset is an error for its record alone (rule AS6, errors 16 and 17, section 1.13).
final class AssetFileErrorTests: XCTestCase {
    func testAS6_aMissingFileIsAnErrorForItsRecordAlone() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { store in
                // Given: four records, of which two have a file that cannot be read, and one of these a good one, too.
                let story = try await AssetStory(store)
                let missing = Asset(fileURL: directory.url.appendingPathComponent("missing"))
                let results = try await story.database.modifyRecords(
                    saving: [
                        story.record("r1", photo: "one"),
                        story.record("r2", photo: missing),
                        story.record("r3", pages: [Asset(data: Data("three".utf8)), Asset(fileURL: directory.url)]),
                        story.record("r4"),
                    ], atomically: false)

                // Then: these two fail with error 16, the others are saved.
                XCTAssertEqual(
                    results.story, ["+r1", "+r2 assetFileNotFound", "+r3 assetFileNotFound", "+r4"])
                let error = results.errors[story.recordID("r2")]
                XCTAssertEqual(error?.code.rawValue, 16)
                XCTAssertEqual(error?.recordID, story.recordID("r2"))
                XCTAssertEqual(error?.rule, "AS6")
                let page = try await story.page()
                XCTAssertEqual(page.story, ["+r1", "+r4"])
                XCTAssertEqual(try store.keys().count, 2)

                // And: what was stored for a record that failed is collected.
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try store.keys(), [story.key("one")])
            }
        }
    }

    func testAS6_M11_inAnAtomicZoneTheOthersFailWithItAndNothingIsStored() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r0", photo: "zero")
                let (token, used) = (try await story.fixture.token(of: story.zoneID), try await story.used())

                let missing = Asset(fileURL: directory.url.appendingPathComponent("missing"))
                let outcome = try await story.outcome(
                    saving: story.record("r1", photo: "one"), story.record("r2", photo: missing),
                    story.record("r3", photo: "zero"), atomically: true)

                XCTAssertEqual(outcome, ["+r1 batchRequestFailed", "+r2 assetFileNotFound", "+r3 batchRequestFailed"])
                let page = try await story.page(since: token)
                XCTAssertEqual(page.story, [])
                let after = try await story.used()
                XCTAssertEqual(after, used)
                // The content that was brought for nothing goes; what another record refers to stays.
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try store.keys(), [story.key("zero")])
            }
        }
    }

    func testAS6_inTheDefaultZoneTheOthersAreSaved() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let story = try await AssetStory()
            let records = ["r1", "r2"].map { name in
                var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
                record["photo"] =
                    name == "r1" ? Asset(fileURL: directory.url.appendingPathComponent("no")) : Asset(data: Data([1]))
                return record
            }
            let results = try await story.database.modifyRecords(saving: records, atomically: true)
            XCTAssertEqual(results.story, ["+r1 assetFileNotFound", "+r2"])
        }
    }

    func testAS6_anArchivedAssetThatTheServerHasNotIsAnErrorForItsRecordAlone() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            let archived = try Record(encoded: story.record("r1", photo: "never saved").encoded())
            let outcome = try await story.outcome(saving: archived, story.record("r2", photo: "two"))
            XCTAssertEqual(outcome, ["+r1 assetFileNotFound", "+r2"])
        }
    }

    func testAS6_aFileThatChangesWhileItIsSavedIsAnErrorForItsRecordAlone() async throws {
        try await overEveryStore {
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
                let store = WatchedAssetStore()
                let story = try await AssetStory(store)
                let file = try directory.file("a.bin", content)
                store.atFirstWrite { happening(file) }
                let results = try await story.database.modifyRecords(
                    saving: [story.record("r1", photo: Asset(fileURL: file)), story.record("r2", photo: "two")],
                    atomically: false)
                XCTAssertEqual(results.story, ["+r1 assetFileModified", "+r2"], name)
                let error = results.errors[story.recordID("r1")]
                XCTAssertEqual(error?.code.rawValue, 17, name)
                XCTAssertEqual(error?.recordID, story.recordID("r1"), name)
                XCTAssertEqual(try store.keys(), [story.key("two")], name)
            }
        }
    }

    func testAS6_aFileThatIsNoLongerWhatTheRecordWasComparedByIsModified() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let story = try await AssetStory()
            let asset = Asset(fileURL: try directory.file("a.txt", "before"))
            XCTAssertNotNil(asset.contentHash)
            let file = try directory.file("a.txt", "and after")
            let modified = try await story.error(saving: story.record("r1", photo: asset))
            XCTAssertEqual(modified?.code, .assetFileModified)
            XCTAssertEqual(try story.store.keys(), [])

            // Another asset from it can be saved.
            let outcome = try await story.outcome(saving: story.record("r1", photo: Asset(fileURL: file)))
            XCTAssertEqual(outcome, ["+r1"])

            // A touch changes no content.
            let touched = Asset(fileURL: try directory.file("b.txt", "the same"))
            XCTAssertNotNil(touched.contentHash)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceReferenceDate: 1_000)],
                ofItemAtPath: directory.url.appendingPathComponent("b.txt").path)
            let same = try await story.outcome(saving: story.record("r2", photo: touched))
            XCTAssertEqual(same, ["+r2"])
        }
    }

    func test1_13_moreThanAssetBytesIsAnErrorForItsRecordAlone() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { store in
                let story = try await AssetStory(store) { $0.limits.assetBytes = 1_000 }
                let exact = Data(repeating: 1, count: 1_000)
                let over = Data(repeating: 2, count: 1_001)
                let results = try await story.database.modifyRecords(
                    saving: [
                        story.record("r1", photo: Asset(data: exact)),
                        story.record("r2", photo: Asset(data: over)),
                        story.record("r3", photo: Asset(fileURL: try directory.file("over", over))),
                        // Each asset by itself: a list may have more.
                        story.record("r4", pages: [Asset(data: exact), Asset(data: Data(repeating: 3, count: 1_000))]),
                        story.record("r5", pages: [Asset(data: exact), Asset(data: over)]),
                    ], atomically: false)
                XCTAssertEqual(
                    results.story, ["+r1", "+r2 limitExceeded", "+r3 limitExceeded", "+r4", "+r5 limitExceeded"])
                for (recordID, error) in results.errors {
                    XCTAssertEqual(error.limit, .init(name: "assetBytes", allowed: 1_000, found: 1_001))
                    XCTAssertEqual(error.recordID, recordID)
                }
                XCTAssertEqual(try store.keys().count, 2)
            }
        }
    }

    func test1_13_R4_assetsCountNeitherForTheRecordNorForTheRequest() async throws {
        try await overEveryStore {
            let story = try await AssetStory { ($0.limits.recordBytes, $0.limits.bytesPerRequest) = (200, 400) }
            let outcome = try await story.outcome(
                saving: story.record("r1", photo: Asset(data: Data(repeating: 1, count: 10_000))),
                story.record("r2", photo: Asset(data: Data(repeating: 2, count: 10_000))))
            XCTAssertEqual(outcome, ["+r1", "+r2"])
        }
    }

    func testR10_encryptedValuesTakeNoAssetsAndTheContentIsNotStored() async throws {
        try await overEveryStore {
            let cipher = TestCipher()
            let store = WatchedAssetStore()
            let story = try await AssetStory(store) { $0.encryption = cipher.encryption }
            let asset = RecordValue.asset(Asset(data: Data("secret".utf8)))
            for value in [asset, .list([asset])] {
                var record = story.record("r1")
                record.encryptedValues["secret"] = value
                let error = try await story.error(saving: record)
                XCTAssertEqual(error?.code, .invalidArguments)
                XCTAssertEqual(error?.rule, "R10")
            }
            XCTAssertEqual(store.uploadCount, 0)
            XCTAssertEqual(try store.keys(), [])
        }
    }
}

extension AssetStory {
    /// The bytes that the user's records take.
    func used() async throws -> Int {
        try await fixture.container.bytesUsed(by: FeedFixture.userID)
    }
}
