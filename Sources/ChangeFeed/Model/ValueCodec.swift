#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The stored form of one value: a tag, then the content.
///
/// | tag | content |
/// |---|---|
/// | 1 string | length, UTF-8 |
/// | 2 int64 | 8 bytes, or tags 16...31 alone for 0...15 |
/// | 3 double | 8 bytes, the bit pattern |
/// | 4 bytes | length, bytes |
/// | 5 date | 8 bytes, the bit pattern of the seconds since 2001 |
/// | 6 location | length, presence bits, 8 bytes a number |
/// | 7 reference | length, action, record name, zone name, owner name |
/// | 8 asset | length 40, size in 8 bytes, SHA-256 in 32; or length 0 where the content could not be read |
/// | 9 list | length, values |
///
/// Numbers are little-endian, lengths of variable length. Everything but a fixed 8 bytes tells its length, so that a
/// value is skipped without being looked into. Bytes in, the same bytes out: equal values have equal bytes.
enum ValueCodec {
    private enum Tag {
        static let string: UInt8 = 1
        static let int64: UInt8 = 2
        static let double: UInt8 = 3
        static let bytes: UInt8 = 4
        static let date: UInt8 = 5
        static let location: UInt8 = 6
        static let reference: UInt8 = 7
        static let asset: UInt8 = 8
        static let list: UInt8 = 9
        static let smallInt: UInt8 = 16
    }

    /// How deep lists may be nested in bytes that are read. The rules of writing allow one level; the bound is here
    /// so that hostile bytes cannot exhaust the stack.
    private static let maximumDepth = 4

    static func encode(_ value: RecordValue, into writer: inout ByteWriter) {
        encode(Optional(value), into: &writer)
    }

    /// Writes nothing for nil. Takes an optional so that a value can be encoded where it stands, without a copy.
    @inline(__always)
    static func encode(_ value: borrowing RecordValue?, into writer: inout ByteWriter) {
        switch value {
        case nil: return
        case .string(let string):
            writer.byte(Tag.string)
            writer.string(string)
        case .int64(let number):
            if 0...15 ~= number {
                writer.byte(Tag.smallInt + UInt8(truncatingIfNeeded: number))
            } else {
                writer.byte(Tag.int64)
                writer.word(UInt64(bitPattern: number))
            }
        case .double(let number):
            writer.byte(Tag.double)
            writer.word(number.bitPattern)
        case .bytes(let data):
            writer.byte(Tag.bytes)
            writer.number(UInt64(data.count))
            data.withUnsafeBytes { writer.raw($0) }
        case .date(let date):
            writer.byte(Tag.date)
            writer.word(date.timeIntervalSinceReferenceDate.bitPattern)
        case .location, .reference, .asset, .list:
            if let value = copy value { encodeNested(value, into: &writer) }
        }
    }

    private static func encodeNested(_ value: RecordValue, into writer: inout ByteWriter) {
        var content = ByteWriter()
        switch value {
        case .location(let location):
            writer.byte(Tag.location)
            let patterns = location.bitPatterns
            var presence: UInt8 = 0
            for (bit, pattern) in patterns.enumerated() where pattern != nil { presence |= 1 << bit }
            content.byte(presence)
            for pattern in patterns { if let pattern { content.word(pattern) } }
        case .reference(let reference):
            writer.byte(Tag.reference)
            content.byte(UInt8(truncatingIfNeeded: reference.action.rawValue))
            content.string(reference.recordID.recordName)
            content.string(reference.recordID.zoneID.zoneName)
            content.string(reference.recordID.zoneID.ownerName)
        case .asset(let asset):
            writer.byte(Tag.asset)
            if let identity = asset.content {
                content.word(UInt64(identity.size))
                for byte in identity.hash.bytes { content.byte(byte) }
            }
        case .list(let values):
            writer.byte(Tag.list)
            for value in values { encode(value, into: &content) }
        case .string, .int64, .double, .bytes, .date:
            encode(value, into: &writer)
            return
        }
        writer.blob(content.bytes)
    }

    /// Whether the value at the beginning of the bytes can be or hold a reference or an asset.
    static func mayLink(_ bytes: UnsafeRawBufferPointer) -> Bool {
        mayHaveReference(bytes) || bytes.first == Tag.asset
    }

    /// Whether a value's bytes can be or hold a reference.
    @inline(__always)
    static func mayHaveReference(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.first == Tag.reference || bytes.first == Tag.list
    }

    /// Moves past one value without looking into it.
    @inline(__always)
    static func skip(_ reader: inout ByteReader) throws(MalformedBytes) {
        let tag = try reader.byte()
        switch tag {
        case Tag.int64, Tag.double, Tag.date:
            _ = try reader.slice(8)
        case Tag.string, Tag.bytes, Tag.location, Tag.reference, Tag.asset, Tag.list:
            let length = try reader.count()
            _ = try reader.slice(length)
        case Tag.smallInt...Tag.smallInt + 15:
            break
        default:
            throw MalformedBytes(reason: "has a value of unknown type")
        }
    }

