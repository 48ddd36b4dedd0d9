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
        guard edits.allSatisfy({ $0.value != nil }) else { return over(.empty, edits) }
        if !isKnown(edits) { learn(edits) }
        guard let known else { return over(.empty, edits) }
        var writer = ByteWriter(reserving: 32 * edits.count)
        for index in known.order {
            if let value = edits[index].value { ValueCodec.encode(value, into: &writer) }
        }
        let payload = Payload(shape: known.shape, values: writer.bytes)
        return Merged(payload: payload, sentBytes: payload.byteCount)
    }

    private func isKnown(_ edits: [FieldEdit]) -> Bool {
        guard let known, known.keys.count == edits.count else { return false }
        for index in edits.indices where !sameBytes(known.keys[index], edits[index].key) { return false }
        return true
    }

    private mutating func learn(_ edits: [FieldEdit]) {
        let order = edits.indices.sorted { precedesByBytes(edits[$0].key, edits[$1].key) }
        known = (edits.map(\.key), shapes.shape(ofSorted: order.map { edits[$0].key }), order)
    }

    /// What a save over other fields stores: those, with what was set or cleared. All edits are of one key space.
    mutating func over(_ payload: Payload, _ edits: [FieldEdit]) -> Merged {
        let changes = edits.count < 2 ? edits : edits.sorted { precedesByBytes($0.key, $1.key) }
        if changes.isEmpty { return Merged(payload: payload, sentBytes: 0) }
        var keys: [String] = []
        keys.reserveCapacity(payload.shape.keys.count + changes.count)
        var writer = ByteWriter(reserving: payload.byteCount + 32 * changes.count)
        var next = 0
        var sentBytes = 0
        func write(_ change: FieldEdit) {
            let before = writer.bytes.count
            if let value = change.value {
                keys.append(change.key)
                ValueCodec.encode(value, into: &writer)
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
        let shape = payload.shape.hasKeys(keys) ? payload.shape : shapes.shape(ofSorted: keys)
        return Merged(payload: Payload(shape: shape, values: writer.bytes), sentBytes: sentBytes)
    }
}

extension Record {
    /// What a save sends of one key space: what was set or cleared, and for all keys also what was not touched
    /// (rule M4).
    func edits(in space: KeySpace, allKeys: Bool) -> [FieldEdit] {
        var edits = edits
        if edits.contains(where: { $0.space != space }) { edits.removeAll { $0.space != space } }
        guard allKeys, let payload = space == .plain ? base.payload : base.encryptedPayload else { return edits }
        for (index, key) in payload.shape.keys.enumerated() {
            if edits.contains(where: { sameBytes($0.key, key) }) { continue }
            edits.append(FieldEdit(key: key, space: space, value: payload.value(at: index)))
        }
        return edits
    }
}
