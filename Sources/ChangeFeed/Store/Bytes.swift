#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Whether two strings are the same bytes of UTF-8.
///
/// Swift's own equality takes two spellings of é for one; every name and key of the feed is compared by its bytes,
/// so that all stores agree.
@inline(__always)
package func sameBytes(_ left: String, _ right: String) -> Bool {
    let left = left.utf8
    let right = right.utf8
    guard left.count == right.count else { return false }
    let answer = left.withContiguousStorageIfAvailable { leftBytes in
        right.withContiguousStorageIfAvailable { rightBytes in
            sameBytes(UnsafeRawBufferPointer(leftBytes), UnsafeRawBufferPointer(rightBytes))
        }
    }
    if let answer, let answer { return answer }
    return left.elementsEqual(right)
}

@inline(__always)
package func sameBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return true }
    return memcmp(leftBase, rightBase, left.count) == 0
}

/// Whether the left string comes first in the order of UTF-8 bytes.
@inline(__always)
func precedesByBytes(_ left: String, _ right: String) -> Bool {
    let answer: Bool?? = left.utf8.withContiguousStorageIfAvailable { left in
        right.utf8.withContiguousStorageIfAvailable { right in
            guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else {
                return left.count < right.count
            }
            let order = memcmp(leftBase, rightBase, min(left.count, right.count))
            return order == 0 ? left.count < right.count : order < 0
        }
    }
    if let answer, let answer { return answer }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
}

/// A string that is equal to another only if their bytes are: the key of dictionaries by name.
package struct ByteString: Hashable, Sendable {
    package let string: String

    @inline(__always)
    package init(_ string: String) {
        self.string = string
    }

    @inline(__always)
    package static func == (left: ByteString, right: ByteString) -> Bool {
        sameBytes(left.string, right.string)
    }

    // Equal bytes give equal normalised hashes, so the string's own hash serves.
    @inline(__always)
    package func hash(into hasher: inout Hasher) {
        hasher.combine(string)
    }
}

/// What a decoder found wrong: the bytes are not what any version of this library wrote.
package struct MalformedBytes: Error {
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// A cursor over bytes of unknown origin. Every read is checked; a read past the end throws and moves nothing.
package struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    /// Whether all text is known to be UTF-8, because the bytes were read once before.
    package let isChecked: Bool
    package private(set) var offset = 0

    @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer, isChecked: Bool = false) {
        self.bytes = bytes
        self.isChecked = isChecked
    }

    @inline(__always)
    package var remaining: Int { bytes.count - offset }

    @inline(__always)
    package var isAtEnd: Bool { offset == bytes.count }

    @inline(__always)
    package mutating func byte() throws(MalformedBytes) -> UInt8 {
        guard offset < bytes.count else { throw MalformedBytes(reason: "ends too early") }
        let byte = bytes[offset]
        offset += 1
        return byte
    }

    /// The next `count` bytes, without a copy: valid as long as the bytes that are read.
    @inline(__always)
    package mutating func slice(_ count: Int) throws(MalformedBytes) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw MalformedBytes(reason: "ends too early") }
        let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
        offset += count
        return slice
    }

    @inline(__always)
    package mutating func word() throws(MalformedBytes) -> UInt64 {
        guard remaining >= 8 else { throw MalformedBytes(reason: "ends too early") }
        let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        offset += 8
        return UInt64(littleEndian: word)
    }

    /// A variable-length number of at most 64 bits, in its shortest form only.
    @inline(__always)
    package mutating func number() throws(MalformedBytes) -> UInt64 {
        let first = try byte()
        if first < 0x80 { return UInt64(first) }
        var result = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let next = try byte()
            let bits = UInt64(next & 0x7F)
            guard shift < 63 || bits <= 1, next != 0 else { throw MalformedBytes(reason: "has a malformed number") }
            result |= bits << shift
            if next < 0x80 { return result }
            shift += 7
            guard shift <= 63 else { throw MalformedBytes(reason: "has a malformed number") }
        }
    }

    /// A number that counts bytes or items still to come, each at least one byte.
    @inline(__always)
    package mutating func count() throws(MalformedBytes) -> Int {
        let number = try number()
        guard number <= UInt64(remaining) else { throw MalformedBytes(reason: "names a length past its end") }
        return Int(number)
    }

    /// Text. Bytes that are not UTF-8 are refused: mended, they would read like other text.
    package mutating func string() throws(MalformedBytes) -> String {
        let length = try count()
        let utf8 = try slice(length)
        if isChecked { return String(decoding: utf8, as: UTF8.self) }
        guard let string = String(validating: utf8, as: UTF8.self) else {
            throw MalformedBytes(reason: "has text that is not UTF-8")
        }
        return string
    }

    package mutating func blob() throws(MalformedBytes) -> [UInt8] {
        let length = try count()
        return [UInt8](try slice(length))
    }
}

extension ContiguousBytes {
    /// Reads all bytes with a cursor. What the body throws keeps its type, which `withUnsafeBytes` loses.
    @inline(__always)
    package func decode<Result>(
        _ body: (inout ByteReader) throws(MalformedBytes) -> Result
    ) throws(MalformedBytes) -> Result {
        let result: Swift.Result<Result, MalformedBytes> = withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            do throws(MalformedBytes) {
                return .success(try body(&reader))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// Appends the forms that `ByteReader` reads.
package struct ByteWriter {
    package private(set) var bytes: [UInt8]

    package init(reserving capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    @inline(__always)
    package mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    @inline(__always)
    package mutating func word(_ word: UInt64) {
        withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }

    @inline(__always)
    package mutating func number(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    @inline(__always)
    package mutating func string(_ string: String) {
        var string = string
        string.withUTF8 { utf8 in
            number(UInt64(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    package mutating func blob(_ blob: some Collection<UInt8>) {
        number(UInt64(blob.count))
        bytes.append(contentsOf: blob)
    }

    @inline(__always)
    package mutating func raw(_ raw: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: raw)
    }
}
