import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a version of a record becomes a row of the table of records, and a row a version again.
///
/// What records repeat (type, users, epoch, keys) is a number in the row. The values of the fields are the codec's
/// bytes, decoded when somebody looks at them. A checksum over the row stands for the check of each value: a row that
/// does not fit its own is given as unreadable, and the others are not touched by it (rule FZ10).
final class RecordRows {
    /// The columns that ``version(from:at:zoneID:)`` reads, in its order.
    static let columns =
        "r.id, r.name, r.type, r.nonce, r.creator, r.modifier, r.created, r.modified, r.shape, r.fields, r.parent, "
        + "r.sealed, r.checksum"

    private let types: Interned<ByteString>
    private let users: Interned<ByteString>
    private let nonces: Interned<Nonce>
    private let shapes: Interned<StoredShape>

    init(_ connection: SQLiteConnection) throws(ChangeFeedError) {
        types = try Interned(connection, table: "type")
        users = try Interned(connection, table: "user")
        nonces = try Interned(connection, table: "nonce")
        shapes = try Interned(connection, table: "shape")
    }

    /// To be called when numbers may have been taken back.
    func forget() {
        types.forget()
        users.forget()
        nonces.forget()
        shapes.forget()
    }

    /// The number of a record type.
    func type(_ name: String) throws(ChangeFeedError) -> Int64 {
        try types.number(of: ByteString(name))
    }

    /// The record type with a number.
    func type(_ number: Int64) throws(ChangeFeedError) -> String {
        guard let name = try types.value(number) else { throw RecordRows.damaged("its type has no name") }
        return name.string
    }

    private static func damaged(_ reason: String) -> ChangeFeedError {
        ChangeFeedError(
            .internalError,
            "A stored record is damaged: \(reason). Put back a backup, or save or delete the record.", detail: .damaged)
    }
}

// MARK: - Reading

extension RecordRows {
    /// The entry of a row of which the columns begin at `column`.
    @inline(__always)
    func entry(
        from row: SQLiteStatement, at column: Int32, zoneID: RecordZone.ID
    ) throws(ChangeFeedError) -> RecordEntry {
        do throws(ChangeFeedError) {
            return .live(try version(from: row, at: column, zoneID: zoneID))
        } catch {
            // What cannot be read at the moment is not damaged for that, and a page must not pass it by.
            guard error.detail == .damaged else { throw error }
            let position = ChangePosition(low: UInt64(Layout.position(ofID: row.int64(column))))
            let recordID = Record.ID(recordName: row.text(column + 1), zoneID: zoneID)
            return .unreadable(
                recordID, position,
                ChangeFeedError(error.code, error.message, recordID: recordID, detail: error.detail))
        }
    }

    private func version(
        from row: SQLiteStatement, at column: Int32, zoneID: RecordZone.ID
    ) throws(ChangeFeedError) -> RecordVersion {
        let name = row.bytes(column + 1)
        let fields = row.bytes(column + 9)
        let parent = row.optionalBlob(column + 10)
        let sealed = row.optionalBlob(column + 11)
        let hasOwnDate = !row.isNull(column + 6)
        let modified = row.exactDouble(column + 7)
        let shapeNumber = row.optionalInt64(column + 8)
        let numbers = RowNumbers(
            id: row.int64(column), type: row.int64(column + 2), nonce: row.int64(column + 3),
            creator: row.int64(column + 4), modifier: row.int64(column + 5),
            created: hasOwnDate ? row.exactDouble(column + 6) : nil, modified: modified, shape: shapeNumber)
        guard numbers.checksum(name: name, fields: fields, parent: parent, sealed: sealed) == row.int64(column + 12)
        else { throw RecordRows.damaged("it is not what was written") }
        guard let type = try types.value(numbers.type), let nonce = try nonces.value(numbers.nonce),
            let creator = try users.value(numbers.creator), let modifier = try users.value(numbers.modifier)
        else { throw RecordRows.damaged("it refers to what is not there") }
        let payload: Payload
        if let shapeNumber {
            guard let stored = try shapes.value(shapeNumber) else { throw RecordRows.damaged("its keys are not there") }
            payload = Payload(shape: stored.shape, values: [UInt8](fields), mayLink: stored.mayLink)
        } else {
            payload = try Payload(encoded: fields)
        }
        let position = ChangePosition(low: UInt64(Layout.position(ofID: numbers.id)))
        return RecordVersion(
            recordID: Record.ID(recordName: String(decoding: name, as: UTF8.self), zoneID: zoneID),
            recordType: type.string,
            system: RecordSystemFields(
                changeTag: RecordChangeTag(epoch: nonce.value, position: position),
                creationDate: Date(timeIntervalSinceReferenceDate: numbers.created ?? modified),
                modificationDate: Date(timeIntervalSinceReferenceDate: modified),
                creatorUserID: creator.string,
                lastModifiedUserID: modifier.string
            ),
            parent: try parent.map { (bytes) throws(ChangeFeedError) in try Record.Reference(encoded: bytes) },
            payload: payload,
            encryptedPayload: try sealed.map { (bytes) throws(ChangeFeedError) in try Payload(encoded: bytes) }
        )
    }
}

