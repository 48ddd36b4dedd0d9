/// The keys of a record's fields, sorted by their bytes: one object for all records that have the same.
///
/// Keys repeat in every record of a type, so a record holds this and its values, not the keys themselves.
package final class FieldShape: Sendable {
    package let keys: [String]
    /// How many bytes of UTF-8 all keys have together.
    let keyBytes: Int

    /// A shape of keys that are sorted and distinct.
    package init(sortedKeys: [String]) {
        keys = sortedKeys
        keyBytes = sortedKeys.reduce(0) { $0 + $1.utf8.count }
    }

    static let empty = FieldShape(sortedKeys: [])

    @inline(__always)
    func index(of key: String) -> Int? {
        // A record has a handful of fields: walking them beats hashing the key.
        for index in keys.indices where sameBytes(keys[index], key) { return index }
        return nil
    }

    package func hasKeys(_ others: [String]) -> Bool {
        keys.count == others.count && zip(keys, others).allSatisfy { sameBytes($0, $1) }
    }
}

/// Finds the shape for a set of keys, so that equal sets share one object.
package final class FieldShapes: Sendable {
    // A bound, because a client that invents keys without end must not fill the memory: past it the table starts
    // anew and shapes are merely shared less.
    private static let bound = 4096
    private let table = Locked<[[ByteString]: FieldShape]>([:])

    package init() {}

    /// The shape of keys that are sorted and distinct.
    func shape(ofSorted keys: [String]) -> FieldShape {
        if keys.isEmpty { return .empty }
        let name = keys.map(ByteString.init)
        return table.withLock { table in
            if let known = table[name] { return known }
            if table.count >= FieldShapes.bound { table.removeAll() }
            let shape = FieldShape(sortedKeys: keys)
            table[name] = shape
            return shape
        }
    }
}
