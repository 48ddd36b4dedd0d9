import ChangeFeed
import Foundation
import XCTest

/// How it is known what no record refers to any more, and how it is collected (rule AS3).
final class AssetReferencesTests: XCTestCase {
    func testAS3_contentIsAnOrphanWhenTheLastRecordLetsItGo() async throws {
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            let one = try await story.payload(photo: "same", pages: ["same", "page"])
            let two = try await story.payload(photo: "same")
            let none = try await story.payload()

            var bytes = try await story.replace(nil, by: one)
            XCTAssertEqual(bytes, 8, "each content once")
            bytes = try await story.replace(nil, by: two)
            XCTAssertEqual(bytes, 0)
            bytes = try await story.replace(one, by: none)
            XCTAssertEqual(bytes, -4)
            var orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [story.key("page").text])
            bytes = try await story.replace(two, by: nil)
            XCTAssertEqual(bytes, -4)
            orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [story.key("page"), story.key("same")].map(\.text).sorted())
            let counts = try await story.rows(of: .assets)
            XCTAssertEqual(counts, [])

            let removed = try await story.collectAll()
            XCTAssertEqual(removed, 2)
            XCTAssertEqual(try store.keys(), [])
            orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [])
        }
    }

    func testAS3_anOrphanThatIsReferredToAgainIsNone() async throws {
        let story = try await AssetStory()
        let payload = try await story.payload(photo: "photo")
        _ = try await story.replace(nil, by: payload)
        _ = try await story.replace(payload, by: nil)
        _ = try await story.replace(nil, by: payload)
        let orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [])
        let removed = try await story.collectAll()
        XCTAssertEqual(removed, 0)
        XCTAssertEqual(try story.store.keys(), [story.key("photo")])
    }

    func testAS3_manyChangesOfOneTransactionCountAsOne() async throws {
        let story = try await AssetStory()
        let (one, two) = (try await story.payload(photo: "one"), try await story.payload(photo: "two"))
        let databaseID = story.databaseID
        let bytes = try await story.fixture.store.write { (store) throws(ChangeFeedError) in
            var references = AssetReferences(databaseID: databaseID)
            var bytes = try references.replace(nil, by: one, in: store)
            bytes += try references.replace(nil, by: one, in: store)
            bytes += try references.replace(one, by: two, in: store)
            // A part that is taken back is as if it had not been.
            let savepoint = references
            _ = try references.replace(two, by: nil, in: store)
            references = savepoint
            bytes += try references.replace(one, by: two, in: store)
            try references.save(to: store)
            return bytes
        }
        XCTAssertEqual(bytes, 3)
        let counts = try await story.rows(of: .assets)
        XCTAssertEqual(counts, [story.key("two").text])
        let orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [], "what was never referred to after a transaction has no row")
        let removed = try await story.collectAll()
        XCTAssertEqual(removed, 1, "but is found all the same")
        XCTAssertEqual(try story.store.keys(), [story.key("two")])
    }

    func testAnUploadThatNothingCameToReferToIsAnOrphan() async throws {
        let story = try await AssetStory()
        let prepared = try story.prepare(story.record("r1", photo: Asset(data: Data("photo".utf8))))
        let databaseID = story.databaseID
        try await story.fixture.store.write { (store) throws(ChangeFeedError) in
            try AssetReferences(databaseID: databaseID).save(uploads: prepared.uploads, to: store)
        }
        let orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [story.key("photo").text])
    }

    func testAS3_aDeletedZoneLetsAllItsContentsGo() async throws {
        let story = try await AssetStory()
        for name in ["r1", "r2"] {
            let record = try await story.save(name, photo: "photo of \(name)", pages: ["shared"])
            _ = try await story.replace(nil, by: record.base.payload)
        }
        try await story.fixture.delete("r2", in: story.zoneID)
        let (zoneID, databaseID) = (story.zoneID, story.databaseID)
        let bytes = try await story.fixture.store.write { (store) throws(ChangeFeedError) -> Int in
            var references = AssetReferences(databaseID: databaseID)
            guard let zone = try store.zone(zoneID, in: databaseID) else { return 0 }
            let bytes = try references.release(recordsOf: zone, in: store)
            try references.save(to: store)
            return bytes
        }
        XCTAssertEqual(bytes, -11, "the living record's own; the other refers to the shared one still")
        let orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [story.key("photo of r1").text])
    }

    // MARK: Collecting

    func testACollectionGoesInBoundedStepsAndPassesOverWhatIsPinned() async throws {
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            var kept: [AssetKey] = []
            for number in 0..<10 {
                let payload = try await story.payload(photo: "photo \(number)")
                _ = try await story.replace(nil, by: payload)
                _ = try await story.replace(payload, by: nil)
                try store.put("stray \(number)", of: story.databaseID)
                if number < 3 { kept += [story.key("photo \(number)"), story.key("stray \(number)")] }
            }
            do {
                let lease = AssetLease(store.pins)
                for key in kept { lease.keep(key) }
                let (steps, removed) = try await story.collect(limit: 2)
                XCTAssertEqual(removed, 14)
                XCTAssertTrue(steps.allSatisfy { $0.visited <= 2 && $0.failure == nil })
                XCTAssertEqual(Set(try store.keys()), Set(kept))
            }
            let removed = try await story.collectAll()
            XCTAssertEqual(removed, 6)
            XCTAssertEqual(try store.keys(), [])
        }
    }

    func testAFetchedAssetThatIsAliveIsNotCollected() async throws {
        try await forEachAssetStore { store in
            let story = try await AssetStory(store)
            var record: Record? = try await story.save("r1", photo: "photo")
            let payload = try XCTUnwrap(record?.base.payload)
            _ = try await story.replace(nil, by: payload)
            _ = try await story.replace(payload, by: nil)
            var removed = try await story.collectAll()
            XCTAssertEqual(removed, 0)
            XCTAssertEqual(try story.photo(of: record).data(), Data("photo".utf8))
            record = nil
            removed = try await story.collectAll()
            XCTAssertEqual(removed, 1)
        }
    }

    func testACrashBetweenContentAndRowLosesNothingAndLeavesNothing() async throws {
        let story = try await AssetStory()
        let payload = try await story.payload(photo: "photo")
        _ = try await story.replace(nil, by: payload)
        _ = try await story.replace(payload, by: nil)

        // The content goes, the transaction does not come to its end.
        let library = story.library
        _ = try? await story.fixture.store.write { (store) throws(ChangeFeedError) in
            _ = try library.collect(at: .beginning, limit: 10, in: store)
            throw ChangeFeedError(.internalError, "The power went.")
        }
        XCTAssertEqual(try story.store.keys(), [])
        var orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [story.key("photo").text])

        // Somebody saves it again: it is there, and referred to.
        let prepared = try story.prepare(story.record("r1", photo: Asset(data: Data("photo".utf8))))
        XCTAssertEqual(prepared.uploads, [story.key("photo")])
        _ = try await story.replace(nil, by: payload)
        let removed = try await story.collectAll()
        XCTAssertEqual(removed, 0)
        XCTAssertEqual(try story.store.keys(), [story.key("photo")])
        orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [])
    }

    func testAContentThatCannotBeRemovedDoesNotStopTheOthers() async throws {
        let directory = try TemporaryDirectory()
        let store = try FileAssetStore(directory: directory.url)
        let story = try await AssetStory(store)
        for text in ["one", "two", "three"] {
            let payload = try await story.payload(photo: text)
            _ = try await story.replace(nil, by: payload)
            _ = try await story.replace(payload, by: nil)
        }
        // A directory where a content should be cannot be removed like one.
        let stuck = story.key("two")
        let path = "contents/\(stuck.ownerName)/\(stuck.contentName.prefix(2))/\(stuck.contentName)"
        let url = directory.url.appendingPathComponent(path)
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)

        let (steps, removed) = try await story.collect(limit: 1)
        XCTAssertEqual(removed, 2)
        XCTAssertEqual(steps.compactMap(\.failure).map(\.code), [.internalError])
        let orphans = try await story.rows(of: .orphanedAssets)
        XCTAssertEqual(orphans, [stuck.text])
    }
}

