/// What an ``InMemoryStore`` holds, and the transactions on it. Used under the store's lock only.
final class MemoryState {
    let storeID: StoreID
    private(set) var epochs: [Epoch]
    /// The one counter of positions.
    private var counter: UInt64
    private var databases: [DatabaseID: MemoryDatabase]
    /// By the number of their handle; nil where that life of the zone is over.
    private var zones: [MemoryZone?]
    /// How to take back what the open transaction has done, in the order in which it was done.
    private var undo: [UndoStep] = []
    /// The indices that the open transaction has taken entries out of.
    private var touched: [ObjectIdentifier: MemoryZone] = [:]
    private var touchedDatabases: [DatabaseID: MemoryDatabase] = [:]

    init(storeID: StoreID) {
        self.storeID = storeID
        epochs = []
        counter = 0
        databases = [:]
        zones = []
    }

    init(copying other: MemoryState) {
        storeID = other.storeID
        epochs = other.epochs
        counter = other.counter
        databases = other.databases.mapValues(MemoryDatabase.init(copying:))
        zones = other.zones.map { $0.map(MemoryZone.init(copying:)) }
    }
}

/// One database in memory: its zones by id, and by position of their latest event.
private final class MemoryDatabase {
    var rows: [RecordZone.ID: ZoneRow] = [:]
    var log = PositionLog<RecordZone.ID>()
    var horizon = ChangePosition.beginning

    init() {}

    init(copying other: MemoryDatabase) {
        rows = other.rows
        log = other.log
        horizon = other.horizon
    }
}

/// One life of a zone in memory: its entries by name, and by position, living and dead apart, so that a first read
/// does not pass old tombstones.
private final class MemoryZone {
    enum Entry {
        case live(RecordVersion)
        case tombstone(Tombstone)
    }

    var entries: [ByteString: Entry] = [:]
    var live = PositionLog<RecordVersion>()
    var tombstones = PositionLog<Tombstone>()

    init() {}

    init(copying other: MemoryZone) {
        entries = other.entries
        live = other.live
        tombstones = other.tombstones
    }

    /// Puts an entry in the place of the name's earlier one, which is returned.
    func put(_ entry: Entry, name: ByteString) -> Entry? {
        let previous = entries.updateValue(entry, forKey: name)
        switch previous {
        case .live(let version): live.remove(at: version.position.low)
        case .tombstone(let tombstone): tombstones.remove(at: tombstone.position.low)
        case nil: break
        }
        switch entry {
        case .live(let version): live.append(version, at: version.position.low)
        case .tombstone(let tombstone): tombstones.append(tombstone, at: tombstone.position.low)
        }
        return previous
    }

    /// Takes back the latest ``put(_:name:)``.
    func undoPut(name: ByteString, previous: Entry?) {
        switch entries.updateOrRemove(previous, forKey: name) {
        case .live: live.removeLast()
        case .tombstone: tombstones.removeLast()
        case nil: break
        }
        switch previous {
        case .live(let version): live.restore(version, at: version.position.low)
        case .tombstone(let tombstone): tombstones.restore(tombstone, at: tombstone.position.low)
        case nil: break
        }
    }
}

extension Dictionary {
    fileprivate mutating func updateOrRemove(_ value: Value?, forKey key: Key) -> Value? {
        if let value { updateValue(value, forKey: key) } else { removeValue(forKey: key) }
    }
}

private enum UndoStep {
    case counter(UInt64)
    case epoch
    case zoneKey
    case zoneRow(DatabaseID, RecordZone.ID, previous: ZoneRow?)
    case record(MemoryZone, ByteString, previous: MemoryZone.Entry?)
    case erased(Int, MemoryZone)
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
        var index = database.log.firstIndex(after: position.low)
        while let slot = database.log.next(from: index) {
            index = slot.index + 1
            guard let row = database.rows[slot.entry] else { continue }
            if try visit(row) == .stop { return }
        }
    }

    func horizon(of databaseID: DatabaseID) -> ChangePosition {
        databases[databaseID]?.horizon ?? .beginning
    }

    func head(of databaseID: DatabaseID) -> ChangePosition {
        guard let database = databases[databaseID] else { return .beginning }
        return max(database.horizon, ChangePosition(low: database.log.lastPosition ?? 0))
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
        var live = zone.live.next(from: zone.live.firstIndex(after: position.low))
        var dead = zone.tombstones.next(from: zone.tombstones.firstIndex(after: tombstonesAfter.low))
        while true {
            if let next = live, dead.map({ next.position < $0.position }) ?? true {
                if try visit(.live(next.entry)) == .stop { return }
                live = zone.live.next(from: next.index + 1)
            } else if let next = dead {
                if try visit(.tombstone(next.entry)) == .stop { return }
                dead = zone.tombstones.next(from: next.index + 1)
            } else {
                return
            }
        }
    }

    private func memoryZone(_ key: ZoneKey) -> MemoryZone? {
        let index = Int(key.rawValue)
        return zones.indices.contains(index) ? zones[index] : nil
    }
}

// MARK: - Writing

extension MemoryState: StoreWriter {
    func allocatePosition() -> ChangePosition {
        if undo.isEmpty { undo.append(.counter(counter)) }
        counter += 1
        return ChangePosition(low: counter)
    }

    func beginEpoch(nonce: UInt64) {
        undo.append(.counter(counter))
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

    /// Ends the open transaction and keeps what it did.
    func commit() {
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
        while let step = undo.popLast() {
            switch step {
            case .counter(let counter): self.counter = counter
            case .epoch: epochs.removeLast()
            case .zoneKey: zones.removeLast()
            case .zoneRow(let databaseID, let zoneID, let previous):
                guard let database = databases[databaseID] else { continue }
                let undone = database.rows.updateOrRemove(previous, forKey: zoneID)
                if let undone, undone.position != previous?.position {
                    database.log.removeLast()
                    if let previous { database.log.restore(zoneID, at: previous.position.low) }
                }
            case .record(let zone, let name, let previous): zone.undoPut(name: name, previous: previous)
            case .erased(let index, let zone): zones[index] = zone
            }
        }
        touched.removeAll()
        touchedDatabases.removeAll()
    }
}
