#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The codec's bytes of a note, written and looked into by hand: `Payload.encoded` says what they are.
enum RawPayload {
    private static let keys: [UInt8] = {
        let keys = ["digest", "editedAt", "isPinned", "rating", "revision", "text", "title", Note.countedKey]
        var bytes: [UInt8] = [1, UInt8(keys.count)]
        for key in keys {
            bytes.append(UInt8(key.utf8.count))
            bytes += Array(key.utf8)
        }
        return bytes
    }()

    /// Writes the bytes of a note in place of what was there.
    static func encode(_ note: Note, viewCount: Int64, into bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        bytes += keys
        bytes.append(4)
        bytes.append(UInt8(note.digest.count))
        note.digest.withUnsafeBytes { bytes.append(contentsOf: $0) }
        append(5, note.editedAt.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
        append(note.isPinned ? 1 : 0, to: &bytes)
        append(3, note.rating.bitPattern, to: &bytes)
        append(note.revision, to: &bytes)
        append(note.text, to: &bytes)
        append(note.title, to: &bytes)
        append(viewCount, to: &bytes)
    }

    /// The value of the last key.
    static func viewCount(in bytes: UnsafeRawBufferPointer) -> Int64 {
        var offset = keys.count
        for _ in 0..<7 {
            let tag = bytes[offset]
            offset += 1
            switch tag {
            case 2, 3, 5: offset += 8
            case 1, 4:
                let length = length(in: bytes, at: &offset)
                offset += length
            default: break
            }
        }
        let tag = bytes[offset]
        if tag >= 16 { return Int64(tag - 16) }
        return Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: Int64.self))
    }

    private static func append(_ tag: UInt8, _ word: UInt64, to bytes: inout [UInt8]) {
        bytes.append(tag)
        withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if 0...15 ~= number {
            bytes.append(16 + UInt8(number))
        } else {
            append(2, UInt64(bitPattern: number), to: &bytes)
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(1)
        var rest = text.utf8.count
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
        bytes += text.utf8
    }

    private static func length(in bytes: UnsafeRawBufferPointer, at offset: inout Int) -> Int {
        var length = 0
        var shift = 0
        while bytes[offset] >= 0x80 {
            length |= Int(bytes[offset] & 0x7F) << shift
            shift += 7
            offset += 1
        }
        length |= Int(bytes[offset]) << shift
        offset += 1
        return length
    }
}
