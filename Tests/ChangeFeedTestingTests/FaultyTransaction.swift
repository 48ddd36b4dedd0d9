import ChangeFeed

/// A transaction of a ``FaultyStore``: what reads do.
final class FaultyTransaction {
    let fault: Fault?
    let memory: Locked<FaultMemory>
    let reader: any StoreReader
    let optionalWriter: (any StoreWriter)?
    /// The last position that a write gave, where it gives positions twice.
    var lastPosition: ChangePosition?
    /// What is not taken back, where savepoints forget it.
    var kept: [Kept] = []
    /// The savepoint that was taken last.
    var latestSavepoint: StoreSavepoint?
    /// What is done in a transaction of its own later, where writes are torn.
    var torn: [Kept] = []
    /// How many positions were allocated.
    var allocated = 0
    private var isScanning = false
    private lazy var headBefore = try? reader.head

    enum Kept {
        case link(source: String, target: String, LinkKind, ZoneKey)
        case removedLink(source: String, target: String, LinkKind, ZoneKey)
        case meta([UInt8]?, key: String, MetaTable)
        case epoch(UInt64)
        case horizon(DatabaseID, ChangePosition)
    }

    init(_ fault: Fault?, reader: any StoreReader, writer: (any StoreWriter)?, memory: Locked<FaultMemory>) {
        self.fault = fault
        self.reader = reader
        self.memory = memory
        optionalWriter = writer
        _ = headBefore
    }

    private func gather<Row>(
        _ scan: ((Row) throws(ChangeFeedError) -> ScanStep) throws(ChangeFeedError) -> Void
    ) throws(ChangeFeedError) -> [Row] {
        var rows: [Row] = []
        try scan { (row) in
            rows.append(row)
            return .next
        }
        return rows
    }

    private func known(_ zone: ZoneKey) throws(ChangeFeedError) {
        if fault == .refusesUnknownKeys, !(0..<1000).contains(zone.rawValue) {
            throw ChangeFeedError(.internalError, "There is no such zone.")
        }
    }
}

extension FaultyTransaction: StoreReader {
    var storeID: StoreID {
        guard fault == .changesItsIdentity, optionalWriter != nil else { return reader.storeID }
        return StoreID(high: reader.storeID.high, low: ~reader.storeID.low)
    }

    var epochs: [Epoch] {
        get throws(ChangeFeedError) {
            let epochs = try reader.epochs
            if fault == .startsEpochsLate {
                return epochs.map {
                    Epoch(nonce: $0.nonce, firstPosition: ChangePosition(low: $0.firstPosition.low + 1))
                }
            }
            return fault == .reversesEpochs ? epochs.reversed() : epochs
        }
    }

    var head: ChangePosition {
        get throws(ChangeFeedError) {
            let head = try reader.head
            return fault == .headLags && head.low > 0 ? ChangePosition(low: head.low - 1) : head
        }
    }

    var databaseIDs: [DatabaseID] {
        get throws(ChangeFeedError) {
            let databaseIDs = try reader.databaseIDs
            guard fault == .listsDatabasesThatWereTakenBack else { return databaseIDs }
            return databaseIDs + memory.withLock { $0.databases.filter { !databaseIDs.contains($0) } }
        }
    }

