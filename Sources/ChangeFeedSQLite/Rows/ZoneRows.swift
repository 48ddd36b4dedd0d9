import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ZoneRow {
    /// The columns that ``init(from:in:)`` reads, in its order; but for the first three they can change.
    static let columns = """
        key, name, owner, position, incarnation, created, horizon, bytes, deleted, reason, past_position, past_deleted, \
        past_reason, marker
        """

    /// A zone from its row. Throws `internalError` (detail `damaged`) where a number is none that a store comes to.
    init(from row: SQLiteStatement, in databaseID: DatabaseID) throws(ChangeFeedError) {
        let positions = [3, 4, 6, 10].map { row.int64($0) }
        guard positions.allSatisfy({ 0...Layout.lastPosition ~= $0 }), 0...(Int.max / 2) ~= row.int(7) else {
            throw ChangeFeedError(
                .internalError, "The row of the zone \"\(row.text(1))\" is damaged: put back a backup.",
                detail: .damaged)
        }
        var pastDeletion: PastDeletion?
        if let position = row.optionalInt64(10) {
            pastDeletion = PastDeletion(
                position: ChangePosition(column: position), reason: .init(column: row.int64(12)),
                date: Date(timeIntervalSinceReferenceDate: row.exactDouble(11)))
        }
        self.init(
            databaseID: databaseID,
            zoneID: RecordZone.ID(zoneName: row.text(1), ownerName: row.text(2)),
            key: ZoneKey(rawValue: row.int64(0)),
            incarnation: ChangePosition(column: row.int64(4)),
            creationDate: Date(timeIntervalSinceReferenceDate: row.exactDouble(5)),
            pastDeletion: pastDeletion
        )
        position = ChangePosition(column: row.int64(3))
        horizon = ChangePosition(column: row.int64(6))
        byteCount = row.int(7)
        if let reason = row.optionalInt64(9) {
            life = .deleted(.init(column: reason), Date(timeIntervalSinceReferenceDate: row.exactDouble(8)))
        }
        clientChangeTokenData = row.optionalBlob(13).map { Data($0) }
    }

    /// Binds the columns from `position` on.
    func bindChanging(to statement: SQLiteStatement, from index: Int32) {
        statement.bind(position.column, at: index)
        statement.bind(incarnation.column, at: index + 1)
        statement.bind(exactly: creationDate.timeIntervalSinceReferenceDate, at: index + 2)
        statement.bind(horizon.column, at: index + 3)
        statement.bind(byteCount, at: index + 4)
        switch life {
        case .live:
            statement.bindNull(at: index + 5)
            statement.bindNull(at: index + 6)
        case .deleted(let reason, let date):
            statement.bind(exactly: date.timeIntervalSinceReferenceDate, at: index + 5)
            statement.bind(reason.rawValue, at: index + 6)
        }
        statement.bind(pastDeletion?.position.column, at: index + 7)
        statement.bind(exactly: pastDeletion?.date.timeIntervalSinceReferenceDate, at: index + 8)
        statement.bind(pastDeletion.map { Int64($0.reason.rawValue) }, at: index + 9)
        statement.bind(clientChangeTokenData.map { [UInt8]($0) }, at: index + 10)
    }
}

extension DatabaseChanges.Deletion.Reason {
    /// A reason from its column; a number that no version of this library wrote says only that the zone is gone.
    init(column: Int64) {
        self = .init(rawValue: Int(column)) ?? .deleted
    }
}

extension Tombstone {
    /// The columns that ``init(from:zoneID:rows:)`` reads, in its order.
    static let columns = "t.id, t.name, t.type, t.tag, t.reason, t.deleted"

    /// A tombstone from its row.
    convenience init(
        from row: SQLiteStatement, zoneID: RecordZone.ID, rows: RecordRows
    ) throws(ChangeFeedError) {
        self.init(
            recordID: Record.ID(recordName: row.text(1), zoneID: zoneID),
            recordType: try rows.type(row.int64(2)),
            position: ChangePosition(column: Layout.position(ofID: row.int64(0))),
            changeTag: row.optionalText(3).map { RecordChangeTag($0) },
            reason: .init(rawValue: row.int(4)) ?? .deleted,
            date: Date(timeIntervalSinceReferenceDate: row.exactDouble(5))
        )
    }

    /// Runs the statement that inserts the row: its parameters are the columns, in the table's order.
    func insert(id: Int64, with statement: SQLiteStatement, rows: RecordRows) throws(ChangeFeedError) {
        statement.bind(id, at: 1)
        statement.bind(recordID.recordName, at: 2)
        statement.bind(try rows.type(recordType), at: 3)
        statement.bind(changeTag?.text, at: 4)
        statement.bind(reason.rawValue, at: 5)
        statement.bind(exactly: date.timeIntervalSinceReferenceDate, at: 6)
        try statement.run()
    }
}
