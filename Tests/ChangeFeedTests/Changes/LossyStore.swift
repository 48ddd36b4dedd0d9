import ChangeFeed

/// A store in which some records can no longer be read. Everything else is as in the store below.
final class LossyStore: ChangeStore {
    private let lost = Locked<Set<String>>([])
    private let base: any ChangeStore

    init(over base: any ChangeStore) {
        self.base = base
    }

    func loseContent(ofRecordsNamed names: Set<String>) {
        lost.withLock { $0 = names }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        let lost = lost.withLock { $0 }
        return try await base.read { store throws(ChangeFeedError) in
            try body(LossyReader(base: store, lost: lost))
        }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try await base.write(body)
    }
}

private final class LossyReader: StoreReader {
    private let base: any StoreReader
    private let lost: Set<String>

    init(base: any StoreReader, lost: Set<String>) {
        self.base = base
        self.lost = lost
    }

    private func seen(_ entry: RecordEntry) -> RecordEntry {
        guard case .live(let version) = entry, lost.contains(version.recordID.recordName) else { return entry }
        let error = ChangeFeedError(
            .internalError, "The stored record cannot be read.", recordID: version.recordID, detail: .damaged)
        return .unreadable(version.recordID, entry.position, error)
    }

    func record(named name: String, in zone: ZoneKey) throws(ChangeFeedError) -> RecordEntry? {
        try base.record(named: name, in: zone).map(seen)
    }

    func scanRecords(
        of zone: ZoneKey, after position: ChangePosition, tombstonesAfter: ChangePosition,
        _ visit: (RecordEntry) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try base.scanRecords(of: zone, after: position, tombstonesAfter: tombstonesAfter) {
            entry throws(ChangeFeedError) in try visit(seen(entry))
        }
    }

    var storeID: StoreID { base.storeID }
    var epochs: [Epoch] { get throws(ChangeFeedError) { try base.epochs } }
    var head: ChangePosition { get throws(ChangeFeedError) { try base.head } }
    var databaseIDs: [DatabaseID] { get throws(ChangeFeedError) { try base.databaseIDs } }

    func zone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError) -> ZoneRow? {
        try base.zone(zoneID, in: databaseID)
    }

    func scanZones(
        of databaseID: DatabaseID, after position: ChangePosition,
        _ visit: (ZoneRow) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try base.scanZones(of: databaseID, after: position, visit)
    }

    func horizons(of databaseID: DatabaseID) throws(ChangeFeedError) -> DatabaseHorizons {
        try base.horizons(of: databaseID)
    }

    func head(of databaseID: DatabaseID) throws(ChangeFeedError) -> ChangePosition {
        try base.head(of: databaseID)
    }

    func tombstoneCount(of zone: ZoneKey) throws(ChangeFeedError) -> Int {
        try base.tombstoneCount(of: zone)
    }

    func scanTombstones(
        of zone: ZoneKey, _ visit: (Tombstone) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try base.scanTombstones(of: zone, visit)
    }

    func linkCount(to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError) -> Int {
        try base.linkCount(to: target, kind: kind, in: zone)
    }

    func scanLinks(
        to target: String, kind: LinkKind, in zone: ZoneKey, _ visit: (String) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try base.scanLinks(to: target, kind: kind, in: zone, visit)
    }

    func metaValue(_ key: String, of table: MetaTable) throws(ChangeFeedError) -> [UInt8]? {
        try base.metaValue(key, of: table)
    }

    func scanMeta(
        of table: MetaTable, from key: String, _ visit: (String, [UInt8]) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try base.scanMeta(of: table, from: key, visit)
    }
}
