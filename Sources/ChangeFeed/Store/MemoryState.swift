/// What an ``InMemoryStore`` holds, and the transactions on it. Used under the store's lock only.
final class MemoryState {
    let storeID: StoreID
    private(set) var epochs: [Epoch]
    /// The one counter of positions.
    private var counter: UInt64
    /// The counter when the latest transaction was committed.
    private var committedCounter: UInt64
    private var databases: [DatabaseID: MemoryDatabase]
    /// By the number of their handle; nil where that life of the zone is over.
    private var zones: [MemoryZone?]
    private var meta: [MetaTable: MemoryMetaTable]
    /// How to take back what the open transaction has done, in the order in which it was done.
    private var undo: [UndoStep] = []
    /// The indices that the open transaction has taken entries out of.
    private var touched: [ObjectIdentifier: MemoryZone] = [:]
    private var touchedDatabases: [DatabaseID: MemoryDatabase] = [:]

    init(storeID: StoreID) {
        self.storeID = storeID
        epochs = []
        counter = 0
        committedCounter = 0
        databases = [:]
        zones = []
        meta = [:]
    }

    init(copying other: MemoryState) {
        storeID = other.storeID
        epochs = other.epochs
        counter = other.committedCounter
        committedCounter = other.committedCounter
        databases = other.databases.mapValues(MemoryDatabase.init(copying:))
        zones = other.zones.map { $0.map(MemoryZone.init(copying:)) }
        meta = other.meta
    }
}

/// How to take back one step of a transaction. A large one makes many, so what is large stands apart.
private enum UndoStep {
    case epoch
    case zoneKey
    indirect case zoneRow(DatabaseID, RecordZone.ID, previous: ZoneRow?)
    case record(MemoryZone, ByteString, previous: MemoryZone.Entry?)
    case erased(Int, MemoryZone)
    case discarded(MemoryZone, Tombstone)
    indirect case discardedZone(ZoneRow)
    indirect case horizons(MemoryDatabase, DatabaseHorizons)
    case linked(MemoryZone, from: ByteString, to: ByteString, LinkKind)
    case unlinked(MemoryZone, from: ByteString, to: ByteString, LinkKind)
    indirect case meta(MetaTable, String, previous: [UInt8]?)
}

// MARK: - Reading

extension MemoryState: StoreReader {
    var head: ChangePosition { ChangePosition(low: counter) }

    func zone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) -> ZoneRow? {
        databases[databaseID]?.rows[zoneID]
    }

    func scanZones(
        of databaseID: DatabaseID, after position: ChangePosition,
        _ visit: (ZoneRow) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let database = databases[databaseID] else { return }
        var place = database.log.place(after: position.low)
        while let slot = database.log.next(from: &place) {
            guard let row = database.rows[slot.entry] else { continue }
            if try visit(row) == .stop { return }
        }
    }

    func horizons(of databaseID: DatabaseID) -> DatabaseHorizons {
        databases[databaseID]?.horizons ?? DatabaseHorizons()
    }

    func head(of databaseID: DatabaseID) -> ChangePosition {
        guard let database = databases[databaseID] else { return .beginning }
        return max(database.horizons.tombstones, ChangePosition(low: database.log.lastPosition ?? 0))
    }

    func record(named name: String, in zone: ZoneKey) -> RecordEntry? {
        switch memoryZone(zone)?.entries[ByteString(name)] {
        case .live(let version): .live(version)
        case .tombstone(let tombstone): .tombstone(tombstone)
        case nil: nil
        }
    }

    func scanRecords(
        of zone: ZoneKey, after position: ChangePosition, tombstonesAfter: ChangePosition,
        _ visit: (RecordEntry) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let zone = memoryZone(zone) else { return }
        var livePlace = zone.live.place(after: position.low)
        var deadPlace = zone.tombstones.place(after: tombstonesAfter.low)
        var live = zone.live.next(from: &livePlace)
        var dead = zone.tombstones.next(from: &deadPlace)
        while true {
            if let next = live, dead.map({ next.position < $0.position }) ?? true {
                if try visit(.live(next.entry)) == .stop { return }
                live = zone.live.next(from: &livePlace)
            } else if let next = dead {
                if try visit(.tombstone(next.entry)) == .stop { return }
                dead = zone.tombstones.next(from: &deadPlace)
            } else {
                return
            }
        }
    }

    func tombstoneCount(of zone: ZoneKey) -> Int {
        memoryZone(zone)?.tombstones.count ?? 0
    }

    func scanTombstones(
        of zone: ZoneKey, _ visit: (Tombstone) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let zone = memoryZone(zone) else { return }
        var place = zone.tombstones.place(after: 0)
        while let slot = zone.tombstones.next(from: &place) {
            if try visit(slot.entry) == .stop { return }
        }
    }

    var databaseIDs: [DatabaseID] { Array(databases.keys) }

    func linkCount(to target: String, kind: LinkKind, in zone: ZoneKey) -> Int {
        memoryZone(zone)?.sources(of: ByteString(target), kind: kind)?.count ?? 0
    }

    func scanLinks(
        to target: String, kind: LinkKind, in zone: ZoneKey, _ visit: (String) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        guard let sources = memoryZone(zone)?.sources(of: ByteString(target), kind: kind) else { return }
        for source in sources where try visit(source.string) == .stop { return }
    }

    func metaValue(_ key: String, of table: MetaTable) -> [UInt8]? {
        meta[table]?[key]
    }

    func scanMeta(
        of table: MetaTable, from key: String, _ visit: (String, [UInt8]) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        meta[table]?.sortKeys()
        // A copy, so that the visitor may look into the table.
        try meta[table].map { (table) throws(ChangeFeedError) in try table.scan(from: key, visit) }
    }

    private func memoryZone(_ key: ZoneKey) -> MemoryZone? {
        let index = Int(key.rawValue)
        return zones.indices.contains(index) ? zones[index] : nil
    }
}

