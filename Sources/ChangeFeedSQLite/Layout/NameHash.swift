/// Aumasson and Bernstein's SipHash-2-4 of a record's name, under a key of the store's own: what the index of names is
/// keyed by.
///
/// A number is found faster than a text and takes less room. The key is secret, so that nobody can choose names whose
/// numbers collide; those that do by chance are told apart by the names themselves.
struct NameHash: Sendable {
    /// How many bits of the hash are kept. With seven bits of the zone before them they fit the six bytes of SQLite's
    /// third largest integer.
    static let bits = 40

    private let key: (low: UInt64, high: UInt64)
    private let mask: UInt64

    init(keyLow: UInt64, keyHigh: UInt64, bits: Int = NameHash.bits) {
        key = (keyLow, keyHigh)
        mask = 1 << UInt64(bits) - 1
    }

    /// The key of a name in a zone. Zones that follow each other stand apart in the index, so that work in one of them
    /// stays in one part of it.
    func indexKey(of name: UnsafeRawBufferPointer, in zone: Int64) -> Int64 {
        let hash = hash(name, zone: UInt64(bitPattern: zone)) & mask
        return Int64(UInt64(zone & 0x7F) << UInt64(NameHash.bits) | hash)
    }

    /// The hash of the zone's number, if one is given, and the bytes.
    func hash(_ bytes: UnsafeRawBufferPointer, zone: UInt64? = nil) -> UInt64 {
        var state = State(key)
        var offset = 0
        if let zone { state.absorb(zone) }
        while offset + 8 <= bytes.count {
            state.absorb(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        let count = bytes.count + (zone == nil ? 0 : 8)
        var last = UInt64(truncatingIfNeeded: count) << 56
        for index in offset..<bytes.count { last |= UInt64(bytes[index]) << UInt64(8 * (index - offset)) }
        state.absorb(last)
        return state.finish()
    }

    private struct State {
        private var v0: UInt64
        private var v1: UInt64
        private var v2: UInt64
        private var v3: UInt64

        @inline(__always)
        init(_ key: (low: UInt64, high: UInt64)) {
            v0 = key.low ^ 0x736f_6d65_7073_6575
            v1 = key.high ^ 0x646f_7261_6e64_6f6d
            v2 = key.low ^ 0x6c79_6765_6e65_7261
            v3 = key.high ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        @inline(__always)
        mutating func finish() -> UInt64 {
            v2 ^= 0xff
            for _ in 0..<4 { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }

        @inline(__always)
        private mutating func round() {
            v0 &+= v1
            v2 &+= v3
            v1 = v1 << 13 | v1 >> 51
            v3 = v3 << 16 | v3 >> 48
            v1 ^= v0
            v3 ^= v2
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v1
            v0 &+= v3
            v1 = v1 << 17 | v1 >> 47
            v3 = v3 << 21 | v3 >> 43
            v1 ^= v2
            v3 ^= v0
            v2 = v2 << 32 | v2 >> 32
        }
    }
}