extension AssetStory {
    /// The stored fields of a record with these contents, which the asset store has; no transaction refers to them.
    func payload(photo: String? = nil, pages: [String]? = nil) async throws -> Payload {
        try await save("payload-\(UUID().uuidString)", photo: photo, pages: pages).base.payload
    }

    /// Counts in a transaction that a record's fields are replaced by others.
    func replace(_ old: Payload?, by new: Payload?) async throws -> Int {
        let databaseID = databaseID
        return try await fixture.store.write { (store) throws(ChangeFeedError) in
            var references = AssetReferences(databaseID: databaseID)
            let bytes = try references.replace(old, by: new, in: store)
            try references.save(to: store)
            return bytes
        }
    }

    /// The keys of a table.
    func rows(of table: MetaTable) async throws -> [String] {
        try await fixture.store.read { (store) throws(ChangeFeedError) in
            var rows: [String] = []
            try store.scanMeta(of: table, from: "") { key, _ in
                rows.append(key)
                return .next
            }
            return rows
        }
    }

    /// A whole collection in steps, each a transaction.
    func collect(limit: Int) async throws -> (steps: [AssetCollectionStep], removed: Int) {
        var steps: [AssetCollectionStep] = []
        var cursor: AssetCollectionCursor? = .beginning
        let library = library
        while let next = cursor {
            let step = try await fixture.store.write { (store) throws(ChangeFeedError) in
                try library.collect(at: next, limit: limit, in: store)
            }
            steps.append(step)
            cursor = step.next
        }
        return (steps, steps.reduce(0) { $0 + $1.removed })
    }

    func collectAll() async throws -> Int {
        try await collect(limit: 100).removed
    }
}