// MARK: - Writing

extension MemoryState: StoreWriter {
    func allocatePosition() -> ChangePosition {
        counter += 1
        return ChangePosition(low: counter)
    }

    func beginEpoch(nonce: UInt64) {
        undo.append(.epoch)
        epochs.append(Epoch(nonce: nonce, firstPosition: ChangePosition(low: counter + 1)))
    }

    func allocateZoneKey() -> ZoneKey {
        undo.append(.zoneKey)
        zones.append(MemoryZone())
        return ZoneKey(rawValue: Int64(zones.count - 1))
    }

    func putZone(_ row: ZoneRow) {
        let database = databases[row.databaseID] ?? MemoryDatabase()
        databases[row.databaseID] = database
        let previous = database.rows.updateValue(row, forKey: row.zoneID)
        undo.append(.zoneRow(row.databaseID, row.zoneID, previous: previous))
        if previous?.position != row.position {
            if let previous {
                database.log.remove(at: previous.position.low)
                touchedDatabases[row.databaseID] = database
            }
            database.log.append(row.zoneID, at: row.position.low)
        }
        if let previous, previous.key != row.key { eraseRecords(of: previous.key) }
    }

    func eraseRecords(of zone: ZoneKey) {
        let index = Int(zone.rawValue)
        guard let erased = memoryZone(zone) else { return }
        undo.append(.erased(index, erased))
        zones[index] = nil
    }

    func putRecord(_ entry: RecordEntry, in zone: ZoneKey) {
        guard let zone = memoryZone(zone) else { return }
        let name: ByteString
        let stored: MemoryZone.Entry
        switch entry {
        case .live(let version):
            name = ByteString(version.recordID.recordName)
            stored = .live(version)
        case .tombstone(let tombstone):
            name = ByteString(tombstone.recordID.recordName)
            stored = .tombstone(tombstone)
        case .unreadable:
            return
        }
        let previous = zone.put(stored, name: name)
        undo.append(.record(zone, name, previous: previous))
        if previous != nil { touched[ObjectIdentifier(zone)] = zone }
    }

    func discardTombstone(named name: String, in zone: ZoneKey) {
        guard let zone = memoryZone(zone), let tombstone = zone.discardTombstone(ByteString(name)) else { return }
        undo.append(.discarded(zone, tombstone))
        touched[ObjectIdentifier(zone)] = zone
    }

