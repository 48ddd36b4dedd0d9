import ChangeFeed
import Foundation
import XCTest

/// Assets of fetched records: access that lasts as long as they do, and no longer.
final class FetchedAssetTests: XCTestCase {
    func testAS2_aFetchedAssetGivesBytesAndAFile() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo", pages: ["one", "two", "one"])
                let page = try await story.page()
                let photo = try story.photo("r1", of: page)
                XCTAssertEqual(photo.size, 5)
                XCTAssertEqual(try photo.data(), Data("photo".utf8))
                XCTAssertEqual(try Data(contentsOf: photo.loadFile()), Data("photo".utf8))

                let pages: [Asset] = try XCTUnwrap(page.modifications.first?["pages"])
                let files = try pages.map { try $0.loadFile() }
                XCTAssertEqual(try files.map { try String(contentsOf: $0, encoding: .utf8) }, ["one", "two", "one"])
                XCTAssertEqual(Set(files).count, 3, "equal contents have files of their own")
            }
        }
    }

    func testAS2_nothingIsCopiedBeforeTheFileIsAskedFor() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let store = try FileAssetStore(directory: directory.url)
            let story = try await AssetStory(store)
            try await story.save("r1", photo: "photo")
            let page = try await story.page()
            let photo = try story.photo("r1", of: page)
            _ = try photo.data()
            XCTAssertEqual(directory.files(below: "staging"), [])
            let file = try photo.loadFile()
            XCTAssertEqual(directory.files(below: "staging").count, 1)
            XCTAssertEqual(
                try story.photo("r1", of: page).fileURL, file, "one file for each asset, however often asked")
            XCTAssertEqual(directory.files(below: "staging").count, 1)
        }
    }

    func testAS2_theFileMayBeMovedOutAtOnce() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo")
                let photo = try story.photo("r1", of: try await story.page())
                let file = try photo.loadFile()
                let mine = directory.url.appendingPathComponent("mine-\(UUID().uuidString)")
                try FileManager.default.moveItem(at: file, to: mine)

                XCTAssertEqual(try Data(contentsOf: mine), Data("photo".utf8))
                XCTAssertEqual(try story.store.bytes(of: story.key("photo")), [UInt8]("photo".utf8))
                XCTAssertEqual(photo.fileURL, file)
                XCTAssertTrue(file.isThere, "asked again, it is put there again")
            }
        }
    }

    func testAS2_whoWritesIntoTheFileChangesHisCopyOnly() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo")
                let page = try await story.page()
                let handle = try FileHandle(forWritingTo: try story.photo("r1", of: page).loadFile())
                try handle.write(contentsOf: Data("XXXXX".utf8))
                try handle.close()

                XCTAssertEqual(try story.store.bytes(of: story.key("photo")), [UInt8]("photo".utf8))
                let again = try story.photo("r1", of: try await story.page())
                XCTAssertEqual(try Data(contentsOf: again.loadFile()), Data("photo".utf8))
            }
        }
    }

    func testB94_aFileStaysUntilThePageIsLetGoAndThenNothingIsLeft() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let store = try FileAssetStore(directory: directory.url)
            let story = try await AssetStory(store)
            try await story.save("r1", photo: "photo")

            /// The handler lets go of the page when it returns.
            func apply(_ page: ZoneChanges) throws -> URL {
                let file = try story.photo("r1", of: page).loadFile()
                let copy = page.modifications
                XCTAssertTrue(file.isThere)
                XCTAssertFalse(store.pins.isEmpty)
                return withExtendedLifetime(copy) { file }
            }
            let file = try apply(try await story.page())
            XCTAssertFalse(file.isThere)
            XCTAssertEqual(directory.files(below: "staging"), [])
            XCTAssertTrue(store.pins.isEmpty)
        }
    }

    func testB94_anAssetOutlivesItsRecordAsLongAsACopyIsKept() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo")
                var kept: Asset? = try story.photo("r1", of: try await story.page())
                let file = try XCTUnwrap(kept?.fileURL)
                XCTAssertTrue(file.isThere)
                kept = nil
                XCTAssertFalse(file.isThere)
            }
        }
    }

    func testB94_anAssetThatIsGoneIsAnErrorForItAloneAndCanBeFetchedAgain() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                for name in ["r1", "r2", "r3"] { try await story.save(name, photo: "photo of \(name)") }
                let old = try directory.file("r2.local", "the old local copy")

                // Given: a page, and one of its contents is lost before the handler runs.
                let page = try await story.page()
                try store.remove(story.key("photo of r2"))

                // Then: that asset fails, the others are applied, what the device had is untouched.
                let lost = try story.photo("r2", of: page)
                expectAssetError(.assetNotAvailable) { try lost.loadFile() }
                expectAssetError(.assetNotAvailable) { try lost.data() }
                XCTAssertNil(lost.fileURL)
                for name in ["r1", "r3"] {
                    let file = try story.photo(name, of: page).loadFile()
                    XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "photo of \(name)")
                }
                XCTAssertEqual(try String(contentsOf: old, encoding: .utf8), "the old local copy")

                // And: it can be fetched alone once it is there again.
                try store.put("photo of r2", of: story.databaseID)
                let again = try story.photo(of: try await story.fetch(story.recordID("r2")))
                XCTAssertEqual(try again.data(), Data("photo of r2".utf8))
            }
        }
    }

    func testB93_anotherOperationsCleanUpTakesNothingAway() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "same")
                try await story.save("r2", photo: "same")
                try await story.save("r3", photo: "other")

                // Given: two operations with the assets of the same and of other records in flight.
                let first = try await story.page()
                var second: ZoneChanges? = try await story.page()
                let mine = try story.photo("r1", of: first).loadFile()
                let others = try ["r1", "r2", "r3"].map { try story.photo($0, of: try XCTUnwrap(second)).loadFile() }
                XCTAssertEqual(Set(others + [mine]).count, 4)

                // When: the second ends and cleans up.
                second = nil

                // Then: what the first has is there, read before or not.
                XCTAssertEqual(others.filter(\.isThere), [])
                XCTAssertEqual(try String(contentsOf: mine, encoding: .utf8), "same")
                XCTAssertEqual(try story.photo("r2", of: first).data(), Data("same".utf8))
                XCTAssertTrue(try story.photo("r3", of: first).loadFile().isThere)
            }
        }
    }

    func testAS4_desiredKeysLeaveAssetsOut() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo")
                let page = try await story.page(keys: ["title"])
                let record = try XCTUnwrap(page.modifications.first)
                XCTAssertFalse(record.isLoaded("photo"))
                XCTAssertNil(record["photo"])
                XCTAssertTrue(store.pins.isEmpty, "what was not asked for is not kept")
            }
        }
    }

    func testAS5_withoutAWayToTheContentThereIsAnIdentityOnly() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            let record = try Record(encoded: try await story.save("r1", photo: "photo").encoded())
            let photo = try story.photo(of: record)
            XCTAssertEqual(photo, Asset(data: Data("photo".utf8)))
            XCTAssertNil(photo.fileURL)
            expectAssetError(.assetNotAvailable) { try photo.data() }
        }
    }

    func testAS6_aDamagedContentGivesNoFile() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let store = try FileAssetStore(directory: directory.url)
            let story = try await AssetStory(store)
            try await story.save("r1", photo: "photo")
            let stored = try XCTUnwrap(directory.files(below: "contents").first)
            _ = try directory.file("contents/\(stored)", "phot0")

            let photo = try story.photo("r1", of: try await story.page())
            expectAssetError(.assetNotAvailable, detail: .damaged) { try photo.loadFile() }
            expectAssetError(.assetNotAvailable, detail: .damaged) { try photo.data() }
            XCTAssertEqual(directory.files(below: "staging"), [])
        }
    }
}
