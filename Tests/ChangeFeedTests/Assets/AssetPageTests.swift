import ChangeFeed
import Foundation
import XCTest

/// What of an asset comes with pages, lookups, results and conflicts, and for how long (rules AS2 to AS5).
final class AssetPageTests: XCTestCase {
    func testB94_anAssetIsReadableThoughItsRecordIsDeletedAndCompactedUntilThePageIsLetGo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: a page, the record of which is deleted and whose content is garbage.
                let story = try await AssetStory(store) {
                    $0.retention = RetentionPolicy(maximumAge: .seconds(5), maximumTombstonesPerZone: nil)
                }
                try await story.save("r1", photo: "photo", pages: ["page"])
                var page: ZoneChanges? = try await story.page()
                try await story.delete("r1")
                story.fixture.clock.advance(by: 10)

                // When: compaction runs to its end.
                var removed = try await story.collect()

                // Then: what came with the page is there, read now for the first time.
                XCTAssertEqual(removed, 0)
                let file = try story.photo("r1", of: try XCTUnwrap(page)).loadFile()
                XCTAssertEqual(try String(contentsOf: file, encoding: .utf8), "photo")
                let pages: [Asset]? = page?.modifications.first?["pages"]
                XCTAssertEqual(try pages?.first?.data(), Data("page".utf8))

