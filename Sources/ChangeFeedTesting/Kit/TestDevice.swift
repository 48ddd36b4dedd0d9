import ChangeFeed
import SyncEngineCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A device of a test: an engine, what an app would keep, and a delegate, in one.
///
/// What it keeps and the engine's state are stored together, in one step, as a good app does it: a crash is
/// ``disk`` given to another device.
public final class TestDevice: SyncEngineDelegate {
    /// What is done about a record that was changed here and on the server.
    public enum ConflictRule: Sendable {
        /// The server's record stays as it is.
        case serverWins
        /// What was changed here is set on the server's record.
        case clientWins
        /// A function makes the record to be saved from the server's.
        case merge(@Sendable (_ client: Record, _ server: Record, _ ancestor: Record?) -> Record)
        /// A mistake that apps make: the local record is sent again as it is.
        case ignored
    }

    /// What is done about a record that was changed here and deleted on the server.
    public enum DeletionRule: Sendable {
        /// It is deleted here too.
        case drop
        /// It is created again.
        case keep
    }

    /// What survives a crash.
    public struct Disk: Sendable {
        /// The engine's state.
        public var serialization: SyncEngine.State.Serialization?
        var local = LocalRecords()

        /// An empty disk.
        public init() {}

        /// The records of the user who is signed in, each as the server gave it with what was changed since.
        public var records: [Record.ID: Record] {
            get { local.records }
            set { local.records = newValue }
        }
    }

    /// What a handler is to do before it does what an app would; throwing refuses the event.
    public typealias Interception = @Sendable (SyncEngine.Event, SyncEngine.EventContext) async throws -> Void

    private struct Content {
        var disk: Disk
        /// What the app has in memory: what a handler has changed, before it is stored.
        var local: LocalRecords
        var engine: SyncEngine?
        var rules = LocalRecords.Rules()
        var interception: Interception?
        var completion: Interception?
        var provider: (@Sendable (Record.ID) async -> SyncEngine.ProvidedRecord)?
        var batches: (@Sendable (SyncEngine.SendChangesContext) async -> SyncEngine.RecordZoneChangeBatch?)?
        var options: (@Sendable (SyncEngine.FetchChangesContext) async -> SyncEngine.FetchChangesOptions)?
        var delivered: [Record.ID: Int] = [:]
    }

    /// The device's name.
    public let name: String
    /// The database, in which requests can be made to fail.
    public let database: FaultyDatabase
    /// What the engine has told.
    public let recorder = EventRecorder()
    private let content: Locked<Content>

    /// A device over a database that goes on from a disk.
    /// `configure` may change the engine's configuration before the engine is made.
    public init(
        _ name: String, database: any RecordDatabase, disk: Disk = Disk(), clock: ManualClock,
        policy: SyncEngine.TriggerPolicy = .manual,
        configure: (inout SyncEngine.Configuration) -> Void = { _ in }
    ) throws(SyncEngineError) {
        self.name = name
        self.database = (database as? FaultyDatabase) ?? FaultyDatabase(database)
        content = Locked(Content(disk: disk, local: disk.local))
        var configuration = SyncEngine.Configuration(
            database: self.database, stateSerialization: disk.serialization, delegate: self, policy: policy)
        configuration.clock = clock
        configuration.now = { clock.date }
        var seed = clock.nextDeviceNumber() << 32
        for byte in name.utf8 { seed = seed &* 31 &+ UInt64(byte) }
        let numbers = SeededNumbers(seed: seed)
        configuration.randomness = { numbers.next() }
        configure(&configuration)
        let engine = try SyncEngine(configuration)
        content.withLock { $0.engine = engine }
    }

    /// The engine.
    public var engine: SyncEngine {
        content.withLock { content in
            guard let engine = content.engine else { preconditionFailure("the device has crashed") }
            return engine
        }
    }

    /// What would survive a crash now.
    public var disk: Disk { content.withLock { $0.disk } }
    /// The records that the device has.
    public var records: [Record.ID: Record] { content.withLock { $0.local.records } }
    /// The user whose records the device has; nil before anybody has signed in, and after a sign-out.
    public var userID: String? { content.withLock { $0.local.userID } }
    /// How many times a record was delivered by a fetch.
    public var deliveredCount: Int { content.withLock { $0.delivered.values.reduce(0, +) } }
    /// Forgets what was delivered.
    public func resetDelivered() { content.withLock { $0.delivered = [:] } }