    func discardZone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) {
        guard let database = databases[databaseID], let row = database.rows[zoneID], row.life != .live else { return }
        eraseRecords(of: row.key)
        database.rows[zoneID] = nil
        database.log.remove(at: row.position.low)
        undo.append(.discardedZone(row))
        touchedDatabases[databaseID] = database
        undo.append(.horizons(database, database.horizons))
        database.horizons.tombstones = max(database.horizons.tombstones, row.position)
    }

    func raisePastDeletionHorizon(of databaseID: DatabaseID, to position: ChangePosition) {
        guard let database = databases[databaseID] else { return }
        undo.append(.horizons(database, database.horizons))
        database.horizons.pastDeletions = max(database.horizons.pastDeletions, position)
    }

    func putLink(from source: String, to target: String, kind: LinkKind, in zone: ZoneKey) {
        let (source, target) = (ByteString(source), ByteString(target))
        guard let zone = memoryZone(zone), zone.insertLink(from: source, to: target, kind: kind) else { return }
        undo.append(.linked(zone, from: source, to: target, kind))
    }

    func removeLink(from source: String, to target: String, kind: LinkKind, in zone: ZoneKey) {
        let (source, target) = (ByteString(source), ByteString(target))
        guard let zone = memoryZone(zone), zone.removeLink(from: source, to: target, kind: kind) else { return }
        undo.append(.unlinked(zone, from: source, to: target, kind))
    }

    func setMetaValue(_ value: [UInt8]?, for key: String, of table: MetaTable) {
        let previous = meta[table, default: MemoryMetaTable()].set(value, for: key)
        undo.append(.meta(table, key, previous: previous))
    }

    /// Ends the open transaction and keeps what it did.
    func commit() {
        committedCounter = counter
        undo.removeAll(keepingCapacity: undo.capacity <= 4096)
        if !touched.isEmpty {
            for zone in touched.values {
                zone.live.compact()
                zone.tombstones.compact()
            }
            touched.removeAll(keepingCapacity: true)
        }
        if !touchedDatabases.isEmpty {
            for database in touchedDatabases.values { database.log.compact() }
            touchedDatabases.removeAll(keepingCapacity: true)
        }
    }

    /// Ends the open transaction and takes back what it did.
    func rollBack() {
        rollBack(to: StoreSavepoint(mark: 0, position: ChangePosition(low: committedCounter)))
        touched.removeAll()
        touchedDatabases.removeAll()
    }

    func savepoint() -> StoreSavepoint {
        StoreSavepoint(mark: undo.count, position: ChangePosition(low: counter))
    }

    func rollBack(to savepoint: StoreSavepoint) {
        counter = savepoint.position.low
        while undo.count > savepoint.mark, let step = undo.popLast() {
            switch step {
            case .epoch: epochs.removeLast()
            case .zoneKey: zones.removeLast()
            case .zoneRow(let databaseID, let zoneID, let previous):
                guard let database = databases[databaseID] else { continue }
                let undone = database.rows.updateOrRemove(previous, forKey: zoneID)
                if let undone, undone.position != previous?.position {
                    database.log.removeLast()
                    if let previous { database.log.restore(zoneID, at: previous.position.low) }
                }
                // A database that never had a zone is not listed as one that has or had.
                if database.rows.isEmpty, database.horizons == DatabaseHorizons() { databases[databaseID] = nil }
            case .record(let zone, let name, let previous): zone.undoPut(name: name, previous: previous)
            case .erased(let index, let zone): zones[index] = zone
            case .discarded(let zone, let tombstone): zone.restore(tombstone)
            case .discardedZone(let row):
                databases[row.databaseID]?.rows[row.zoneID] = row
                databases[row.databaseID]?.log.restore(row.zoneID, at: row.position.low)
            case .horizons(let database, let horizons): database.horizons = horizons
            case .linked(let zone, let source, let target, let kind):
                _ = zone.removeLink(from: source, to: target, kind: kind)
            case .unlinked(let zone, let source, let target, let kind):
                _ = zone.insertLink(from: source, to: target, kind: kind)
            case .meta(let table, let key, let previous):
                _ = meta[table, default: MemoryMetaTable()].set(previous, for: key)
            }
        }
    }
}