    func zone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError) -> ZoneRow? {
        try reader.zone(zoneID, in: databaseID).map(shown)
    }

    func scanZones(
        of databaseID: DatabaseID, after position: ChangePosition,
        _ visit: (ZoneRow) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        let isEarly = fault == .beginsZonesTooEarly && position.low > 0
        let start = isEarly ? ChangePosition(low: position.low - 1) : position
        var rows: [ZoneRow] = []
        for other in fault == .mixesDatabases ? try reader.databaseIDs : [databaseID] {
            rows += try gather { (visit) throws(ChangeFeedError) in
                try reader.scanZones(of: other, after: start, visit)
            }
        }
        for row in fault == .reversesZones ? rows.reversed() : rows {
            do throws(ChangeFeedError) {
                if try visit(shown(row)) == .stop, fault != .neverStopsZones { return }
            } catch {
                if fault != .swallowsErrorsOfZoneVisitors { throw error }
            }
        }
    }

    func horizons(of databaseID: DatabaseID) throws(ChangeFeedError) -> DatabaseHorizons {
        var horizons = try reader.horizons(of: databaseID)
        if fault == .forgetsHorizons { horizons.tombstones = .beginning }
        if fault == .lowersHorizons, let lowered = memory.withLock({ $0.lowered[databaseID] }) {
            horizons.pastDeletions = lowered
        }
        return horizons
    }

    func head(of databaseID: DatabaseID) throws(ChangeFeedError) -> ChangePosition {
        guard fault == .forgetsDiscardedHeads else { return try reader.head(of: databaseID) }
        let rows = try gather { (visit) throws(ChangeFeedError) in
            try reader.scanZones(of: databaseID, after: .beginning, visit)
        }
        return rows.last?.position ?? .beginning
    }

    func record(named name: String, in zone: ZoneKey) throws(ChangeFeedError) -> RecordEntry? {
        try known(zone)
        return try reader.record(named: stored(name), in: zone)
    }

    func scanRecords(
        of zone: ZoneKey, after position: ChangePosition, tombstonesAfter: ChangePosition,
        _ visit: (RecordEntry) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try known(zone)
        let isEarly = fault == .beginsRecordsTooEarly && position.low > 0
        let start = isEarly ? ChangePosition(low: position.low - 1) : position
        let bound = fault == .showsOldTombstones ? start : tombstonesAfter
        var entries = try gather { (visit) throws(ChangeFeedError) in
            try reader.scanRecords(of: zone, after: start, tombstonesAfter: bound, visit)
        }
        entries += memory.withLock { $0.earlierLives[zone] ?? [] }
        if fault == .scansOneAtATime, isScanning { return }
        isScanning = true
        defer { isScanning = false }
        if fault == .scansTheStateBeforeTheWrite, let headBefore {
            entries = entries.filter { $0.position <= headBefore }
        }
        if fault == .showsEarlierPositionsLater, optionalWriter == nil { entries = lateEntries(entries) }
        if fault == .appendsTombstones { entries = entries.filter(\.isLive) + entries.filter { !$0.isLive } }
        for entry in entries {
            do throws(ChangeFeedError) {
                if try visit(entry) == .stop, fault != .neverStopsRecords { return }
            } catch {
                if fault != .swallowsErrors { throw error }
            }
        }
    }

    func tombstoneCount(of zone: ZoneKey) throws(ChangeFeedError) -> Int {
        try known(zone)
        if fault == .countsTombstonesForEver { return memory.withLock { $0.tombstones } }
        return try reader.tombstoneCount(of: zone)
    }

    func scanTombstones(
        of zone: ZoneKey, _ visit: (Tombstone) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try known(zone)
        try reader.scanTombstones(of: zone, visit)
    }

    func linkCount(to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError) -> Int {
        let count = try reader.linkCount(to: storedTarget(target), kind: kind, in: zone)
        return fault == .countsLinksTwice ? count + memory.withLock { $0.links } : count
    }

    func scanLinks(
        to target: String, kind: LinkKind, in zone: ZoneKey, _ visit: (String) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try reader.scanLinks(to: storedTarget(target), kind: stored(kind), in: zone, visit)
    }

    func metaValue(_ key: String, of table: MetaTable) throws(ChangeFeedError) -> [UInt8]? {
        let value = try reader.metaValue(key, of: stored(table))
        return fault == .takesEmptyForNone && value == [] ? nil : value
    }

    func scanMeta(
        of table: MetaTable, from key: String, _ visit: (String, [UInt8]) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        var rows: [(String, [UInt8])] = []
        try reader.scanMeta(of: stored(table), from: key) {
            if fault != .beginsMetaTooLate || key.isEmpty || $0.utf8.elementsEqual(key.utf8) == false {
                rows.append(($0, $1))
            }
            return .next
        }
        for row in fault == .reversesMeta ? rows.reversed() : rows {
            if try visit(row.0, row.1) == .stop, fault != .neverStopsMeta { return }
        }
    }
}

// MARK: - What is shown instead of what is stored

extension FaultyTransaction {
    private func shown(_ row: ZoneRow) -> ZoneRow {
        var row = row
        if fault == .takesEmptyMarkersForNone, row.clientChangeTokenData?.isEmpty == true {
            row.clientChangeTokenData = nil
        }
        if fault == .losesSignsOfZeroInZones, case .deleted(let reason, let date) = row.life {
            row.life = .deleted(reason, date.addingTimeInterval(0))
        }
        return row
    }

    /// Of two entries in a row the first is hidden until the second has been seen.
    private func lateEntries(_ entries: [RecordEntry]) -> [RecordEntry] {
        memory.withLock { memory in
            guard let last = entries.last, memory.seen.insert(last.position).inserted else { return entries }
            return entries.filter { $0.position.low != last.position.low - 1 }
        }
    }
}

extension RecordEntry {
    fileprivate var isLive: Bool {
        if case .live = self { true } else { false }
    }
}
