import ChangeFeed
import XCTest

/// The digest that names an asset's content, against the vectors published with FIPS 180-4.
final class SHA256Tests: XCTestCase {
    func testThePublishedVectors() {
        let vectors: [(message: String, digest: String)] = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
            ),
        ]
        for vector in vectors {
            XCTAssertEqual(hexadecimal(SHA256.hash(vector.message.utf8)), vector.digest, vector.message)
        }
    }

    func testOneMillionLettersInPieces() {
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000)
        var hasher = SHA256()
        for _ in 0..<1_000 { hasher.update(piece) }
        XCTAssertEqual(
            hexadecimal(hasher.finalize()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        )
    }

    /// Lengths round the block and padding borders (55, 56, 63, 64, 65, ...), each split at every place.
    func testWhereAMessageIsSplitDoesNotMatter() {
        let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ 7) }
        for length in [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 200] {
            let message = bytes.prefix(length)
            let whole = SHA256.hash(message)
            XCTAssertEqual(whole.count, SHA256.byteCount)
            for split in 0...length {
                var hasher = SHA256()
                hasher.update(message.prefix(split))
                hasher.update(message.dropFirst(split))
                XCTAssertEqual(hasher.finalize(), whole, "\(length) bytes split at \(split)")
            }
        }
    }

    /// A sequence without contiguous storage takes another way in, by chunks; both must agree across a chunk's border.
    func testASequenceWithoutStorageHashesLikeAnArray() {
        for length in [0, 1, 4_095, 4_096, 4_097, 10_000] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let stream = AnySequence { bytes.makeIterator() }
            XCTAssertEqual(SHA256.hash(stream), SHA256.hash(bytes), "\(length) bytes")
        }
    }

    func testAskingForADigestLeavesTheHasherAsItWas() {
        var hasher = SHA256()
        hasher.update("ab".utf8)
        XCTAssertEqual(hasher.finalize(), SHA256.hash("ab".utf8))
        var copy = hasher
        hasher.update("c".utf8)
        copy.update("d".utf8)
        XCTAssertEqual(hasher.finalize(), SHA256.hash("abc".utf8))
        XCTAssertEqual(copy.finalize(), SHA256.hash("abd".utf8))
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
