import CSQLite
import ChangeFeed

/// How zones are written.
extension SQLiteWriter {
    func putZone(_ row: ZoneRow) throws(ChangeFeedError) {
        let database = try numberForWriting(of: row.databaseID)
        try run(statements.updateZone, row, database)
        if connection.changedRows > 0 { return }
        if let previous = try zone(row.zoneID, in: row.databaseID) {
            try eraseRecords(of: previous.key)
            statements.deleteZone.bind(previous.key.rawValue, at: 1)
            try statements.deleteZone.run()
        }
        try run(statements.insertZone, row, database)
    }

    private func run(_ statement: SQLiteStatement, _ row: ZoneRow, _ database: Int64) throws(ChangeFeedError) {
        statement.bind(row.key.rawValue, at: 1)
        statement.bind(database, at: 2)
        statement.bind(row.zoneID.zoneName, at: 3)
        statement.bind(row.zoneID.ownerName, at: 4)
        row.bindChanging(to: statement, from: 5)
        try statement.run()
    }

    private func numberForWriting(of databaseID: DatabaseID) throws(ChangeFeedError) -> Int64 {
        if let number = try number(of: databaseID) { return number }
        statements.insertDatabase.bind(databaseID.scope.rawValue, at: 1)
        statements.insertDatabase.bind(databaseID.userID, at: 2)
        guard try statements.insertDatabase.step() else { throw connection.failure(SQLITE_INTERNAL) }
        let number = statements.insertDatabase.int64(0)
        try statements.insertDatabase.finish()
        return number
    }

    func eraseRecords(of zone: ZoneKey) throws(ChangeFeedError) {
        for table in ["record", "tombstone"] {
            let select = try connection.prepare("SELECT id, name FROM \(table) WHERE id BETWEEN ?1 AND ?2")
            select.bind(zone.id(at: .beginning), at: 1)
            select.bind(zone.lastID, at: 2)
            while try select.step() { try eraseEntry(of: select.bytes(1), id: select.int64(0), in: zone) }
            let delete = try connection.prepare("DELETE FROM \(table) WHERE id BETWEEN ?1 AND ?2")
            delete.bind(zone.id(at: .beginning), at: 1)
            delete.bind(zone.lastID, at: 2)
            try delete.run()
        }
        statements.deleteLinks.bind(zone.rawValue, at: 1)
        try statements.deleteLinks.run()
        try countTombstones(of: zone, adding: -(try tombstoneCount(of: zone)))
        forgetPlaces()
    }

    private func eraseEntry(of name: UnsafeRawBufferPointer, id: Int64, in zone: ZoneKey) throws(ChangeFeedError) {
        let key = identity.names.indexKey(of: name, in: zone.rawValue)
        statements.selectEntry.bind(key, at: 1)
        statements.selectEntry.bind(id, at: 2)
        guard try statements.selectEntry.step() else { return }
        let number = statements.selectEntry.int64(0)
        statements.selectEntry.reset()
        try eraseEntry(number, key: key)
    }

    func eraseEntry(_ number: Int64, key: Int64) throws(ChangeFeedError) {
        statements.deleteName.bind(key, at: 1)
        statements.deleteName.bind(number, at: 2)
        try statements.deleteName.run()
        statements.deleteEntry.bind(number, at: 1)
        try statements.deleteEntry.run()
    }

    func discardZone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError) {
        guard let row = try zone(zoneID, in: databaseID), row.life != .live,
            let database = try number(of: databaseID)
        else { return }
        try eraseRecords(of: row.key)
        statements.deleteZone.bind(row.key.rawValue, at: 1)
        try statements.deleteZone.run()
        statements.raiseZoneHorizon.bind(database, at: 1)
        statements.raiseZoneHorizon.bind(row.position.column, at: 2)
        try statements.raiseZoneHorizon.run()
    }

    func raisePastDeletionHorizon(
        of databaseID: DatabaseID, to position: ChangePosition
    ) throws(ChangeFeedError) {
        guard let database = try number(of: databaseID) else { return }
        statements.raisePastDeletionHorizon.bind(database, at: 1)
        statements.raisePastDeletionHorizon.bind(position.column, at: 2)
        try statements.raisePastDeletionHorizon.run()
    }
}
