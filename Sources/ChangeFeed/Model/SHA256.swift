/// The SHA-256 digest of FIPS 180-4: the identity of an asset's content.
///
/// It is ours, in this one file, because no crypto library is at hand on Linux without a package dependency, and this
/// package has none. Content identity is all it is for: it hashes public bytes, keeps no secret, and makes no promise
/// about timing. The published test vectors are in `SHA256Tests`.
///
/// Bytes may arrive in any number of pieces of any size; only their order counts. Up to 2^61 - 1 bytes are hashed as
/// the standard says.
package struct SHA256: Sendable {
    /// Bytes a digest has.
    package static let byteCount = 32

    private static let blockSize = 64

    /// Eight words.
    private var state: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The bytes after the last whole block, always fewer than a block.
    private var pending: [UInt8] = []
    private var length: UInt64 = 0

    package init() {}

    /// The digest of `bytes`, 32 bytes long.
    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(bytes)
        return hasher.finalize()
    }

    /// Adds `bytes` to what is hashed. Contiguous sequences (`[UInt8]`, `Data`, ...) are read in place.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let hashedInPlace: Void? = bytes.withContiguousStorageIfAvailable {
            update(bufferPointer: UnsafeRawBufferPointer($0))
        }
        if hashedInPlace != nil { return }
        var chunk: [UInt8] = []
        chunk.reserveCapacity(4_096)
        for byte in bytes {
            chunk.append(byte)
            if chunk.count == 4_096 {
                chunk.withUnsafeBytes { update(bufferPointer: $0) }
                chunk.removeAll(keepingCapacity: true)
            }
        }
        chunk.withUnsafeBytes { update(bufferPointer: $0) }
    }

    /// Adds the bytes of `buffer` to what is hashed.
    package mutating func update(bufferPointer buffer: UnsafeRawBufferPointer) {
        length &+= UInt64(buffer.count)
        var rest = buffer[...]
        if !pending.isEmpty {
            let missing = min(Self.blockSize - pending.count, rest.count)
            pending.append(contentsOf: rest.prefix(missing))
            rest = rest.dropFirst(missing)
            guard pending.count == Self.blockSize else { return }
            pending.withUnsafeBytes { compress(&state, blocks: $0) }
            pending.removeAll(keepingCapacity: true)
        }
        let whole = rest.count - rest.count % Self.blockSize
        compress(&state, blocks: UnsafeRawBufferPointer(rebasing: rest.prefix(whole)))
        pending.append(contentsOf: rest.dropFirst(whole))
    }

    /// The digest of everything added so far, 32 bytes long. More may be added afterwards.
    package func finalize() -> [UInt8] {
        var tail = pending
        tail.append(0x80)
        let filled = (tail.count + 8) % Self.blockSize
        tail.append(contentsOf: repeatElement(0, count: filled == 0 ? 0 : Self.blockSize - filled))
        withUnsafeBytes(of: (length &* 8).bigEndian) { tail.append(contentsOf: $0) }

        var last = state
        tail.withUnsafeBytes { compress(&last, blocks: $0) }
        var digest: [UInt8] = []
        digest.reserveCapacity(Self.byteCount)
        for index in 0..<8 {
            withUnsafeBytes(of: last[index].bigEndian) { digest.append(contentsOf: $0) }
        }
        return digest
    }
}

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
private let roundConstants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
]

/// Folds whole blocks of 64 bytes into `state`; `blocks` holds a multiple of 64 bytes.
private func compress(_ state: inout [UInt32], blocks: UnsafeRawBufferPointer) {
    guard let base = blocks.baseAddress else { return }
    roundConstants.withUnsafeBufferPointer { constants in
        guard let constant = constants.baseAddress else { return }
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            guard let word = schedule.baseAddress else { return }
            var offset = 0
            while offset < blocks.count {
                expand(base + offset, into: word)
                compressOne(&state, word, constant)
                offset += 64
            }
        }
    }
}

/// The message schedule of one block: its sixteen words and the forty-eight made of them.
@inline(__always)
private func expand(_ block: UnsafeRawPointer, into word: UnsafeMutablePointer<UInt32>) {
    var index = 0
    while index < 16 {
        word[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
        index += 1
    }
    while index < 64 {
        let early = word[index - 15]
        let late = word[index - 2]
        let mixedEarly = rotated(early, 7) ^ rotated(early, 18) ^ (early &>> 3)
        let mixedLate = rotated(late, 17) ^ rotated(late, 19) ^ (late &>> 10)
        word[index] = word[index - 16] &+ mixedEarly &+ word[index - 7] &+ mixedLate
        index += 1
    }
}

/// The sixty-four rounds over one block. Eight at a time, so that the working variables change roles by name and none
/// is moved.
@inline(__always)
private func compressOne(
    _ state: inout [UInt32],
    _ word: UnsafeMutablePointer<UInt32>,
    _ constant: UnsafePointer<UInt32>
) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    var index = 0
    while index < 64 {
        round(a, b, c, &d, e, f, g, &h, word[index] &+ constant[index])
        round(h, a, b, &c, d, e, f, &g, word[index + 1] &+ constant[index + 1])
        round(g, h, a, &b, c, d, e, &f, word[index + 2] &+ constant[index + 2])
        round(f, g, h, &a, b, c, d, &e, word[index + 3] &+ constant[index + 3])
        round(e, f, g, &h, a, b, c, &d, word[index + 4] &+ constant[index + 4])
        round(d, e, f, &g, h, a, b, &c, word[index + 5] &+ constant[index + 5])
        round(c, d, e, &f, g, h, a, &b, word[index + 6] &+ constant[index + 6])
        round(b, c, d, &e, f, g, h, &a, word[index + 7] &+ constant[index + 7])
        index += 8
    }
    state[0] = state[0] &+ a
    state[1] = state[1] &+ b
    state[2] = state[2] &+ c
    state[3] = state[3] &+ d
    state[4] = state[4] &+ e
    state[5] = state[5] &+ f
    state[6] = state[6] &+ g
    state[7] = state[7] &+ h
}

@inline(__always)
private func round(
    _ a: UInt32,
    _ b: UInt32,
    _ c: UInt32,
    _ d: inout UInt32,
    _ e: UInt32,
    _ f: UInt32,
    _ g: UInt32,
    _ h: inout UInt32,
    _ input: UInt32
) {
    let choice = g ^ (e & (f ^ g))
    let majority = (a & b) | (c & (a | b))
    let first = h &+ (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) &+ choice &+ input
    d = d &+ first
    h = first &+ (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) &+ majority
}

@inline(__always)
private func rotated(_ value: UInt32, _ count: UInt32) -> UInt32 {
    (value &>> count) | (value &<< (32 - count))
}
