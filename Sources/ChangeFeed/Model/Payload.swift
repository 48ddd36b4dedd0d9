/// The fields of a record as stored: shared keys, and one compact byte string with the values in key order.
///
/// A value is decoded when it is looked at, not before. The bytes of a payload have always been checked: by the
/// encoder that made them or by ``init(encoded:)``, which is total. `ValueCodec` tells the form of a value.
public struct Payload: Sendable {
    package let shape: FieldShape
    package let values: [UInt8]
    /// Whether a value can be or hold a reference or an asset: few records have any, and the others need not be
    /// searched for them.
    package let mayLink: Bool

    /// No fields.
    public static let empty = Payload(shape: .empty, values: [], mayLink: false)

    /// Fields whose bytes have been checked, or are known to be what an encoder made.
    package init(shape: FieldShape, values: [UInt8], mayLink: Bool) {
        self.shape = shape
        self.values = values
        self.mayLink = mayLink
    }

    /// How many bytes keys and values have: what the size limit of a record counts (rule R4).
    public var byteCount: Int { shape.keyBytes + values.count }

    /// Whether there is no field.
    public var isEmpty: Bool { shape.keys.isEmpty }

    /// The value of a key; nil if there is none.
    @inline(__always)
    func value(of key: String) -> RecordValue? {
        guard let index = shape.index(of: key) else { return nil }
        return value(at: index)
    }

    func value(at index: Int) -> RecordValue? {
        values.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, isChecked: true)
            do throws(MalformedBytes) {
                for _ in 0..<index { try ValueCodec.skip(&reader) }
                return try ValueCodec.decode(&reader)
            } catch {
                // Payloads are checked when they are made.
                assertionFailure("a checked payload \(error.reason)")
                return nil
            }
        }
    }

    /// Every key with the bytes of its value, in key order.
    func forEachValue(_ body: (_ key: String, _ value: UnsafeRawBufferPointer) -> Void) {
        values.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            do throws(MalformedBytes) {
                for key in shape.keys {
                    let start = reader.offset
                    try ValueCodec.skip(&reader)
                    body(key, UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]))
                }
            } catch {
                assertionFailure("a checked payload \(error.reason)")
            }
        }
    }
}

extension Payload: Equatable {
    /// Whether both have the same keys and the same values, byte for byte.
    public static func == (left: Payload, right: Payload) -> Bool {
        (left.shape === right.shape || left.shape.hasKeys(right.shape.keys)) && left.values == right.values
    }
}

extension Payload {
    /// The version of the form that ``encoded`` writes.
    private static let formatVersion: UInt8 = 1

    /// The fields as one self-describing byte string: version, number of keys, keys, values.
    public var encoded: [UInt8] {
        var writer = ByteWriter(reserving: byteCount + shape.keys.count + 4)
        writer.byte(Payload.formatVersion)
        encodeBody(into: &writer)
        return writer.bytes
    }

    func encodeBody(into writer: inout ByteWriter) {
        writer.number(UInt64(shape.keys.count))
        for key in shape.keys { writer.string(key) }
        values.withUnsafeBytes { writer.raw($0) }
    }

    /// The fields of a byte string that ``encoded`` made. Total: bytes of any other origin give an error
    /// (`internalError`, detail `damaged`), never a trap.
    public init(encoded bytes: some Sequence<UInt8>) throws(ChangeFeedError) {
        do throws(MalformedBytes) {
            self = try [UInt8](bytes).decode { (reader) throws(MalformedBytes) in
                guard try reader.byte() == Payload.formatVersion else {
                    throw MalformedBytes(reason: "has an unknown version")
                }
                return try Payload(body: &reader)
            }
        } catch {
            throw ChangeFeedError(
                .internalError,
                "The stored fields of a record cannot be read: the byte string \(error.reason).",
                detail: .damaged
            )
        }
    }

    /// Reads keys and values up to the end of the bytes.
    init(body reader: inout ByteReader) throws(MalformedBytes) {
        let count = try reader.count()
        var keys: [String] = []
        keys.reserveCapacity(count)
        for _ in 0..<count {
            let key = try reader.string()
            if let last = keys.last, !precedesByBytes(last, key) {
                throw MalformedBytes(reason: "has keys out of order")
            }
            keys.append(key)
        }
        let bytes = try reader.slice(reader.remaining)
        var check = ByteReader(bytes)
        for _ in 0..<count { try ValueCodec.check(&check) }
        guard check.isAtEnd else { throw MalformedBytes(reason: "goes on after its last value") }
        var search = ByteReader(bytes)
        var mayLink = false
        for _ in 0..<count {
            mayLink = mayLink || ValueCodec.mayLink(UnsafeRawBufferPointer(rebasing: bytes[search.offset...]))
            try ValueCodec.skip(&search)
        }
        self.init(
            shape: count == 0 ? .empty : FieldShape(sortedKeys: keys), values: [UInt8](bytes), mayLink: mayLink)
    }
}
