import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The keys of a record's fields as the table of shapes holds them: as a JSON array, for whoever reads the file with a
/// shell.
struct StoredShape: InternedValue {
    /// Past this many shapes, records carry their keys themselves: a client that invents keys without end must not
    /// fill a table that nothing ever empties.
    static let bound: Int64 = 4096

    let shape: FieldShape
    /// Whether a value can be or hold a reference or an asset.
    let mayLink: Bool

    init(of payload: Payload) {
        shape = payload.shape
        mayLink = payload.mayLink
    }

    @inline(__always)
    static func == (left: StoredShape, right: StoredShape) -> Bool {
        left.mayLink == right.mayLink && (left.shape === right.shape || left.shape.hasKeys(right.shape.keys))
    }

    func hash(into hasher: inout Hasher) {
        for key in shape.keys { hasher.combine(key) }
    }

    static var columns: [String] { ["keys", "may_link"] }

    func bind(to statement: SQLiteStatement, at index: Int32) {
        // An array of strings can always be encoded.
        let keys = (try? JSONEncoder().encode(shape.keys)) ?? Data()
        statement.bind(String(decoding: keys, as: UTF8.self), at: index)
        statement.bind(mayLink ? 1 : 0, at: index + 1)
    }

    init(from statement: SQLiteStatement, at column: Int32) throws(ChangeFeedError) {
        let text = statement.text(column)
        guard let keys = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
            throw ChangeFeedError(
                .internalError, "The keys of stored records cannot be read: \"\(text)\" is no list of keys.",
                detail: .damaged)
        }
        shape = FieldShape(sortedKeys: keys)
        mayLink = statement.int64(column + 1) != 0
    }
}
