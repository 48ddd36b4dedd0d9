import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a record is: its entry says so.
struct RecordPlace {
    /// The number of the entry.
    let number: Int64
    /// The id of the record, or of the tombstone.
    let id: Int64
    let isLive: Bool
}

/// What a transaction on one connection reads. The connection and its statements outlive the transaction.
///
/// A read transaction is held open by the query of the row of state: it begins with its first step and ends when it is
/// reset, without a statement of its own for either.
class SQLiteReader: StoreReader {
    let connection: SQLiteConnection
    let identity: StoreIdentity
    let rows: RecordRows
    /// What the transaction knows of the store as a whole.
    private(set) final var state = StoreState()
    private final var epochList: [Epoch] = []
    private final var knownDatabases: [DatabaseID: Int64] = [:]
    private final var knownZoneIDs: [Int64: RecordZone.ID] = [:]

    private let selectState: SQLiteStatement
    private let selectEpochs: SQLiteStatement
    private let selectDatabase: SQLiteStatement
    private let selectDatabases: SQLiteStatement
    private let selectHorizons: SQLiteStatement
    private let selectDatabaseHead: SQLiteStatement
    private let selectZone: SQLiteStatement
    private let selectZoneID: SQLiteStatement
    private let selectName: SQLiteStatement
    private let selectTombstone: SQLiteStatement
    private let selectTombstoneCount: SQLiteStatement
    private let selectLinkCount: SQLiteStatement
    private let selectMeta: SQLiteStatement
    private let zoneScans: StatementPool
    private let recordScans: StatementPool
    private let tombstoneScans: StatementPool
    private let linkScans: StatementPool
    private let metaScans: StatementPool

    init(_ connection: SQLiteConnection, identity: StoreIdentity) throws(ChangeFeedError) {
        self.connection = connection
        self.identity = identity
        rows = try RecordRows(connection)
        selectState = try connection.prepare("SELECT \(StoreState.columns) FROM state")
        selectEpochs = try connection.prepare("SELECT nonce, first_position FROM epoch ORDER BY number")
        selectDatabase = try connection.prepare("SELECT id FROM \"database\" WHERE scope = ?1 AND user = ?2")
        selectDatabases = try connection.prepare("SELECT scope, user, id FROM \"database\"")
        selectHorizons = try connection.prepare(
            "SELECT zone_horizon, past_deletion_horizon FROM \"database\" WHERE id = ?1")
        selectDatabaseHead = try connection.prepare("SELECT max(position) FROM zone WHERE \"database\" = ?1")
        selectZone = try connection.prepare(
            "SELECT \(ZoneRow.columns) FROM zone WHERE \"database\" = ?1 AND name = ?2 AND owner = ?3")
        selectZoneID = try connection.prepare("SELECT name, owner FROM zone WHERE key = ?1")
        selectName = try connection.prepare(
            """
            SELECT n.entry, e.id, e.live, \(RecordRows.columns)
            FROM name n CROSS JOIN entry e ON e.number = n.entry LEFT JOIN record r ON r.id = e.id WHERE n.hash = ?1
            """)
        selectTombstone = try connection.prepare("SELECT \(Tombstone.columns) FROM tombstone t WHERE t.id = ?1")
        selectTombstoneCount = try connection.prepare("SELECT tombstones FROM zone WHERE key = ?1")
        selectLinkCount = try connection.prepare(
            "SELECT count(*) FROM link WHERE zone = ?1 AND kind = ?2 AND target = ?3")
        selectMeta = try connection.prepare("SELECT value FROM meta WHERE \"table\" = ?1 AND key = ?2")
        zoneScans = StatementPool(
            connection,
            "SELECT \(ZoneRow.columns) FROM zone WHERE \"database\" = ?1 AND position > ?2 ORDER BY position")
        recordScans = StatementPool(
            connection, "SELECT \(RecordRows.columns) FROM record r WHERE r.id > ?1 AND r.id <= ?2 ORDER BY r.id")
        tombstoneScans = StatementPool(
            connection, "SELECT \(Tombstone.columns) FROM tombstone t WHERE t.id > ?1 AND t.id <= ?2 ORDER BY t.id")
        linkScans = StatementPool(
            connection, "SELECT source FROM link WHERE zone = ?1 AND kind = ?2 AND target = ?3")
        metaScans = StatementPool(
            connection, "SELECT key, value FROM meta WHERE \"table\" = ?1 AND key >= ?2 ORDER BY key")
    }

