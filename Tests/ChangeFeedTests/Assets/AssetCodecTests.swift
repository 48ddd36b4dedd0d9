import ChangeFeed
import Foundation
import XCTest

/// Assets in archived records: the identity only, and no bytes that make the decoder fall.
final class AssetCodecTests: XCTestCase {
    private func record(_ values: [String: RecordValue]) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "r1"))
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { record[key] = value }
        return record
    }

    func testAS1_anArchivedRecordKeepsTheIdentityOnly() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("photo.png", "a photo that nobody finds in the archive")
        let saved = record(["photo": .asset(Asset(fileURL: file)), "pages": [.asset(Asset(data: Data("page".utf8)))]])

        let archive = saved.encoded()
        XCTAssertNil(archive.range(of: Data("nobody".utf8)))
        XCTAssertNil(archive.range(of: Data("photo.png".utf8)))

        let again = try Record(encoded: archive)
        XCTAssertEqual(again, saved)
        let photo: Asset = try XCTUnwrap(again["photo"])
        XCTAssertEqual(photo.size, 40)
        XCTAssertEqual(photo.contentHash, Asset(fileURL: file).contentHash)
        XCTAssertNil(photo.fileURL)
        expectAssetError(.assetNotAvailable) { try photo.data() }
        XCTAssertEqual(again.encoded(), archive)
    }

    func testAnAssetWithoutContentIsArchivedAsSuch() throws {
        let missing = Asset(fileURL: URL(fileURLWithPath: "/nowhere/at/all"))
        let again = try Record(encoded: record(["photo": .asset(missing)]).encoded())
        let photo: Asset = try XCTUnwrap(again["photo"])
        XCTAssertEqual(photo, missing)
        XCTAssertNil(photo.size)
        XCTAssertNil(photo.contentHash)
    }

    /// The value ends the archive: tag, length 40, eight bytes of size, the hash.
    func testOnlyOneFormOfAnAssetIsRead() throws {
        let archive = [UInt8](record(["photo": .asset(Asset(data: Data("photo".utf8)))]).encoded())
        let tag = archive.count - 42
        XCTAssertEqual(Array(archive[tag..<tag + 3]), [8, 40, 5])

        var tooLarge = archive
        tooLarge[tag + 9] = 0x80
        var tooShort = Array(archive.dropLast())
        tooShort[tag + 1] = 39
        var tooLong = archive + [0]
        tooLong[tag + 1] = 41
        var endless = archive
        endless[tag + 1] = 127
        for bytes in [tooLarge, tooShort, tooLong, endless] {
            expectAssetError(.invalidArguments, detail: .damaged) { try Record(encoded: Data(bytes)) }
        }
    }

    func testDamagedArchivesNeverTrap() throws {
        let archive = [UInt8](
            record([
                "pages": [.asset(Asset(data: Data("one".utf8))), .asset(Asset(data: Data("two".utf8)))],
                "photo": .asset(Asset(data: Data("photo".utf8))),
            ]).encoded())
        for length in archive.indices {
            expectAssetError(.invalidArguments, detail: .damaged) { try Record(encoded: Data(archive.prefix(length))) }
        }
        var read = 0
        for index in archive.indices {
            for value in [UInt8(0), 1, 7, 8, 9, 39, 41, 127, 128, 255] {
                var damaged = archive
                damaged[index] = value
                guard let record = try? Record(encoded: Data(damaged)) else { continue }
                // What is read can be looked at and written again.
                read += 1
                XCTAssertEqual(try Record(encoded: record.encoded()), record)
            }
        }
        XCTAssertGreaterThan(read, 0)
    }

    func testHashesHaveOneTextOnly() {
        let hash = AssetHash(digest: SHA256.hash("hello".utf8))
        XCTAssertEqual(hash.bytes, SHA256.hash("hello".utf8))
        XCTAssertEqual(AssetHash(hexadecimal: hash.hexadecimal), hash)
        for text in [
            "", "2cf2", hash.hexadecimal.uppercased(), hash.hexadecimal + "0", "../" + hash.hexadecimal.dropLast(3),
        ] {
            XCTAssertNil(AssetHash(hexadecimal: text), text)
        }
        let key = AssetKey(hash, in: .private("anna"))
        XCTAssertEqual(AssetKey(text: key.text), key)
        XCTAssertNil(AssetKey(text: key.ownerName))
        XCTAssertNil(AssetKey(text: String(repeating: "é", count: 64)))
        XCTAssertNil(AssetKey(ownerName: "../../etc", contentName: "passwd"))
    }

    /// Swift 6.3 reserves no room for vectors in the frame of an asynchronous function: who keeps a value that has one
    /// there across a suspension writes over what comes after the frame.
    func testIdentitiesMayBeKeptAcrossASuspension() {
        XCTAssertLessThanOrEqual(MemoryLayout<AssetHash>.alignment, MemoryLayout<UInt64>.alignment)
        XCTAssertLessThanOrEqual(MemoryLayout<AssetKey>.alignment, MemoryLayout<UInt64>.alignment)
        XCTAssertLessThanOrEqual(MemoryLayout<AssetContent>.alignment, MemoryLayout<UInt64>.alignment)
    }
}
