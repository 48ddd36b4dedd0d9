/// A 64-bit hash that is the same in every process: for the check value of tokens and the digest of names.
///
/// No protection against somebody who wants a collision; a token is a position, not a credential. Every step can be
/// undone, so two inputs of one length that differ in a single word never have the same hash.
package struct StableHash {
    private var state: UInt64

    package init(seed: UInt64 = 0) {
        state = seed ^ 0x9AE1_6A3B_2F90_404F
    }

    @inline(__always)
    package mutating func combine(_ word: UInt64) {
        state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 32
    }

    /// Adds the bytes and their number.
    package mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        combine(UInt64(bytes.count))
        var offset = 0
        while offset + 8 <= bytes.count {
            combine(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        if offset < bytes.count {
            var tail: UInt64 = 0
            for index in offset..<bytes.count { tail = tail << 8 | UInt64(bytes[index]) }
            combine(tail)
        }
    }

    mutating func combine(_ string: String) {
        var string = string
        string.withUTF8 { combine(UnsafeRawBufferPointer($0)) }
    }

    package var value: UInt64 {
        var value = state
        value ^= value >> 29
        value = value &* 0xBF58_476D_1CE4_E5B9
        return value ^ value >> 32
    }
}