    /// Moves past one value and checks all of it.
    static func check(_ reader: inout ByteReader) throws(MalformedBytes) {
        var copy = reader
        let tag = try copy.byte()
        switch tag {
        case Tag.string, Tag.int64, Tag.location, Tag.reference, Tag.asset, Tag.list: _ = try decode(&reader)
        default: try skip(&reader)
        }
    }

    /// Reads one value.
    static func decode(_ reader: inout ByteReader) throws(MalformedBytes) -> RecordValue {
        try decode(&reader, depth: 0)
    }

    private static func decode(_ reader: inout ByteReader, depth: Int) throws(MalformedBytes) -> RecordValue {
        let tag = try reader.byte()
        switch tag {
        case Tag.string: return .string(try reader.string())
        case Tag.int64:
            let number = Int64(bitPattern: try reader.word())
            // Equality is by bytes, so a number has one form only.
            guard !(0...15 ~= number) else { throw MalformedBytes(reason: "has a number in its long form") }
            return .int64(number)
        case Tag.smallInt...Tag.smallInt + 15: return .int64(Int64(tag - Tag.smallInt))
        case Tag.double: return .double(Double(bitPattern: try reader.word()))
        case Tag.bytes:
            let length = try reader.count()
            return .bytes(Data(try reader.slice(length)))
        case Tag.date: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try reader.word())))
        case Tag.location, Tag.reference, Tag.asset, Tag.list:
            let length = try reader.count()
            var content = ByteReader(try reader.slice(length), isChecked: reader.isChecked)
            let value: RecordValue
            switch tag {
            case Tag.location: value = .location(try location(&content))
            case Tag.reference: value = .reference(try reference(&content))
            case Tag.asset: value = .asset(Asset(StoredAsset(content: try asset(&content))))
            default:
                guard depth < maximumDepth else { throw MalformedBytes(reason: "has lists nested too deep") }
                var values: [RecordValue] = []
                while !content.isAtEnd { values.append(try decode(&content, depth: depth + 1)) }
                value = .list(values)
            }
            guard content.isAtEnd else { throw MalformedBytes(reason: "has a value that is too long") }
            return value
        default:
            throw MalformedBytes(reason: "has a value of unknown type")
        }
    }

    private static func location(_ reader: inout ByteReader) throws(MalformedBytes) -> Location {
        let presence = try reader.byte()
        guard presence & 0b11 == 0b11, presence < 1 << 6 else {
            throw MalformedBytes(reason: "has a location without coordinates")
        }
        var numbers: [Double?] = []
        for bit in 0..<6 {
            numbers.append(presence & 1 << bit == 0 ? nil : Double(bitPattern: try reader.word()))
        }
        return Location(
            latitude: numbers[0] ?? 0,
            longitude: numbers[1] ?? 0,
            altitude: numbers[2],
            horizontalAccuracy: numbers[3],
            verticalAccuracy: numbers[4],
            timestamp: numbers[5].map(Date.init(timeIntervalSinceReferenceDate:))
        )
    }

    /// Nil where the content could not be read.
    private static func asset(_ reader: inout ByteReader) throws(MalformedBytes) -> AssetContent? {
        if reader.isAtEnd { return nil }
        guard let size = Int(exactly: try reader.word()) else {
            throw MalformedBytes(reason: "has an asset of impossible size")
        }
        return AssetContent(size: size, hash: AssetHash(digest: try reader.slice(SHA256.byteCount)))
    }

    private static func reference(_ reader: inout ByteReader) throws(MalformedBytes) -> Record.Reference {
        guard let action = Record.Reference.Action(rawValue: Int(try reader.byte())) else {
            throw MalformedBytes(reason: "has a reference with an unknown action")
        }
        let recordName = try reader.string()
        let zoneName = try reader.string()
        let ownerName = try reader.string()
        return Record.Reference(
            recordID: Record.ID(
                recordName: recordName,
                zoneID: RecordZone.ID(zoneName: zoneName, ownerName: ownerName)
            ),
            action: action
        )
    }
}

// MARK: - Assets in encoded values

extension ValueCodec {
    /// Whether a value that has been checked is an asset or a list that holds one.
    static func hasAssets(_ value: UnsafeRawBufferPointer) -> Bool {
        guard value.first == Tag.asset || value.first == Tag.list else { return false }
        var found = false
        forEachAsset(in: value) { _ in found = true }
        return found
    }

    /// The content of every asset in a value that has been checked, itself or in a list.
    static func forEachAsset(in value: UnsafeRawBufferPointer, _ visit: (AssetContent) -> Void) {
        guard value.first == Tag.asset || value.first == Tag.list else { return }
        var reader = ByteReader(value)
        do throws(MalformedBytes) {
            let tag = try reader.byte()
            let length = try reader.count()
            var content = ByteReader(try reader.slice(length), isChecked: reader.isChecked)
            if tag == Tag.asset {
                if let identity = try asset(&content) { visit(identity) }
                return
            }
            let values = try content.slice(length)
            var item = ByteReader(values)
            while !item.isAtEnd {
                let start = item.offset
                try skip(&item)
                forEachAsset(in: UnsafeRawBufferPointer(rebasing: values[start..<item.offset]), visit)
            }
        } catch {
            assertionFailure("a checked value \(error.reason)")
        }
    }
}