    // MARK: The transaction

    /// Begins to read one state of the store.
    final func beginReading() throws(ChangeFeedError) {
        do throws(ChangeFeedError) {
            try loadState()
        } catch {
            endReading()
            throw error
        }
    }

    /// Ends what ``beginReading()`` began.
    final func endReading() {
        selectState.reset()
    }

    /// Reads the row of state, and leaves its query open.
    final func loadState() throws(ChangeFeedError) {
        guard try selectState.step() else {
            throw ChangeFeedError(
                .internalError, "The store \"\(connection.path)\" has lost its row of state. Put back a backup.",
                detail: .damaged)
        }
        let before = state
        state = try StoreState(from: selectState)
        if state.restores != before.restores { forget() }
        if state.epochs != epochList.count { try loadEpochs() }
    }

    private func loadEpochs() throws(ChangeFeedError) {
        var epochs: [Epoch] = []
        while try selectEpochs.step() {
            epochs.append(
                Epoch(
                    nonce: UInt64(bitPattern: selectEpochs.int64(0)),
                    firstPosition: ChangePosition(column: selectEpochs.int64(1))))
        }
        guard epochs.count == state.epochs else {
            throw StoreState.damaged("it has \(epochs.count) epochs and counts \(state.epochs)")
        }
        epochList = epochs
    }

    /// Forgets what rows said that may have been taken back.
    final func forget() {
        rows.forget()
        epochList = []
        knownDatabases = [:]
        knownZoneIDs = [:]
    }

    /// Changes what the transaction knows of the store as a whole.
    final func setState(_ state: StoreState, epochs: [Epoch]) {
        self.state = state
        epochList = epochs
    }

    // MARK: The store

    final var storeID: StoreID { identity.storeID }
    final var epochs: [Epoch] { epochList }
    final var head: ChangePosition { ChangePosition(low: UInt64(state.head)) }

    // MARK: Databases

    final var databaseIDs: [DatabaseID] {
        get throws(ChangeFeedError) {
            var databaseIDs: [DatabaseID] = []
            while try selectDatabases.step() {
                guard let scope = DatabaseScope(rawValue: selectDatabases.int(0)) else { continue }
                databaseIDs.append(DatabaseID(scope: scope, userID: selectDatabases.text(1)))
            }
            return databaseIDs
        }
    }

    /// The number of a database; nil if it has and had no zone.
    final func number(of databaseID: DatabaseID) throws(ChangeFeedError) -> Int64? {
        if let number = knownDatabases[databaseID] { return number }
        selectDatabase.bind(databaseID.scope.rawValue, at: 1)
        selectDatabase.bind(databaseID.userID, at: 2)
        guard try selectDatabase.step() else { return nil }
        let number = selectDatabase.int64(0)
        selectDatabase.reset()
        // A server may have any number of users.
        if knownDatabases.count >= 4096 { knownDatabases = [:] }
        knownDatabases[databaseID] = number
        return number
    }

    final func horizons(of databaseID: DatabaseID) throws(ChangeFeedError) -> DatabaseHorizons {
        var horizons = DatabaseHorizons()
        guard let number = try number(of: databaseID) else { return horizons }
        selectHorizons.bind(number, at: 1)
        guard try selectHorizons.step() else { return horizons }
        horizons.tombstones = ChangePosition(column: selectHorizons.int64(0))
        horizons.pastDeletions = ChangePosition(column: selectHorizons.int64(1))
        selectHorizons.reset()
        return horizons
    }

