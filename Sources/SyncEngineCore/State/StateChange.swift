import ChangeFeed

/// One step of the engine's durable state. All that is ever written to a disk is a list of these: an increment is the
/// steps since the last one, and a full serialization is the steps that make the state out of nothing.
enum StateChange: Sendable, Equatable {
    /// Everything before is void.
    case startedOver

    // Whose it is
    case store(String)
    case account(String?)
    /// The present account's state is set aside under its user, and an empty one takes its place (section 6.9a).
    case accountParked
    /// The state of a user is taken up again; what was added meanwhile comes after what it had.
    case accountRestored(String)
    case parkedAccountDropped(String)
    /// The steps that follow are of the parked state of a user, until one without a user.
    case parkedSection(String?)

    // How far fetching has come
    case databaseToken(DatabaseChangeToken?)
    case needsDatabaseFetch(Bool)
    case databaseResyncBegan
    case databaseResyncSaw([RecordZone.ID])
    case databaseResyncEnded
    case zoneToken(RecordZone.ID, ZoneChangeToken?)
    case zoneDirty(RecordZone.ID, Bool)
    case zoneForgotten(RecordZone.ID)
    case resyncBegan(RecordZone.ID)
    case resyncSaw(RecordZone.ID, [String])
    case resyncLost(RecordZone.ID, [String])
    case resyncEnded(RecordZone.ID)
    case quarantined(SyncEngine.QuarantinedRecord)
    case unquarantined(Record.ID)
    case subscribed(String)

    // What is to be sent
    case recordAdded(Record.ID, Outbox<Record.ID>.Part)
    case recordDone(Record.ID, UInt64)
    /// The app has changed its mind; what is in flight is not touched.
    case recordTakenBack(Record.ID)
    /// The server turned out not to have the record of a pending save: it is to be sent even if nothing in it has changed.
    case recordMissing(Record.ID)
    case zoneTakenBack(RecordZone.ID)
    case zoneAdded(RecordZone.ID, Outbox<RecordZone.ID>.Part)
    case zoneDone(RecordZone.ID, UInt64)
    /// Pending changes of a zone are set aside, because the zone is gone (section 6.9).
    case zoneParked(RecordZone.ID)
    case parkedRecord(Record.ID, Outbox<Record.ID>.Part)
    case zoneUnparked(RecordZone.ID)
    case parkedZoneDropped(RecordZone.ID)
    case untracked(Bool)
}
