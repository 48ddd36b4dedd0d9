/// The port that a storage fulfils: serialisable transactions over rows.
///
/// A store keeps zone rows, one entry for each record id of a zone (a version or a tombstone), links between records,
/// tables of small things, epochs and a position counter, and hands them back. It has no opinion: every rule of tags, policies, limits, coalescing and retention
/// stands above this port, once.
///
/// What a store promises:
/// - A transaction sees one state. Of two writes, one sees all the other did.
/// - A write whose body throws leaves nothing behind. One that returns is visible to every transaction that begins
///   afterwards, and as durable as the store says it is.
/// - Positions are allocated by a write, strictly increasing, and belong to it alone: no reader sees one while a
///   smaller one may still appear (rule 6.1.4).
/// - The body is synchronous and runs exactly once; the transaction must not be used after it has returned.
/// - What a store itself cannot do (a full disk, a damaged file) is thrown as a ``ChangeFeedError``.
public protocol ChangeStore: Sendable {
    /// Runs a body that reads one state of the store.
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result

    /// Runs a body that reads and writes, alone.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result
}

/// A store that can be put back to an earlier state.
public protocol SnapshottingStore: ChangeStore {
    /// The whole content at one moment.
    func snapshot() async throws(ChangeFeedError) -> any StoreSnapshot
    /// Puts the content back to what it was. Throws `invalidArguments` for the snapshot of another kind of store.
    func restore(_ snapshot: any StoreSnapshot) async throws(ChangeFeedError)
}

/// The whole content of a store at one moment; only the kind of store that took it knows what it holds.
public protocol StoreSnapshot: Sendable {}

/// What a transaction can read.
public protocol StoreReader: AnyObject {
    /// The store's name for life.
    var storeID: StoreID { get }
    /// All epochs, oldest first (rule 6.1.5).
    var epochs: [Epoch] { get throws(ChangeFeedError) }
    /// The highest position that was ever allocated and committed; within a write, its own included.
    var head: ChangePosition { get throws(ChangeFeedError) }

    /// The row of a zone, living or deleted.
    func zone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError) -> ZoneRow?
    /// Visits the zone rows of a database with a position after the given one, in ascending order of position.
    func scanZones(
        of databaseID: DatabaseID, after position: ChangePosition,
        _ visit: (ZoneRow) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError)
    /// Up to where a database's zone deletions were discarded (section 6.2).
    func horizons(of databaseID: DatabaseID) throws(ChangeFeedError) -> DatabaseHorizons
    /// The position of the latest event of a database, discarded tombstones included.
    func head(of databaseID: DatabaseID) throws(ChangeFeedError) -> ChangePosition
    /// All databases that have or had a zone, in any order.
    var databaseIDs: [DatabaseID] { get throws(ChangeFeedError) }

    /// The entry of a record name.
    func record(named name: String, in zone: ZoneKey) throws(ChangeFeedError) -> RecordEntry?
    /// Visits the entries of a zone with a position after the given one, in ascending order of position; tombstones
    /// only where their position is after `tombstonesAfter`, which is never the smaller of the two.
    ///
    /// The cost depends on what is visited, not on what is skipped.
    func scanRecords(
        of zone: ZoneKey, after position: ChangePosition, tombstonesAfter: ChangePosition,
        _ visit: (RecordEntry) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError)
    /// How many tombstones a zone has.
    func tombstoneCount(of zone: ZoneKey) throws(ChangeFeedError) -> Int
    /// Visits the tombstones of a zone in ascending order of position.
    func scanTombstones(
        of zone: ZoneKey, _ visit: (Tombstone) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError)

    /// How many records of a zone have a link of a kind to a record name.
    func linkCount(to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError) -> Int
    /// Visits the names of the records that have a link of a kind to a record name, in any order, which need not be the
    /// same the next time.
    func scanLinks(
        to target: String, kind: LinkKind, in zone: ZoneKey, _ visit: (String) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError)

    /// The value of a key of a table of small things.
    func metaValue(_ key: String, of table: MetaTable) throws(ChangeFeedError) -> [UInt8]?
    /// Visits the keys of a table that are not before `key`, in ascending order of their UTF-8 bytes.
    func scanMeta(
        of table: MetaTable, from key: String, _ visit: (String, [UInt8]) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError)
}

/// What a transaction can write.
public protocol StoreWriter: StoreReader {
    /// The next position: greater than all before.
    func allocatePosition() throws(ChangeFeedError) -> ChangePosition
    /// Begins an epoch with the next position that is allocated.
    func beginEpoch(nonce: UInt64) throws(ChangeFeedError)

    /// A point of this write to which ``rollBack(to:)`` can take it back.
    func savepoint() throws(ChangeFeedError) -> StoreSavepoint
    /// Takes back everything that the write has done since the point, allocated positions included.
    func rollBack(to savepoint: StoreSavepoint) throws(ChangeFeedError)

    /// A handle for a life of a zone that is being created.
    func allocateZoneKey() throws(ChangeFeedError) -> ZoneKey
    /// Stores a zone row in place of the one with the same database and zone id, if there is one. Where the handle
    /// is another, the records of the earlier life are gone.
    func putZone(_ row: ZoneRow) throws(ChangeFeedError)
    /// Removes all records, tombstones and links of a zone; the zone's row stays.
    func eraseRecords(of zone: ZoneKey) throws(ChangeFeedError)

    /// Stores a version or a tombstone in place of the entry with the same record name, if there is one. Entries are
    /// put in ascending order of position.
    func putRecord(_ entry: RecordEntry, in zone: ZoneKey) throws(ChangeFeedError)
    /// Removes the tombstone of a record name for good. The caller raises the zone's horizon.
    func discardTombstone(named name: String, in zone: ZoneKey) throws(ChangeFeedError)
    /// Removes the row of a deleted zone for good, and raises its database's horizon of tombstones to the row's position.
    func discardZone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError)
    /// Raises a database's horizon of past deletions; a lower position changes nothing.
    func raisePastDeletionHorizon(of databaseID: DatabaseID, to position: ChangePosition) throws(ChangeFeedError)

    /// Stores a link from one record name to another; one that is there already stays as it is.
    func putLink(from source: String, to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError)
    /// Removes a link; one that is not there is no error.
    func removeLink(from source: String, to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError)

    /// Stores the value of a key of a table of small things; nil removes the key.
    func setMetaValue(_ value: [UInt8]?, for key: String, of table: MetaTable) throws(ChangeFeedError)
}