// MARK: - Writing

extension RecordRows {
    /// Runs the statement that inserts a row: its parameters are the columns, in the table's order.
    func insert(
        _ version: RecordVersion, id: Int64, with statement: SQLiteStatement
    ) throws(ChangeFeedError) {
        guard let system = version.system, let epoch = system.changeTag.epoch else {
            throw ChangeFeedError(
                .invalidArguments, "A version of \"\(version.recordID)\" without a tag of this store cannot be stored.",
                recordID: version.recordID, rule: "R8")
        }
        let created = system.creationDate.timeIntervalSinceReferenceDate
        let modified = system.modificationDate.timeIntervalSinceReferenceDate
        let shape = try shapeNumber(of: version.payload)
        let numbers = RowNumbers(
            id: id, type: try type(version.recordType), nonce: try nonces.number(of: Nonce(epoch)),
            creator: try users.number(of: ByteString(system.creatorUserID)),
            modifier: try users.number(of: ByteString(system.lastModifiedUserID)),
            created: created.bitPattern == modified.bitPattern ? nil : created, modified: modified, shape: shape)
        let parent = version.parent?.encoded
        let sealed = version.encryptedPayload?.encoded
        let values = shape == nil ? version.payload.encoded : version.payload.values
        var name = version.recordID.recordName
        let code = name.withUTF8 { name in
            values.withUnsafeBytes { fields in
                let checksum = numbers.checksum(
                    name: UnsafeRawBufferPointer(name), fields: fields, parent: parent, sealed: sealed)
                statement.bind(numbers.id, at: 1)
                statement.lend(text: name, at: 2)
                statement.bind(numbers.type, at: 3)
                statement.bind(numbers.nonce, at: 4)
                statement.bind(numbers.creator, at: 5)
                statement.bind(numbers.modifier, at: 6)
                statement.bind(exactly: numbers.created, at: 7)
                statement.bind(exactly: numbers.modified, at: 8)
                statement.bind(numbers.shape, at: 9)
                statement.lend(bytes: fields, at: 10)
                statement.bind(parent, at: 11)
                statement.bind(sealed, at: 12)
                statement.bind(checksum, at: 13)
                return statement.stepCode()
            }
        }
        try statement.finish(code)
    }

    /// The number of a payload's shape; nil where the payload carries its keys itself.
    private func shapeNumber(of payload: Payload) throws(ChangeFeedError) -> Int64? {
        try shapes.number(of: StoredShape(of: payload), unlessPast: StoredShape.bound)
    }
}

/// The columns of a row that are numbers.
private struct RowNumbers {
    let id: Int64
    let type: Int64
    let nonce: Int64
    let creator: Int64
    let modifier: Int64
    let created: Double?
    let modified: Double
    let shape: Int64?

    /// 32 bits over all of a row.
    @inline(__always)
    func checksum(
        name: UnsafeRawBufferPointer, fields: UnsafeRawBufferPointer, parent: [UInt8]?, sealed: [UInt8]?
    ) -> Int64 {
        var hash = StableHash(seed: UInt64(bitPattern: id))
        hash.combine(UInt64(bitPattern: type << 32 ^ nonce))
        hash.combine(UInt64(bitPattern: creator << 32 ^ modifier))
        hash.combine(modified.bitPattern)
        // Adding what is not there would cost every row for the few that have it.
        if let created { hash.combine(created.bitPattern) }
        hash.combine(UInt64(bitPattern: shape ?? -1))
        hash.combine(name)
        hash.combine(fields)
        if let parent { parent.withUnsafeBytes { hash.combine($0) } }
        if let sealed { sealed.withUnsafeBytes { hash.combine($0) } }
        return Int64(Int32(truncatingIfNeeded: Int64(bitPattern: hash.value)))
    }
}
