/// Writes a client's fields over a server's: what a save stores (rules M3, M4).
struct FieldMerge {
    private let shapes: FieldShapes
    /// The edits seen last, by their keys, and the shape they make: records of one type follow each other.
    private var known: (keys: [String], shape: FieldShape, order: [Int])?

    init(shapes: FieldShapes) {
        self.shapes = shapes
    }

    /// The fields to store, and how many bytes of them the client sent.
    struct Merged {
        let payload: Payload
        let sentBytes: Int
    }

    /// What a new record stores: whatever was set on it. All edits are of one key space.
    mutating func created(_ edits: [FieldEdit]) -> Merged {
        if !isKnown(edits) {
            guard edits.allSatisfy({ $0.value != nil }) else { return over(.empty, edits) }
            learn(edits)
        }
        guard let known else { return over(.empty, edits) }
        var writer = ByteWriter(reserving: 32 * edits.count)
        for index in known.order { ValueCodec.encode(edits[index].value, into: &writer) }
        let payload = Payload(shape: known.shape, values: writer.bytes, mayLink: edits.mayLink)
        return Merged(payload: payload, sentBytes: payload.byteCount)
    }

    private func isKnown(_ edits: [FieldEdit]) -> Bool {
        guard let known, known.keys.count == edits.count else { return false }
        for index in edits.indices {
            // By index: a copy of each edit costs more than the comparison.
            if case nil = edits[index].value { return false }
            if !sameBytes(known.keys[index], edits[index].key) { return false }
        }
        return true
    }

    private mutating func learn(_ edits: [FieldEdit]) {
        let order = edits.indices.sorted { precedesByBytes(edits[$0].key, edits[$1].key) }
        known = (edits.map(\.key), shapes.shape(ofSorted: order.map { edits[$0].key }), order)
    }

    /// What a save over other fields stores: those, with what was set or cleared. All edits are of one key space.
    mutating func over(_ payload: Payload, _ edits: [FieldEdit]) -> Merged {
        if edits.isEmpty { return Merged(payload: payload, sentBytes: 0) }
        return sameKeys(payload, edits) ?? otherKeys(payload, edits)
    }

    /// The common case, in which values change and keys do not: whole runs of bytes are copied. Nil if a key comes or
    /// goes.
    private func sameKeys(_ payload: Payload, _ edits: [FieldEdit]) -> Merged? {
        let count = payload.shape.keys.count
        /// For each key, the place of its edit; -1 if there is none.
        var places = Array(repeating: -1, count: count)
        for place in edits.indices {
            guard case .some = edits[place].value, let index = payload.shape.index(of: edits[place].key) else {
                return nil
            }
            places[index] = place
        }
        var writer = ByteWriter(reserving: payload.values.count + 32)
        var sentBytes = 0
        payload.values.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var copied = 0
            for index in 0..<count {
                let start = reader.offset
                // A payload is checked when it is made: its values are there.
                try? ValueCodec.skip(&reader)
                let place = places[index]
                if place < 0 { continue }
                writer.raw(UnsafeRawBufferPointer(rebasing: bytes[copied..<start]))
                let before = writer.bytes.count
                ValueCodec.encode(edits[place].value, into: &writer)
                sentBytes += edits[place].key.utf8.count + writer.bytes.count - before
                copied = reader.offset
            }
            writer.raw(UnsafeRawBufferPointer(rebasing: bytes[copied...]))
        }
        let merged = Payload(
            shape: payload.shape, values: writer.bytes, mayLink: payload.mayLink || edits.mayLink)
        return Merged(payload: merged, sentBytes: sentBytes)
    }

    private func otherKeys(_ payload: Payload, _ edits: [FieldEdit]) -> Merged {
        let changes = edits.sorted { precedesByBytes($0.key, $1.key) }
        var keys: [String] = []
        keys.reserveCapacity(payload.shape.keys.count + changes.count)
        var writer = ByteWriter(reserving: payload.byteCount + 32 * changes.count)
        var next = 0
        var sentBytes = 0
        func write(_ change: FieldEdit) {
            let before = writer.bytes.count
            if change.value != nil {
                keys.append(change.key)
                ValueCodec.encode(change.value, into: &writer)
            }
            sentBytes += change.key.utf8.count + writer.bytes.count - before
        }
        payload.forEachValue { key, value in
            while next < changes.count, precedesByBytes(changes[next].key, key) {
                write(changes[next])
                next += 1
            }
            if next < changes.count, sameBytes(changes[next].key, key) {
                write(changes[next])
                next += 1
            } else {
                keys.append(key)
                writer.raw(value)
            }
        }
        while next < changes.count {
            write(changes[next])
            next += 1
        }
        let merged = Payload(
            shape: shapes.shape(ofSorted: keys), values: writer.bytes, mayLink: payload.mayLink || edits.mayLink)
        return Merged(payload: merged, sentBytes: sentBytes)
    }
}

extension Record {
    /// Whether anything but plain fields was set or cleared.
    var hasOtherSpaces: Bool {
        for index in edits.indices where edits[index].space != .plain { return true }
        return false
    }

    /// What a save sends of one key space: what was set or cleared, and for all keys also what was not touched
    /// (rule M4).
    func edits(in space: KeySpace, allKeys: Bool) -> [FieldEdit] {
        var edits = edits.filter { $0.space == space }
        let untouched = space == .plain ? base.payload : space == .encrypted ? base.encryptedPayload : nil
        guard allKeys, let payload = untouched else { return edits }
        for (index, key) in payload.shape.keys.enumerated() {
            if edits.contains(where: { sameBytes($0.key, key) }) { continue }
            edits.append(FieldEdit(key: key, space: space, value: payload.value(at: index)))
        }
        return edits
    }
}
