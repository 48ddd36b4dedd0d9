import ChangeFeed
import Foundation
import XCTest

/// What an asset is by itself: identity, reading, local files.
final class AssetTests: XCTestCase {
    private static let helloHash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

    func testAS1_anAssetIsKnownByItsContent() throws {
        let directory = try TemporaryDirectory()
        let ofBytes = Asset(data: Data("hello".utf8))
        let ofFile = Asset(fileURL: try directory.file("a.txt", "hello"))

        XCTAssertEqual(ofBytes.size, 5)
        XCTAssertEqual(ofBytes.contentHash, AssetTests.helloHash)
        XCTAssertEqual(ofFile.contentHash, AssetTests.helloHash)
        XCTAssertEqual(ofBytes, ofFile)
        XCTAssertEqual(Set([ofBytes, ofFile]).count, 1)
        XCTAssertNotEqual(ofBytes, Asset(data: Data("Hello".utf8)))
        XCTAssertNotEqual(ofBytes, Asset(data: Data()))
    }

    func testB96_nameAndExtensionAreNotPartOfTheIdentity() throws {
        let directory = try TemporaryDirectory()
        let recording = Asset(fileURL: try directory.file("a.m4a", "sound"))
        let other = Asset(fileURL: try directory.file("b.bin", "sound"))
        XCTAssertEqual(recording, other)
    }

    func testAS1_makingAnAssetReadsNothing() throws {
        let directory = try TemporaryDirectory()
        let asset = Asset(fileURL: directory.url.appendingPathComponent("later.txt"))
        XCTAssertNil(asset.size)
        // The file comes into being after the asset.
        _ = try directory.file("later.txt", "hello")
        XCTAssertEqual(asset.size, 5)
        XCTAssertEqual(asset.contentHash, AssetTests.helloHash)
    }

    func testTheIdentityIsThatOfTheFirstReading() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "hello")
        let asset = Asset(fileURL: file)
        let set: Set<Asset> = [asset]
        _ = try directory.file("a.txt", "something else")
        XCTAssertTrue(set.contains(asset))
        XCTAssertEqual(asset.contentHash, AssetTests.helloHash)
        XCTAssertEqual(asset.size, 5)
        XCTAssertNotEqual(asset, Asset(fileURL: file))
    }

    func testAnAssetThatCannotBeReadHasNoContentAndStaysSo() throws {
        let directory = try TemporaryDirectory()
        let missing = Asset(fileURL: directory.url.appendingPathComponent("missing"))
        XCTAssertNil(missing.contentHash)
        XCTAssertEqual(missing, Asset(fileURL: directory.url.appendingPathComponent("missing too")))
        XCTAssertNotEqual(missing, Asset(data: Data()))
        let set: Set<Asset> = [missing]
        _ = try directory.file("missing", "hello")
        XCTAssertNil(missing.contentHash)
        XCTAssertTrue(set.contains(missing))
    }

    func testAS2_aLocalAssetGivesItsOwnFileAndItsBytes() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("a.txt", "hello")
        XCTAssertEqual(Asset(fileURL: file).fileURL, file)
        XCTAssertEqual(try Asset(fileURL: file).data(), Data("hello".utf8))
        XCTAssertEqual(try Asset(data: Data("hello".utf8)).data(), Data("hello".utf8))

        let ofBytes = Asset(data: Data("hello".utf8))
        XCTAssertNil(ofBytes.fileURL)
        expectAssetError(.assetNotAvailable) { try ofBytes.loadFile() }
    }

    func testAS6_whatCannotBeReadIsNotFound() throws {
        let directory = try TemporaryDirectory()
        expectAssetError(.assetFileNotFound) {
            try Asset(fileURL: directory.url.appendingPathComponent("missing")).data()
        }
        expectAssetError(.assetFileNotFound) { try Asset(fileURL: directory.url).data() }
        let page = try XCTUnwrap(URL(string: "https://example.com/a.png"))
        expectAssetError(.assetFileNotFound) { try Asset(fileURL: page).data() }
    }

    func testAS1_aFileIsReadPieceByPiece() throws {
        let directory = try TemporaryDirectory()
        let content = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        for asset in [Asset(fileURL: try directory.file("large", content)), Asset(data: content)] {
            let stream = try asset.stream()
            var whole = Data()
            while let piece = try stream.next() {
                XCTAssertFalse(piece.isEmpty)
                XCTAssertLessThanOrEqual(piece.count, 128 * 1024)
                whole.append(contentsOf: piece)
            }
            XCTAssertEqual(whole, content)
        }
    }

    func testAnAssetIsAFieldLikeOthers() throws {
        var record = Record(recordType: "Note")
        let photo = Asset(data: Data("photo".utf8))
        record["photo"] = photo
        record["pages"] = [photo, Asset(data: Data("page".utf8))]

        let read: Asset? = record["photo"]
        XCTAssertEqual(read, photo)
        let pages: [Asset]? = record["pages"]
        XCTAssertEqual(pages?.count, 2)
        let text: String? = record["photo"]
        XCTAssertNil(text)
        XCTAssertEqual(record["photo"]?.kind, .asset)
        XCTAssertEqual(record["photo"], RecordValue.asset(Asset(data: Data("photo".utf8))))
        XCTAssertNotEqual(record["photo"], .bytes(Data("photo".utf8)))
    }
}
