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
        /// The records, each as the server gave it with what was changed since.
        public var records: [Record.ID: Record] = [:]

        /// An empty disk.
        public init() {}
    }

    /// What a handler is to do before it does what an app would; throwing refuses the event.
    public typealias Interception = @Sendable (SyncEngine.Event, SyncEngine.EventContext) async throws -> Void

    private struct Content {
        var disk: Disk
        var engine: SyncEngine?
        var conflicts = ConflictRule.clientWins
        var deletions = DeletionRule.drop
        var recreatesZones = true
        var interception: Interception?
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
    ///
    /// - Parameter configure: Changes the engine's configuration before the engine is made.
    public init(
        _ name: String, database: any RecordDatabase, disk: Disk = Disk(), clock: ManualClock,
        policy: SyncEngine.TriggerPolicy = .manual,
        configure: (inout SyncEngine.Configuration) -> Void = { _ in }
    ) throws(SyncEngineError) {
        self.name = name
        self.database = (database as? FaultyDatabase) ?? FaultyDatabase(database)
        content = Locked(Content(disk: disk))
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
    public var records: [Record.ID: Record] { disk.records }
    /// How many times a record was delivered by a fetch.
    public var deliveredCount: Int { content.withLock { $0.delivered.values.reduce(0, +) } }
    /// Forgets what was delivered.
    public func resetDelivered() { content.withLock { $0.delivered = [:] } }

    /// What is done about conflicts.
    public var conflictRule: ConflictRule {
        get { content.withLock { $0.conflicts } }
        set { content.withLock { $0.conflicts = newValue } }
    }

    /// What is done about records that were changed here and deleted elsewhere.
    public var deletionRule: DeletionRule {
        get { content.withLock { $0.deletions } }
        set { content.withLock { $0.deletions = newValue } }
    }

    /// Whether a zone that is missing is created again when a record is to be saved in it.
    public var recreatesZones: Bool {
        get { content.withLock { $0.recreatesZones } }
        set { content.withLock { $0.recreatesZones = newValue } }
    }

    /// What a handler does first; nil for nothing.
    public func intercept(_ interception: Interception?) { content.withLock { $0.interception = interception } }
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
                var record = content.disk.records[recordID] ?? Record(recordType: type, recordID: recordID)
                edit(&record)
                content.disk.records[recordID] = record
            }
        }
        engine.state.add(pendingRecordZoneChanges: recordIDs.map { .saveRecord($0) })
    }

    /// Deletes a record, in the version that the device has.
    public func delete(_ recordID: Record.ID) {
        let record = content.withLock { $0.disk.records.removeValue(forKey: recordID) }
        engine.state.addDeletion(of: recordID, recordChangeTag: record?.recordChangeTag)
    }

    /// Adds a zone to what is to be sent.
    public func saveZone(_ zoneID: RecordZone.ID) {
        engine.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: zoneID))])
    }

    // MARK: The delegate

    /// Takes an event as an app would.
    public func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async throws {
        recorder.record(event)
        if let interception = content.withLock({ $0.interception }) { try await interception(event, context) }
        switch event {
        case .stateUpdate(let update): store(update.checkpoint) { _ in }
        case .fetchedDatabaseChanges(let changes):
            store(changes.checkpoint) { disk in
                for deletion in changes.deletions {
                    disk.records = disk.records.filter { $0.key.zoneID != deletion.zoneID }
                }
                if let live = changes.resyncedZoneIDs {
                    disk.records = disk.records.filter { live.contains($0.key.zoneID) }
                }
            }
        case .fetchedRecordZoneChanges(let changes): take(changes, context)
        case .didFetchRecordZoneChanges(let did):
            if case .completed(let live)? = did.resync {
                content.withLock { content in
                    content.disk.records = content.disk.records.filter {
                        $0.key.zoneID != did.zoneID || live.contains($0.key)
                    }
                }
            }
        case .sentRecordZoneChanges(let sent): take(sent, context)
        case .sentDatabaseChanges(let sent): store(sent.checkpoint) { _ in }
        case .accountChange, .willFetchChanges, .willFetchRecordZoneChanges, .didFetchChanges, .willSendChanges,
            .didSendChanges:
            break
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
            return content.withLock { $0.disk.records[recordID] }.map { .record($0) } ?? .gone
        }
    }

    /// Gives what was set.
    public func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext
    ) async -> SyncEngine.FetchChangesOptions {
        guard let options = content.withLock({ $0.options }) else { return context.options }
        return await options(context)
    }

    /// Changes the disk and stores the engine's state with it, in one step.
    private func store(_ checkpoint: SyncEngine.Checkpoint, _ body: (inout Disk) -> Void) {
        let serialization = checkpoint.serialization
        content.withLock { content in
            body(&content.disk)
            content.disk.serialization = serialization
        }
    }

    private func take(_ changes: SyncEngine.FetchedRecordZoneChanges, _ context: SyncEngine.EventContext) {
        let rules = content.withLock { ($0.conflicts, $0.deletions) }
        for record in changes.modifications {
            content.withLock { content in
                content.delivered[record.recordID, default: 0] += 1
                if let local = content.disk.records[record.recordID], !local.changedKeys.isEmpty {
                    content.disk.records[record.recordID] = TestDevice.resolve(local, record, rules.0)
                } else {
                    content.disk.records[record.recordID] = record
                }
            }
        }
        for deletion in changes.deletions {
            let local = content.withLock { content -> Record? in
                content.delivered[deletion.recordID, default: 0] += 1
                return content.disk.records.removeValue(forKey: deletion.recordID)
            }
            guard let local, !local.changedKeys.isEmpty, local.recordChangeTag != nil else {
                if let local, local.recordChangeTag == nil {
                    content.withLock { $0.disk.records[deletion.recordID] = local }
                }
                continue
            }
            gone(local, rules.1, context)
        }
        store(changes.checkpoint) { _ in }
    }

    private func gone(_ local: Record, _ rule: DeletionRule, _ context: SyncEngine.EventContext) {
        switch rule {
        case .drop:
            content.withLock { $0.disk.records[local.recordID] = nil }
            context.state.remove(pendingRecordZoneChanges: [.saveRecord(local.recordID)])
        case .keep:
            content.withLock { $0.disk.records[local.recordID] = local.recreated }
            context.state.add(pendingRecordZoneChanges: [.saveRecord(local.recordID)])
        }
    }

    private func take(_ sent: SyncEngine.SentRecordZoneChanges, _ context: SyncEngine.EventContext) {
        let (conflicts, deletions, recreatesZones) = content.withLock {
            ($0.conflicts, $0.deletions, $0.recreatesZones)
        }
        for record in sent.savedRecords {
            content.withLock { content in
                guard let local = content.disk.records[record.recordID] else { return }
                // What was set since it was sent stays on top of what was saved.
                content.disk.records[record.recordID] = local.onTop(of: record)
            }
        }
        for failure in sent.failedRecordSaves {
            let recordID = failure.record.recordID
            guard let local = content.withLock({ $0.disk.records[recordID] }) else { continue }
            switch failure.error.code {
            case .serverRecordChanged:
                guard let server = failure.error.serverRecord else { continue }
                let resolved = TestDevice.resolve(local, server, conflicts)
                content.withLock { $0.disk.records[recordID] = resolved }
                if case .serverWins = conflicts { continue }
                context.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            case .zoneNotFound, .userDeletedZone:
                guard recreatesZones else { continue }
                content.withLock { $0.disk.records[recordID] = local.recreated }
                context.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: recordID.zoneID))])
                context.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            case .unknownItem:
                gone(local, deletions, context)
            default: continue
            }
        }
        store(sent.checkpoint) { _ in }
    }

    private static func resolve(_ local: Record, _ server: Record, _ rule: ConflictRule) -> Record {
        switch rule {
        case .serverWins: server
        case .clientWins: local.onTop(of: server)
        case .merge(let merge): merge(local, server, local.ancestor)
        case .ignored: local
        }
    }
}

extension Record {
    /// The version that was changed; nil for a record that no server has seen.
    fileprivate var ancestor: Record? { base.system == nil ? nil : Record(version: base) }

    /// What was set on this record and differs, set on another version of it.
    fileprivate func onTop(of server: Record) -> Record {
        var record = server
        for key in changedKeys where self[key] as RecordValue? != record[key] {
            record[key] = self[key] as RecordValue?
        }
        return record
    }

    /// The same fields in a record that no server has seen.
    fileprivate var recreated: Record {
        var record = Record(recordType: recordType, recordID: recordID)
        for field in fields { record[field.key] = field.value as RecordValue? }
        if let parent { record.setParent(parent) }
        return record
    }
}
