import ChangeFeed
import Foundation
import XCTest

/// The contract of ``AssetStore``, over every kind of store.
final class AssetStoreTests: XCTestCase {
    private let database = DatabaseID.private("anna")

    func testAS1_whatIsStoredIsRead() async throws {
        try await forEachAssetStore { store in
            let key = try store.put("hello")
            XCTAssertEqual(try store.size(of: key), 5)
            XCTAssertEqual(try store.bytes(of: key), [UInt8]("hello".utf8))

            let empty = try store.put("")
            XCTAssertEqual(try store.size(of: empty), 0)
            XCTAssertEqual(try store.bytes(of: empty), [])

            let large = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
            XCTAssertEqual(try store.bytes(of: store.put(large)), [UInt8](large))
        }
    }

    func testAS1_aContentIsStoredOnceForEachOwner() async throws {
        try await forEachAssetStore { store in
            let first = try store.put("hello")
            XCTAssertEqual(try store.put("hello"), first)
            XCTAssertEqual(try store.keys(), [first])

            // Nobody can tell from the store what others have.
            let other = try store.put("hello", of: .private("boris"))
            let shared = try store.put("hello", of: .public)
            XCTAssertEqual(Set([first, other, shared]).count, 3)
            XCTAssertEqual(try store.keys().count, 3)
            try store.remove(other)
            XCTAssertEqual(try store.bytes(of: first), [UInt8]("hello".utf8))
        }
    }

    func testAnUploadIsNotThereBeforeItIsFinished() async throws {
        try await forEachAssetStore { store in
            let key = AssetKey(AssetHash(digest: SHA256.hash("hello".utf8)), in: database)
            do {
                let abandoned = try store.beginUpload()
                try abandoned.write([UInt8]("hel".utf8))
                XCTAssertNil(try store.size(of: key))
                XCTAssertNil(try store.bytes(of: key))
                XCTAssertEqual(try store.keys(), [])
                _ = abandoned
            }
            XCTAssertEqual(try store.keys(), [])
        }
    }

    func testRemovingIsForGoodAndMayBeRepeated() async throws {
        try await forEachAssetStore { store in
            let key = try store.put("hello")
            try store.remove(key)
            XCTAssertNil(try store.size(of: key))
            XCTAssertNil(try store.bytes(of: key))
            try store.remove(key)
            XCTAssertEqual(try store.keys(), [])
            try store.put("hello")
            XCTAssertEqual(try store.keys(), [key])
        }
    }

    func testAStreamThatWasOpenedGivesItsContentToTheEnd() async throws {
        try await forEachAssetStore { store in
            let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 5) })
            let key = try store.put(content)
            let stream = try XCTUnwrap(try store.open(key))
            var bytes = try stream.next() ?? []
            try store.remove(key)
            while let piece = try stream.next() { bytes += piece }
            XCTAssertEqual(Data(bytes), content)
        }
    }

    func testAScanGoesOnWhereItStopped() async throws {
        try await forEachAssetStore { store in
            var put: Set<AssetKey> = []
            for number in 0..<40 {
                put.insert(try store.put("content \(number)", of: number % 2 == 0 ? database : .public))
            }
            let all = try store.keys()
            XCTAssertEqual(all, put.sorted { $0.text < $1.text })
            for (index, key) in all.enumerated() {
                XCTAssertEqual(try store.keys(after: key), Array(all[(index + 1)...]))
            }
            // A key that is not there is a place like any other.
            let absent = AssetKey(AssetHash(digest: SHA256.hash("absent".utf8)), in: database)
            XCTAssertEqual(try store.keys(after: absent), all.filter { absent.text < $0.text })
            var visited = 0
            try store.scan(after: nil) { _ in
                visited += 1
                return visited == 3 ? .stop : .next
            }
            XCTAssertEqual(visited, 3)
        }
    }

    // MARK: Through the library

    func testAS1_contentIsReadWrittenAndHashedPieceByPiece() async throws {
        try await forEachAssetStore { base in
            let store = WatchedAssetStore(base)
            let library = AssetLibrary(store: store)
            let lease = AssetLease(store.pins)
            let source = CountedStream(pieces: 20, pieceBytes: 50_000) { piece in
                // Before the next piece is asked for, the one before has been written: none is heaped up.
                XCTAssertEqual(store.writes.withLock { $0.count }, piece)
            }
            let content = try library.put(source, in: database, keeping: lease, limit: 50_000_000)
            XCTAssertEqual(content.size, 1_000_000)
            XCTAssertEqual(store.writes.withLock { $0 }, Array(repeating: 50_000, count: 20))

            let stream = try library.stream(of: content, in: database)
            var size = 0
            while let piece = try stream.next() {
                XCTAssertLessThanOrEqual(piece.count, 128 * 1024)
                size += piece.count
            }
            XCTAssertEqual(size, 1_000_000)
        }
    }

    func testMoreThanTheLimitIsRefusedBeforeItIsRead() async throws {
        try await forEachAssetStore { store in
            let library = AssetLibrary(store: store)
            let source = CountedStream(pieces: 1_000, pieceBytes: 1_000)
            let error = expectAssetError(.limitExceeded) {
                try library.put(source, in: database, keeping: AssetLease(store.pins), limit: 4_500)
            }
            XCTAssertEqual(error?.limit, .init(name: "assetBytes", allowed: 4_500, found: 5_000))
            XCTAssertEqual(source.given, 5)
            XCTAssertEqual(try store.keys(), [])
        }
    }

    func testAS6_damagedContentIsAnErrorAndNotBytes() async throws {
        try await forEachAssetStore { store in
            let library = AssetLibrary(store: store)
            for (wanted, stored) in [("hello", "hellO"), ("hello", "hello!"), ("hello", "hell"), ("hello", "")] {
                let hash = AssetHash(digest: SHA256.hash(wanted.utf8))
                let upload = try store.beginUpload()
                try upload.write([UInt8](stored.utf8))
                try upload.finish(as: AssetKey(hash, in: database))

                let stream = try library.stream(of: AssetContent(size: wanted.utf8.count, hash: hash), in: database)
                var given: [UInt8] = []
                expectAssetError(.assetNotAvailable, detail: .damaged) {
                    while let piece = try stream.next() { given += piece }
                }
                XCTAssertLessThan(given.count, wanted.utf8.count, "\(stored) was given as a whole")

                // Storing it again mends it.
                try store.put(wanted)
                XCTAssertEqual(try store.bytes(of: AssetKey(hash, in: database)), [UInt8](wanted.utf8))
            }
        }
    }
}