    final func head(of databaseID: DatabaseID) throws(ChangeFeedError) -> ChangePosition {
        guard let number = try number(of: databaseID) else { return .beginning }
        selectDatabaseHead.bind(number, at: 1)
        let latest = try selectDatabaseHead.step() ? ChangePosition(column: selectDatabaseHead.int64(0)) : .beginning
        selectDatabaseHead.reset()
        return max(latest, try horizons(of: databaseID).tombstones)
    }

    // MARK: Zones

    final func zone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError) -> ZoneRow? {
        guard let number = try number(of: databaseID) else { return nil }
        selectZone.bind(number, at: 1)
        selectZone.bind(zoneID.zoneName, at: 2)
        selectZone.bind(zoneID.ownerName, at: 3)
        guard try selectZone.step() else { return nil }
        defer { selectZone.reset() }
        return try ZoneRow(from: selectZone, in: databaseID)
    }

    final func scanZones(
        of databaseID: DatabaseID, after position: ChangePosition,
        _ visit: (ZoneRow) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let number = try number(of: databaseID) else { return }
        try zoneScans.withStatement { (scan) throws(ChangeFeedError) in
            scan.bind(number, at: 1)
            scan.bind(position.column, at: 2)
            while try scan.step() {
                if try visit(try ZoneRow(from: scan, in: databaseID)) == .stop { return }
            }
        }
    }

    /// The identity of a zone by its handle; nil if no zone has it.
    private func zoneID(of key: Int64) throws(ChangeFeedError) -> RecordZone.ID? {
        if let known = knownZoneIDs[key] { return known }
        selectZoneID.bind(key, at: 1)
        guard try selectZoneID.step() else { return nil }
        let zoneID = RecordZone.ID(zoneName: selectZoneID.text(0), ownerName: selectZoneID.text(1))
        selectZoneID.reset()
        if knownZoneIDs.count >= 4096 { knownZoneIDs = [:] }
        knownZoneIDs[key] = zoneID
        return zoneID
    }

    // MARK: Records

    func record(named name: String, in zone: ZoneKey) throws(ChangeFeedError) -> RecordEntry? {
        try find(name, key: indexKey(of: name, in: zone), in: zone)?.entry
    }

    /// Where a name stands in the index of names.
    @inline(__always)
    final func indexKey(of name: String, in zone: ZoneKey) -> Int64 {
        var name = name
        return name.withUTF8 { identity.names.indexKey(of: UnsafeRawBufferPointer($0), in: zone.rawValue) }
    }

    /// The entry of a name, and the row that it is.
    final func find(
        _ name: String, key: Int64, in zone: ZoneKey
    ) throws(ChangeFeedError) -> (place: RecordPlace, entry: RecordEntry)? {
        var name = name
        selectName.bind(key, at: 1)
        // In every case: a query that is left open takes no other parameters and holds its state of the store.
        defer { selectName.reset() }
        while try selectName.step() {
            let place = RecordPlace(
                number: selectName.int64(0), id: selectName.int64(1), isLive: selectName.int64(2) != 0)
            guard Layout.zone(ofID: place.id) == zone.rawValue, let zoneID = try zoneID(of: zone.rawValue)
            else { continue }
            let entry: RecordEntry
            if place.isLive {
                guard name.withUTF8({ sameBytes(UnsafeRawBufferPointer($0), selectName.bytes(4)) }) else { continue }
                entry = try rows.entry(from: selectName, at: 3, zoneID: zoneID)
            } else {
                guard let tombstone = try tombstone(place.id, zoneID: zoneID),
                    sameBytes(tombstone.recordID.recordName, name)
                else { continue }
                entry = .tombstone(tombstone)
            }
            return (place, entry)
        }
        return nil
    }

    private func tombstone(_ id: Int64, zoneID: RecordZone.ID) throws(ChangeFeedError) -> Tombstone? {
        selectTombstone.bind(id, at: 1)
        guard try selectTombstone.step() else { return nil }
        defer { selectTombstone.reset() }
        return try Tombstone(from: selectTombstone, zoneID: zoneID, rows: rows)
    }

    final func scanRecords(
        of zone: ZoneKey, after position: ChangePosition, tombstonesAfter: ChangePosition,
        _ visit: (RecordEntry) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let zoneID = try zoneID(of: zone.rawValue) else { return }
        try recordScans.withStatement { (live) throws(ChangeFeedError) in
            try tombstoneScans.withStatement { (dead) throws(ChangeFeedError) in
                live.bind(zone.id(at: position), at: 1)
                live.bind(zone.lastID, at: 2)
                dead.bind(zone.id(at: tombstonesAfter), at: 1)
                dead.bind(zone.lastID, at: 2)
                var hasLive = try live.step()
                var hasDead = try dead.step()
                while hasLive || hasDead {
                    let entry: RecordEntry
                    if hasLive, !hasDead || live.int64(0) < dead.int64(0) {
                        entry = try rows.entry(from: live, at: 0, zoneID: zoneID)
                        if try visit(entry) == .stop { return }
                        hasLive = try live.step()
                    } else {
                        entry = .tombstone(try Tombstone(from: dead, zoneID: zoneID, rows: rows))
                        if try visit(entry) == .stop { return }
                        hasDead = try dead.step()
                    }
                }
            }
        }
    }

    final func tombstoneCount(of zone: ZoneKey) throws(ChangeFeedError) -> Int {
        selectTombstoneCount.bind(zone.rawValue, at: 1)
        guard try selectTombstoneCount.step() else { return 0 }
        defer { selectTombstoneCount.reset() }
        return max(0, selectTombstoneCount.int(0))
    }

    final func scanTombstones(
        of zone: ZoneKey, _ visit: (Tombstone) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let zoneID = try zoneID(of: zone.rawValue) else { return }
        try tombstoneScans.withStatement { (dead) throws(ChangeFeedError) in
            dead.bind(zone.id(at: .beginning), at: 1)
            dead.bind(zone.lastID, at: 2)
            while try dead.step() {
                if try visit(try Tombstone(from: dead, zoneID: zoneID, rows: rows)) == .stop { return }
            }
        }
    }

    // MARK: Links

    final func linkCount(to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError) -> Int {
        selectLinkCount.bind(zone.rawValue, at: 1)
        selectLinkCount.bind(kind.rawValue, at: 2)
        selectLinkCount.bind(target, at: 3)
        guard try selectLinkCount.step() else { return 0 }
        defer { selectLinkCount.reset() }
        return selectLinkCount.int(0)
    }

    final func scanLinks(
        to target: String, kind: LinkKind, in zone: ZoneKey, _ visit: (String) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try linkScans.withStatement { (scan) throws(ChangeFeedError) in
            scan.bind(zone.rawValue, at: 1)
            scan.bind(kind.rawValue, at: 2)
            scan.bind(target, at: 3)
            while try scan.step() {
                if try visit(scan.text(0)) == .stop { return }
            }
        }
    }

    // MARK: Small things

    final func metaValue(_ key: String, of table: MetaTable) throws(ChangeFeedError) -> [UInt8]? {
        selectMeta.bind(table.rawValue, at: 1)
        selectMeta.bind(key, at: 2)
        guard try selectMeta.step() else { return nil }
        defer { selectMeta.reset() }
        return selectMeta.blob(0)
    }

    final func scanMeta(
        of table: MetaTable, from key: String, _ visit: (String, [UInt8]) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try metaScans.withStatement { (scan) throws(ChangeFeedError) in
            scan.bind(table.rawValue, at: 1)
            scan.bind(key, at: 2)
            while try scan.step() {
                if try visit(scan.text(0), scan.blob(1)) == .stop { return }
            }
        }
    }
}