                // And: a part of the page keeps what belongs to its record.
                page = nil
                removed = try await story.collect()
                XCTAssertEqual(removed, 0)
                XCTAssertEqual(try pages?.first?.data(), Data("page".utf8))
            }
        }
    }

    func testB94_onceThePageIsLetGoTheContentIsCollected() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo")
                func fetchAndDelete() async throws -> URL {
                    let page = try await story.page()
                    try await story.delete("r1")
                    let removed = try await story.collect()
                    XCTAssertEqual(removed, 0)
                    return try withExtendedLifetime(page) { try story.photo("r1", of: page).loadFile() }
                }
                let file = try await fetchAndDelete()
                XCTAssertFalse(file.isThere)
                let removed = try await story.collect()
                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try store.keys(), [])
            }
        }
    }

    func testB94_lookupsAndResultsKeepTheirContentsToo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                for way in ["lookup", "result"] {
                    func take() async throws -> Asset {
                        let saved = try await story.saved(story.record(way, photo: way))
                        if way == "result" { return try story.photo(of: saved) }
                        return try story.photo(of: try await story.fetch(story.recordID(way)))
                    }
                    var photo: Asset? = try await take()
                    try await story.delete(way)
                    var removed = try await story.collect()
                    XCTAssertEqual(removed, 0, way)
                    XCTAssertEqual(try photo?.data(), Data(way.utf8))
                    photo = nil
                    removed = try await story.collect()
                    XCTAssertEqual(removed, 1, way)
                }
            }
        }
    }

    func testB94_ofASequenceOfPagesOnlyTheOneThatIsLookedAtIsKept() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let story = try await AssetStory(try FileAssetStore(directory: directory.url))
            for number in 0..<6 { try await story.save("r\(number)", photo: "photo \(number)") }

            var files: [URL] = []
            let pages = story.database.recordZoneChangePages(inZoneWith: story.zoneID, since: nil, resultsLimit: 2)
            for try await page in pages {
                let new = try page.modifications.map { try story.photo(of: $0).loadFile() }
                XCTAssertEqual(files.filter(\.isThere), [], "of pages that were looked at before")
                XCTAssertEqual(new.filter(\.isThere).count, new.count)
                files += new
            }

            XCTAssertEqual(files.count, 6)
            XCTAssertEqual(directory.files(below: "staging"), [])
            XCTAssertTrue(story.store.pins.isEmpty)
        }
    }

    func testB94_anOperationLetsGoOfARecordWithItsEvent() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            for number in 0..<6 { try await story.save("r\(number)", photo: "photo \(number)") }
            var read: [String] = []
            let operation = FetchRecordZoneChangesOperation(
                recordZoneIDs: [story.zoneID], configurationsByRecordZoneID: [story.zoneID: .init(resultsLimit: 2)])
            for await event in operation.events(from: story.database) {
                guard case .recordChanged(let recordID, let result) = event else { continue }
                let file = try story.photo(of: result.get()).loadFile()
                read.append("\(recordID.recordName): \(try String(contentsOf: file, encoding: .utf8))")
            }
            XCTAssertEqual(read, (0..<6).map { "r\($0): photo \($0)" })
            XCTAssertTrue(story.store.pins.isEmpty)
        }
    }

    func testAS4_desiredKeysWithoutAssetsCostNoBytesAndKeepNothing() async throws {
        try await overEveryStore {
            try await forEachAssetStore { base in
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo", pages: ["page"])
                for keys in [["title"], []] {
                    let page = try await story.page(keys: keys)
                    let results = try await story.database.records(for: [story.recordID("r1")], desiredKeys: keys)
                    for record in [try XCTUnwrap(page.modifications.first), try XCTUnwrap(results.values.first).get()] {
                        XCTAssertFalse(record.isLoaded("photo"))
                        XCTAssertNil(record["photo"])
                        XCTAssertNil(record["pages"])
                    }
                    XCTAssertTrue(store.pins.isEmpty, "what was not asked for is not kept")
                }
                // Even what is asked for costs no bytes before it is looked at.
                let page = try await story.page(keys: ["photo"])
                XCTAssertEqual(store.readCount, 0)
                XCTAssertEqual(try story.photo("r1", of: page).data(), Data("photo".utf8))
                XCTAssertEqual(store.readCount, 1)
            }
        }
    }

    func testB37_aRecordFetchedWithoutItsAssetKeepsItWhenItIsSaved() async throws {
        try await overEveryStore {
            try await forEachAssetStore { base in
                // Given: a record fetched with one key only.
                let store = WatchedAssetStore(base)
                let story = try await AssetStory(store)
                try await story.save("r1", photo: "photo", pages: ["page"])
                let page = try await story.page(keys: ["title"])
                var record = try XCTUnwrap(page.modifications.first)

                // When: it is edited and saved.
                record["title"] = "edited"
                try await story.saved(record)
                try await story.collect()

                // Then: the assets are as they were, and cost nothing.
                XCTAssertEqual(store.uploadCount, 2)
                let fetched = try await story.fetch(story.recordID("r1"))
                XCTAssertEqual(fetched["title"], "edited")
                XCTAssertEqual(try story.photo(of: fetched).data(), Data("photo".utf8))
                let pages: [Asset]? = fetched["pages"]
                XCTAssertEqual(try pages?.first?.data(), Data("page".utf8))
            }
        }
    }

    func testAS5_aConflictsServerRecordHasTheIdentityOnly() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: another device has saved another photo.
                let story = try await AssetStory(store)
                var mine = try await story.save("r1", photo: "before")
                try await story.save("r1", photo: "of the server")

                // When: this one saves its own.
                mine["photo"] = Asset(data: Data("of mine".utf8))
                let conflict = try await story.error(saving: mine)

                // Then: the server's has an identity and no content, its record can be fetched.
                XCTAssertEqual(conflict?.code, .serverRecordChanged)
                let photo = try story.photo(of: conflict?.serverRecord)
                XCTAssertEqual(photo, Asset(data: Data("of the server".utf8)))
                XCTAssertEqual(photo.size, 13)
                XCTAssertNil(photo.fileURL)
                expectAssetError(.assetNotAvailable) { try photo.data() }
                XCTAssertEqual(try story.photo(of: conflict?.clientRecord).data(), Data("of mine".utf8))
                let fetched = try story.photo(of: try await story.fetch(story.recordID("r1")))
                XCTAssertEqual(try fetched.data(), Data("of the server".utf8))

                // And: the server's record with one's own photo can be saved, as can the server's as it is.
                var resolved = try XCTUnwrap(conflict?.serverRecord)
                resolved["title"] = "resolved"
                resolved = try await story.saved(resolved)
                XCTAssertEqual(try story.photo(of: resolved).data(), Data("of the server".utf8))
                resolved["photo"] = Asset(data: Data("of mine".utf8))
                resolved = try await story.saved(resolved)
                XCTAssertEqual(try story.photo(of: resolved).data(), Data("of mine".utf8))
            }
        }
    }

    func testB96_theFetchedFileHasNeitherNameNorExtension() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                let recording = Asset(fileURL: try directory.file("a.m4a", "sound"))
                let fetched = try story.photo(of: try await story.save(story.record("r1", photo: recording)))
                XCTAssertEqual(fetched, recording)
                XCTAssertEqual(fetched.size, 5)
                let file = try fetched.loadFile()
                XCTAssertEqual(file.pathExtension, "")
                XCTAssertFalse(file.lastPathComponent.contains("a.m4a"))
            }
        }
    }
}