    /// What is done about conflicts.
    public var conflictRule: ConflictRule {
        get { rules.conflicts }
        set { rules.conflicts = newValue }
    }

    /// What is done about records that were changed here and deleted elsewhere.
    public var deletionRule: DeletionRule {
        get { rules.deletions }
        set { rules.deletions = newValue }
    }

    /// Whether a zone that is missing is created again when a record is to be saved in it.
    public var recreatesZones: Bool {
        get { rules.recreatesZones }
        set { rules.recreatesZones = newValue }
    }

    /// Whether the records of a zone are saved anew when it went because encrypted data was reset (case B71).
    public var uploadsAgainAfterReset: Bool {
        get { rules.uploadsAgainAfterReset }
        set { rules.uploadsAgainAfterReset = newValue }
    }

    var rules: LocalRecords.Rules {
        get { content.withLock { $0.rules } }
        set { content.withLock { $0.rules = newValue } }
    }

    /// What a handler does first; nil for nothing.
    public func intercept(_ interception: Interception?) { content.withLock { $0.interception = interception } }
    /// What a handler does last, when everything is stored; nil for nothing.
    public func complete(_ completion: Interception?) { content.withLock { $0.completion = completion } }
    /// What is said of records that are to be saved; nil for what the device has.
    public func provide(_ provider: (@Sendable (Record.ID) async -> SyncEngine.ProvidedRecord)?) {
        content.withLock { $0.provider = provider }
    }
    /// How batches are made; nil for the usual way.
    public func makeBatches(
        _ batches: (@Sendable (SyncEngine.SendChangesContext) async -> SyncEngine.RecordZoneChangeBatch?)?
    ) {
        content.withLock { $0.batches = batches }
    }
    /// What a running fetch is to ask for; nil for what it was started with.
    public func chooseOptions(
        _ options: (@Sendable (SyncEngine.FetchChangesContext) async -> SyncEngine.FetchChangesOptions)?
    ) {
        content.withLock { $0.options = options }
    }

    /// Ends the device as a crash does: the engine goes silent, and what is not on the disk is lost.
    public func crash() async {
        let engine = content.withLock { content in
            defer { content.engine = nil }
            return content.engine
        }
        try? await engine?.stop()
    }

    // MARK: What a user does

    /// Creates or changes a record, and adds it to what is to be sent.
    public func save(_ recordID: Record.ID, type: String = "Note", _ edit: (inout Record) -> Void = { _ in }) {
        save([recordID], type: type, edit)
    }

    /// Creates or changes records, and adds them to what is to be sent in one step.
    public func save(_ recordIDs: [Record.ID], type: String = "Note", _ edit: (inout Record) -> Void = { _ in }) {
        content.withLock { content in
            for recordID in recordIDs {
                content.local.edit(recordID, type: type, edit)
                content.disk.local.edit(recordID, type: type) { $0 = content.local.records[recordID] ?? $0 }
            }
        }
        engine.state.add(pendingRecordZoneChanges: recordIDs.map { .saveRecord($0) })
    }

    /// Deletes a record, in the version that the device has.
    public func delete(_ recordID: Record.ID) {
        let tag = content.withLock { content in
            _ = content.disk.local.delete(recordID)
            return content.local.delete(recordID)
        }
        engine.state.addDeletion(of: recordID, recordChangeTag: tag)
    }

    /// Adds the deletion of a zone to what is to be sent. What is in it goes when the server has done it.
    public func deleteZone(_ zoneID: RecordZone.ID) {
        engine.state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
    }

    /// Adds everything to what is to be sent that the server may not have: what an app does after a launch, for an
    /// addition may have been lost in a crash (rule ST3).
    public func addUnsentChanges() {
        let (local, engine) = content.withLock { ($0.local, $0.engine) }
        // What belongs to somebody else is added when the account change is told.
        guard let engine, local.userID == engine.state.accountUserID else { return }
        carryOut(local.unsent, engine.state)
    }

