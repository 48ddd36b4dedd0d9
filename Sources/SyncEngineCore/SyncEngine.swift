import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps an app's records in step with a database: fetches what has changed, sends what is pending, and says why.
///
/// The vocabulary is that of CKSyncEngine. What differs is that fetches happen for reasons one can name: an explicit
/// fetch always asks the server, triggers come through ``receive(_:)`` and have one decision each, and ``journal`` tells
/// of everything that was done and why.
///
/// Making an engine delivers nothing. Several engines may serve one database. An engine that is released goes silent.
public final class SyncEngine: Sendable {
    private let core: EngineCore

    /// An engine that goes on from the state in the configuration.
    ///
    /// Throws ``SyncEngineError/Code/damagedState`` for a state that cannot be read.
    public init(_ configuration: Configuration) throws(SyncEngineError) {
        core = try EngineCore(configuration)
    }

    deinit {
        core.stop()
    }

    /// The database.
    public var database: any RecordDatabase { core.configuration.database }
    /// What the engine knows and has to do.
    public var state: State { State(core: core, delivery: nil) }
    /// What happened, and why.
    public var journal: Journal { core.journal }
    /// What the engine is doing, as far as it matters to a trigger.
    public var situation: Situation { core.withMachine(\.situation) }
    /// When the engine will next do something by itself; nil if it will not.
    public var nextWakeUp: Date? { core.nextWakeUp }

    /// Waits until nothing runs, waits or is due.
    package func waitUntilIdle() async { await core.waitUntilIdle() }

    // MARK: Fetching

    /// Fetches what has changed, and returns when the delegate has taken all of it (rule EO2).
    ///
    /// The server is always asked: for changes of the database, or, where the scope names zones, for changes of those
    /// whether they are known to have changed or not. A call joins a fetch that has not asked yet and covers it; else it
    /// waits for its turn, so that it sees everything that the server had when the call was made (section 6.8).
    ///
    /// Throws if the request for changes of the database failed, or the account could not be looked up, if the delegate
    /// refused a page of them, if the task was cancelled, or from within a handler. What came of each zone stands in
    /// the summary.
    @discardableResult
    public func fetchChanges(
        _ options: FetchChangesOptions = FetchChangesOptions()
    ) async throws(SyncEngineError) -> FetchOutcome {
        try core.refuseReentrantCall()
        var pass = PassQueue.Pass(number: core.nextPassNumber(), kind: .fetch, reason: .manual)
        pass.fetch = options
        if case .zoneIDs(let zoneIDs) = options.scope { pass.forcedZoneIDs = zoneIDs } else { pass.asksDatabase = true }
        return try outcome(of: await core.call(pass, named: "fetchChanges"))
    }

    /// Fetches the zones that are known to have something new, without asking the database which these are.
    @discardableResult
    public func fetchKnownDirtyZones() async throws(SyncEngineError) -> FetchOutcome {
        try core.refuseReentrantCall()
        let pass = PassQueue.Pass(number: core.nextPassNumber(), kind: .fetch, reason: .manual)
        return try outcome(of: await core.call(pass, named: "fetchKnownDirtyZones"))
    }

    /// Fetches the records in ``State/quarantinedRecords`` once more, by their ids: those that come are delivered as a
    /// page of their zone, and leave the quarantine when the handler has returned.
    @discardableResult
    public func fetchQuarantinedRecords() async throws(SyncEngineError) -> FetchOutcome {
        try core.refuseReentrantCall()
        var pass = PassQueue.Pass(number: core.nextPassNumber(), kind: .fetch, reason: .manual)
        pass.fetch.scope = .zoneIDs([])
        pass.retriesQuarantine = true
        return try outcome(of: await core.call(pass, named: "fetchQuarantinedRecords"))
    }

    private func outcome(of settlement: SyncStateMachine.Settlement) throws(SyncEngineError) -> FetchOutcome {
        switch settlement.result {
        case .fetched(let summary): return settlement.isJoined ? .joined(summary) : .fetched(summary)
        case .skipped(let reason): return .skipped(reason)
        case .failed(let error): throw error
        case .sent, .updated: return .skipped(.notDirty)
        }
    }

    // MARK: Sending

    /// Sends what is pending, and returns when the delegate has taken note of the results (rule EO2).
    ///
    /// All batches that do not depend on each other are tried. Then it throws one error if anything failed that is not
    /// repeated by itself: its ``SyncEngineError/outcome`` has everything. What the delegate adds again while it is
    /// told of a failure waits for the next send (rule SF2).
    @discardableResult
    public func sendChanges(
        _ options: SendChangesOptions = SendChangesOptions()
    ) async throws(SyncEngineError) -> SendOutcome {
        try core.refuseReentrantCall()
        var pass = PassQueue.Pass(number: core.nextPassNumber(), kind: .send, reason: .manual)
        pass.send = options
        let settlement = await core.call(pass, named: "sendChanges")
        switch settlement.result {
        case .sent(let outcome): return outcome
        case .skipped(let reason):
            var outcome = SendOutcome()
            outcome.skipped = reason
            return outcome
        case .failed(let error): throw error
        case .fetched, .updated: return SendOutcome()
        }
    }

    /// Adds pending changes, and returns once they are stored: by the ``StateStore``, or by the delegate, which gets a
    /// `stateUpdate` for it.
    ///
    /// Throws if they could not be stored; they are pending all the same.
    public func addDurably(
        pendingRecordZoneChanges records: [PendingRecordZoneChange] = [],
        pendingDatabaseChanges zones: [PendingDatabaseChange] = []
    ) async throws(SyncEngineError) {
        try core.refuseReentrantCall()
        core.add(records.map { ($0, nil) }, zones: zones, in: nil)
        if core.configuration.stateStore != nil { return try await core.persist() }
        let pass = PassQueue.Pass(number: core.nextPassNumber(), kind: .update, reason: .manual)
        if case .failed(let error) = await core.call(pass, named: "addDurably").result { throw error }
    }

    // MARK: Triggers

    /// Takes a reason to do something, and says what is done about it. Returns at once.
    @discardableResult
    public func receive(_ trigger: Trigger) -> Decision { core.receive(trigger) }

    // MARK: The end

    /// Cancels what runs and what waits; their callers get ``SyncEngineError/Code/cancelled`` at once. A request to
    /// save that is under way may still succeed, and is then reported (rule I10). Nothing is repeated by itself until
    /// the next trigger.
    public func cancelOperations() async throws(SyncEngineError) {
        try core.refuseReentrantCall()
        core.cancelAll()
    }

    /// Ends the engine: it makes no request and calls the delegate no more, and lets it go. An answer that comes later
    /// changes nothing.
    public func stop() async throws(SyncEngineError) {
        try core.refuseReentrantCall()
        core.stop()
    }
}
