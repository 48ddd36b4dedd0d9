import ChangeFeed

/// What the driver is to do next for a pass. It does it, and comes back with what happened.
enum PassAction: Sendable {
    /// Ask who is signed in; then `accountReceived`.
    case askAccount
    /// Save the subscription; then `subscribed`.
    case subscribe(SubscriptionModifyRequest)
    /// Ask the delegate for the options of a running fetch; then `optionsReceived`.
    case askOptions(SyncEngine.FetchChangesContext)
    /// Then `databasePageReceived`.
    case requestDatabaseChanges(DatabaseChangesRequest)
    /// Then `zonePageReceived`.
    case requestZoneChanges(ZoneChangesRequest)
    /// Then `recordsReceived`.
    case requestRecords(RecordsRequest)
    /// Then `zonesModified`.
    case modifyZones(RecordZoneModifyRequest)
    /// Ask the delegate for a batch; then `batchReceived`.
    case askBatch(SyncEngine.SendChangesContext.Content)
    /// Then `recordsModified`.
    case modifyRecords(RecordModifyRequest)
    /// Hand an event to the delegate; then `delivered`.
    case deliver(Delivery)
    /// The pass is over.
    case finish
    /// A late answer for a pass that is no more: do nothing.
    case none
}

/// An event for the delegate.
struct Delivery: Sendable {
    let name: String
    let event: @Sendable (SyncEngine.Checkpoint) -> SyncEngine.Event

    init(
        name: String, event: @escaping @Sendable (SyncEngine.Checkpoint) -> SyncEngine.Event,
        changes: [StateChange] = []
    ) {
        self.name = name
        self.event = event
        self.changes = changes
    }

    init(name: String, _ event: @escaping @Sendable (SyncEngine.Checkpoint) -> SyncEngine.Event) {
        self.init(name: name, event: event)
    }

    /// What the handler's return acknowledges. Not before does any of it become part of the state.
    var changes: [StateChange] = []
    /// The records of which the event shows the server's version.
    var shownRecordIDs: [Record.ID] = []
    /// The request that will be made after the handler has returned, which may be made meanwhile.
    var lookAhead: ZoneChangesRequest?
}

/// What a handler did.
struct Handled: Sendable {
    /// Records that it set aside.
    var quarantined: [SyncEngine.QuarantinedRecord] = []
    /// What it threw; nil if it returned.
    var failure: String?
}

/// What every part of the machine works on.
struct Basis: Sendable {
    /// An entry of the journal to be.
    struct Note: Sendable {
        let event: SyncEngine.JournalEntry.Event
        let pass: Int?
    }

    var log: StateLog
    let policy: SyncEngine.TriggerPolicy
    let limits: SyncEngine.BatchLimits
    let subscriptionID: String?
    var schedule = Schedule()
    /// Entries of the journal that have not been written down yet.
    var notes: [Note] = []
    /// The pass that runs.
    var pass: Int?
    /// Draws a number, for the ids of requests and for jitter.
    let randomness: @Sendable () -> UInt64
    /// The time since the engine was made, at the fact that is being dealt with.
    var now: Duration = .zero

    var session: DurableState.Session { log.state.session }
    var cursors: Cursors { log.state.session.cursors }

    /// The user whose state it is: every request is meant for him, and for nobody who has signed in since.
    var userID: String? { log.state.account }

    /// A request for records by id.
    func recordsRequest(_ recordIDs: [Record.ID]) -> RecordsRequest {
        var request = RecordsRequest(recordIDs: recordIDs)
        request.ifUser = userID
        return request
    }

    mutating func note(_ event: SyncEngine.JournalEntry.Event) {
        notes.append(Note(event: event, pass: event.belongsToPass ? pass : nil))
    }

    mutating func record(_ changes: [StateChange]) {
        for change in changes { log.record(change) }
    }

    /// Notes that a request failed in a way that is worth repeating.
    mutating func refused(
        _ error: ChangeFeedError, wants work: Schedule.Work, by refuser: Schedule.Refuser = .server
    ) {
        let delay = schedule.refused(
            error.retryAfter, wants: work, now: now, policy: policy, jitter: Double(randomness() >> 11) * 0x1p-53,
            by: refuser)
        note(.retryScheduled(delay: delay, floor: error.retryAfter, work: work.names))
    }
}

extension SyncEngine.JournalEntry.Event {
    /// Whether it is a part of the pass that runs when it happens, and does not merely happen then.
    fileprivate var belongsToPass: Bool {
        switch self {
        case .created, .stopped, .triggered, .called, .dropped, .pending, .persisted, .notPersisted: false
        default: true
        }
    }
}
