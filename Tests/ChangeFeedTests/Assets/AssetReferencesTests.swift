import ChangeFeed
import Foundation
import XCTest

/// How it is counted what records refer to (rule AS3), on a store that no container writes to.
final class AssetReferencesTests: XCTestCase {
    func testAS3_contentIsAnOrphanWhenTheLastRecordLetsItGo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { assets in
                let counting = try await CountingStory(assets)
                let one = try await counting.payload(photo: "same", pages: ["same", "page"])
                let two = try await counting.payload(photo: "same")
                let none = try await counting.payload()

                var bytes = try await counting.replace(nil, by: one)
                XCTAssertEqual(bytes, 8, "each content once")
                bytes = try await counting.replace(nil, by: two)
                XCTAssertEqual(bytes, 0)
                bytes = try await counting.replace(one, by: none)
                XCTAssertEqual(bytes, -4)
                var orphans = try await counting.rows(of: .orphanedAssets)
                XCTAssertEqual(orphans, [counting.key("page").text])
                bytes = try await counting.replace(two, by: nil)
                XCTAssertEqual(bytes, -4)
                orphans = try await counting.rows(of: .orphanedAssets)
                XCTAssertEqual(orphans, [counting.key("page"), counting.key("same")].map(\.text).sorted())
                let counts = try await counting.rows(of: .assets)
                XCTAssertEqual(counts, [])

                let removed = try await counting.collectAll()
                XCTAssertEqual(removed, 2)
                XCTAssertEqual(try assets.keys(), [])
                orphans = try await counting.rows(of: .orphanedAssets)
                XCTAssertEqual(orphans, [])
            }
        }
    }

    func testAS3_anOrphanThatIsReferredToAgainIsNone() async throws {
        try await overEveryStore {
            let counting = try await CountingStory()
            let payload = try await counting.payload(photo: "photo")
            _ = try await counting.replace(nil, by: payload)
            _ = try await counting.replace(payload, by: nil)
            _ = try await counting.replace(nil, by: payload)
            let orphans = try await counting.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [])
            let removed = try await counting.collectAll()
            XCTAssertEqual(removed, 0)
            XCTAssertEqual(try counting.assets.keys(), [counting.key("photo")])
        }
    }

    func testAS3_manyChangesOfOneTransactionCountAsOne() async throws {
        try await overEveryStore {
            let counting = try await CountingStory()
            let (one, two) = (try await counting.payload(photo: "one"), try await counting.payload(photo: "two"))
            let databaseID = counting.databaseID
            let bytes = try await counting.store.write { (store) throws(ChangeFeedError) in
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
            let counts = try await counting.rows(of: .assets)
            XCTAssertEqual(counts, [counting.key("two").text])
            let orphans = try await counting.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [], "what was never referred to after a transaction has no row")
            let removed = try await counting.collectAll()
            XCTAssertEqual(removed, 1, "but is found all the same")
            XCTAssertEqual(try counting.assets.keys(), [counting.key("two")])
        }
    }

    func testAS3_anUploadThatNothingCameToReferToIsAnOrphan() async throws {
        try await overEveryStore {
            let counting = try await CountingStory()
            try counting.assets.put("stray", of: counting.databaseID)
            let payload = try await counting.payload(photo: "kept")
            let uploads = ["stray", "kept"].map(counting.key)
            let databaseID = counting.databaseID
            try await counting.store.write { (store) throws(ChangeFeedError) in
                var references = AssetReferences(databaseID: databaseID)
                _ = try references.replace(nil, by: payload, in: store)
                try references.save(uploads: uploads, to: store)
            }
            let orphans = try await counting.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [counting.key("stray").text])
        }
    }

    func testACollectionIsOfBoundedStepsAndPassesOverWhatIsPinned() async throws {
        try await overEveryStore {
            try await forEachAssetStore { assets in
                let counting = try await CountingStory(assets)
                var kept: [AssetKey] = []
                for number in 0..<10 {
                    let payload = try await counting.payload(photo: "photo \(number)")
                    _ = try await counting.replace(nil, by: payload)
                    _ = try await counting.replace(payload, by: nil)
                    try assets.put("stray \(number)", of: counting.databaseID)
                    if number < 3 { kept += [counting.key("photo \(number)"), counting.key("stray \(number)")] }
                }
                do {
                    let lease = AssetLease(assets.pins)
                    for key in kept { lease.keep(key) }
                    let (steps, removed) = try await counting.collect(limit: 2)
                    XCTAssertEqual(removed, 14)
                    XCTAssertTrue(steps.allSatisfy { $0.visited <= 2 && $0.failure == nil })
                    XCTAssertEqual(Set(try assets.keys()), Set(kept))
                    withExtendedLifetime(lease) {}
                }
                let removed = try await counting.collectAll()
                XCTAssertEqual(removed, 6)
                XCTAssertEqual(try assets.keys(), [])
            }
        }
    }
}

/// A store of references and one of contents. What is referred to is taken from records that a server elsewhere saved.
private struct CountingStory {
    let store = InMemoryStore(randomness: { 1 })
    let assets: any AssetStore
    let elsewhere: AssetStory
    private let count = Locked(0)

    init(_ assets: any AssetStore = InMemoryAssetStore()) async throws {
        self.assets = assets
        elsewhere = try await AssetStory()
    }

    var databaseID: DatabaseID { elsewhere.databaseID }

    func key(_ text: String) -> AssetKey { elsewhere.key(text) }

    /// The stored fields of a record with these contents, which are put in the asset store.
    func payload(photo: String? = nil, pages: [String]? = nil) async throws -> Payload {
        for text in [photo].compactMap(\.self) + (pages ?? []) { try assets.put(text, of: databaseID) }
        let number = count.withLock { count in
            count += 1
            return count
        }
        return try await elsewhere.save("r\(number)", photo: photo, pages: pages).base.payload
    }

    /// Counts in a transaction that a record's fields are replaced by others.
    func replace(_ old: Payload?, by new: Payload?) async throws -> Int {
        let databaseID = databaseID
        return try await store.write { (store) throws(ChangeFeedError) in
            var references = AssetReferences(databaseID: databaseID)
            let bytes = try references.replace(old, by: new, in: store)
            try references.save(to: store)
            return bytes
        }
    }

    /// The keys of a table.
    func rows(of table: MetaTable) async throws -> [String] {
        try await keys(of: table, in: store)
    }

    /// A whole collection in steps, each a transaction.
    func collect(limit: Int) async throws -> (steps: [AssetCollectionStep], removed: Int) {
        var steps: [AssetCollectionStep] = []
        var cursor: AssetCollectionCursor? = .beginning
        let library = AssetLibrary(store: assets)
        while let next = cursor {
            let step = try await store.write { (store) throws(ChangeFeedError) in
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
