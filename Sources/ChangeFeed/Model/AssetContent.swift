/// What an asset's content is known by: its size and its SHA-256. Equal contents are one content.
package struct AssetContent: Sendable, Hashable {
    /// Bytes of the content.
    package let size: Int
    package let hash: AssetHash

    package init(size: Int, hash: AssetHash) {
        self.size = size
        self.hash = hash
    }
}

/// The 32 bytes of a SHA-256 digest, without an allocation.
package struct AssetHash: Sendable, Hashable {
    /// The digest's bytes, eight a word, the first of them highest. Plain words and no vector: the compiler makes the
    /// frame of an async function too small for a local of a vector's alignment.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The digest of everything that a hasher was given.
    package init(_ hasher: SHA256) {
        self.init(digest: hasher.finalize())
    }

    /// A digest from its bytes: the first 32 of a sequence.
    package init(digest: some Sequence<UInt8>) {
        var words: [UInt64] = [0, 0, 0, 0]
        for (index, byte) in digest.prefix(SHA256.byteCount).enumerated() {
            words[index / 8] |= UInt64(byte) << UInt64(56 - 8 * (index % 8))
        }
        self.words = (words[0], words[1], words[2], words[3])
    }

    /// A digest from its 64 lower-case hexadecimal digits; nil for any other text.
    package init?(hexadecimal: some StringProtocol) {
        let digits = Array(hexadecimal.utf8)
        guard digits.count == 2 * SHA256.byteCount else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(SHA256.byteCount)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = AssetHash.value(of: digits[index]), let low = AssetHash.value(of: digits[index + 1])
            else { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(digest: bytes)
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(SHA256.byteCount)
        for word in [words.0, words.1, words.2, words.3] {
            withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// The digest as 64 lower-case hexadecimal digits.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * SHA256.byteCount)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether both are the digest of the same bytes.
    package static func == (left: AssetHash, right: AssetHash) -> Bool {
        left.words == right.words
    }

    /// Hashes a part of the digest, which is as good as all of it.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