    /// Adds a zone to what is to be sent.
    public func saveZone(_ zoneID: RecordZone.ID) {
        engine.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: zoneID))])
    }

    // MARK: The delegate

    /// Takes an event as an app would.
    public func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async throws {
        recorder.record(event)
        let (interception, completion) = content.withLock { ($0.interception, $0.completion) }
        if let interception { try await interception(event, context) }
        take(event, context)
        if let completion { try await completion(event, context) }
    }

    private func take(_ event: SyncEngine.Event, _ context: SyncEngine.EventContext) {
        switch event {
        case .stateUpdate(let update): store(update.checkpoint, context) { _, _ in [] }
        case .fetchedDatabaseChanges(let changes):
            let pending = context.state.pendingDatabaseChanges.compactMap { change in
                if case .saveZone(let zone) = change { zone.zoneID } else { nil }
            }
            store(changes.checkpoint, context) { $0.take(changes, pendingZoneIDs: Set(pending), $1) }
        case .fetchedRecordZoneChanges(let changes):
            content.withLock { content in
                for record in changes.modifications { content.delivered[record.recordID, default: 0] += 1 }
                for deletion in changes.deletions { content.delivered[deletion.recordID, default: 0] += 1 }
            }
            store(changes.checkpoint, context) { $0.take(changes, $1) }
        case .didFetchRecordZoneChanges(let did):
            guard case .completed(let live)? = did.resync else { return }
            store(nil, context) { local, rules in
                local.sweep(did.zoneID, keeping: live, rules)
                return []
            }
        case .sentRecordZoneChanges(let sent): store(sent.checkpoint, context) { $0.take(sent, $1) }
        case .sentDatabaseChanges(let sent):
            store(sent.checkpoint, context) { local, rules in
                local.take(sent, rules)
                return []
            }
        case .accountChange(let change):
            let user: String? =
                switch change {
                case .signIn(let current), .switchAccounts(_, let current, _): current
                case .signOut: nil
                }
            store(nil, context) { local, _ in local.switchAccount(to: user) }
        case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchChanges, .willSendChanges, .didSendChanges:
            break
        }
    }

    /// Changes what the app has, then the engine's state, then stores both in one step.
    private func store(
        _ checkpoint: SyncEngine.Checkpoint?, _ context: SyncEngine.EventContext,
        _ body: (inout LocalRecords, LocalRecords.Rules) -> [LocalRecords.Reaction]
    ) {
        let reactions = content.withLock { content in body(&content.local, content.rules) }
        carryOut(reactions, context.state)
        // An event without a checkpoint of its own has the state of its context.
        let serialization = checkpoint?.serialization ?? context.state.serialization
        content.withLock { content in
            // What came after a crash is nobody's any more.
            guard content.engine != nil else { return }
            content.disk.local = content.local
            content.disk.serialization = serialization
        }
    }

    private func carryOut(_ reactions: [LocalRecords.Reaction], _ state: SyncEngine.State) {
        for reaction in reactions {
            switch reaction {
            case .save(let recordID): state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            case .saveZone(let zoneID):
                state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: zoneID))])
            case .delete(let recordID, let tag): state.addDeletion(of: recordID, recordChangeTag: tag)
            case .takeBack(let change): state.remove(pendingRecordZoneChanges: [change])
            case .dropParked(let zoneID): state.dropParkedChanges(inZoneWith: zoneID)
            }
        }
    }

    /// Gives what is pending.
    public func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext
    ) async -> SyncEngine.RecordZoneChangeBatch? {
        let (batches, provider) = content.withLock { ($0.batches, $0.provider) }
        if let batches { return await batches(context) }
        return await SyncEngine.RecordZoneChangeBatch(context) { [content] recordID in
            if let provider { return await provider(recordID) }
            return content.withLock { $0.local.records[recordID] }.map { .record($0) } ?? .gone
        }
    }

    /// Gives what was set.
    public func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext
    ) async -> SyncEngine.FetchChangesOptions {
        guard let options = content.withLock({ $0.options }) else { return context.options }
        return await options(context)
    }
}
