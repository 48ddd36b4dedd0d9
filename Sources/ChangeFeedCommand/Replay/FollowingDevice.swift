import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore

/// A device that follows the files' zone with a sync engine, whose state it keeps together with what it has fetched.
///
/// The engine does what it does for reasons: hints of which some are lost, a launch, a long silence. A device can be
/// killed in the middle of a fetch, and goes on from what its storage has when it is launched again.
final class FollowingDevice: SyncEngineDelegate {
    private struct Content {
        var engine: SyncEngine?
        var pages = 0
        var recordsFetched = 0
        /// How many pages it still takes before it is killed; nil for all.
        var pagesLeft: Int?
        var failure: ReplayFailure?
        var hintNumber = 0
    }

    /// What a device is killed with.
    private struct Killed: Error {}

    /// What the device is called in a report.
    let name: String
    private let database: any RecordDatabase
    private let pageLimit: Int
    private let storage: any DeviceStorage
    private let clock: ManualClock
    private let tally: FetchTally
    private let content = Locked(Content())

    /// A device that asks for `pageLimit` results a page, and keeps in `storage` what it has fetched.
    init(
        name: String, following database: any RecordDatabase, pageLimit: Int,
        storage: any DeviceStorage = MemoryDeviceStorage(), clock: ManualClock = ManualClock(),
        journal: ReplayJournal? = nil
    ) {
        self.name = name
        self.database = database
        self.pageLimit = pageLimit
        self.storage = storage
        self.clock = clock
        tally = FetchTally(device: name, journal: journal)
    }

    /// How many pages of zone changes it has fetched, in this run; pages without changes are not counted.
    var pages: Int { content.withLock { $0.pages } }
    /// How many modifications and deletions these pages had.
    var recordsFetched: Int { content.withLock { $0.recordsFetched } }
    /// How many fetches it has made, by what they were made for.
    var fetches: [String: Int] { tally.counts }
    /// How many fetches it has made.
    var fetchCount: Int { fetches.values.reduce(0, +) }
    /// Whether it knows that the zone has more for it than it has fetched.
    var isBehind: Bool {
        content.withLock { $0.engine }?.state.zoneIDsWithUnfetchedServerChanges.isEmpty == false
    }

    /// What it holds, as its storage has it.
    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile] {
        try await storage.files()
    }

    // MARK: What happens to it

    /// Launches the app, if it does not run.
    private func launch() async throws(ReplayFailure) -> SyncEngine {
        if let engine = content.withLock({ $0.engine }) { return engine }
        let state = try await storage.state()
        let engine: SyncEngine
        do throws(SyncEngineError) {
            let serialization = try state.map { bytes throws(SyncEngineError) in
                try SyncEngine.State.Serialization(data: bytes)
            }
            var configuration = SyncEngine.Configuration(
                database: database, stateSerialization: serialization, delegate: self)
            configuration.clock = clock
            let clock = clock
            configuration.now = { clock.date }
            configuration.limits.resultsPerPage = pageLimit
            // The feed is in this process: to ask for a page early gains nothing.
            configuration.limits.looksAhead = false
            configuration.journalSinks = [tally]
            let numbers = SeededNumbers(seed: serialization?.revision ?? 0)
            configuration.randomness = { numbers.next() }
            engine = try SyncEngine(configuration)
        } catch {
            throw failure("could not go on from what it has kept: \(error.message)")
        }
        content.withLock { $0.engine = engine }
        return engine
    }

    /// Ends the process. What is in the storage is all that is left.
    func kill() async {
        let engine = content.withLock { content in
            defer { content.engine = nil }
            return content.engine
        }
        try? await engine?.stop()
    }

    /// A hint arrives, which launches the app if it does not run.
    func hear() async throws(ReplayFailure) {
        let wasRunning = content.withLock { $0.engine != nil }
        let engine = try await launch()
        if !wasRunning {
            engine.receive(.launch)
        } else {
            let number = content.withLock { content in
                content.hintNumber += 1
                return content.hintNumber
            }
            engine.receive(
                .push(
                    ChangeNotification(
                        notificationID: "\(number)", subscriptionID: "files", databaseScope: .private,
                        zoneID: FileRecord.zoneID, kind: .database, isPruned: false)))
        }
        try await settle(engine)
    }

    /// A hint arrives, and the process is killed when so many pages have been fetched, if there are more.
    func hear(killedAfter pages: Int) async throws(ReplayFailure) {
        content.withLock { $0.pagesLeft = pages }
        try await hear()
        let isKilled = content.withLock { content in
            defer { content.pagesLeft = nil }
            return content.pagesLeft.map { $0 < 0 } ?? false
        }
        guard isKilled else { return }
        await kill()
        tally.forgetFailure()
    }

    /// Time passes: what the engine does by itself is done.
    func pass(_ duration: Duration) async throws(ReplayFailure) {
        clock.advance(by: duration)
        guard let engine = content.withLock({ $0.engine }) else { return }
        try await settle(engine)
    }

    /// Fetches all there is.
    func fetchAll() async throws(ReplayFailure) {
        let engine = try await launch()
        try await settle(engine)
        do throws(SyncEngineError) {
            try await engine.fetchChanges()
        } catch {
            try throwFailure()
            throw failure("could not fetch: \(error.underlying?.message ?? error.message)")
        }
        try throwFailure()
    }

    private func settle(_ engine: SyncEngine) async throws(ReplayFailure) {
        await engine.waitUntilIdle()
        try throwFailure()
    }

    private func throwFailure() throws(ReplayFailure) {
        if let failure = content.withLock({ $0.failure }) { throw failure }
        if let what = tally.failure {
            if content.withLock({ $0.pagesLeft }) != nil, what.isOfHandler { return }
            throw failure("could not fetch: \(what.text)")
        }
    }

    // MARK: The delegate

    func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async throws {
        do {
            try await handle(event)
        } catch let error as ReplayFailure {
            content.withLock { $0.failure = $0.failure ?? error }
            throw error
        }
    }

    private func handle(_ event: SyncEngine.Event) async throws {
        switch event {
        case .stateUpdate(let update):
            try await storage.keep(update.stateSerialization.data, after: [])
        case .fetchedDatabaseChanges(let changes):
            if let deletion = changes.deletions.first {
                throw failure("was told that the zone \"\(deletion.zoneID)\" is gone, which nobody has deleted")
            }
            try await storage.keep(changes.checkpoint.serialization.data, after: [])
        case .fetchedRecordZoneChanges(let changes):
            try takePage()
            var kept: [DeviceChange] = []
            for change in changes.changes.changes { kept.append(try read(change)) }
            try await storage.keep(changes.checkpoint.serialization.data, after: kept)
            content.withLock { content in
                content.pages += 1
                content.recordsFetched += kept.count
            }
        default: break
        }
    }

    /// Throws if the process ends before the page is taken.
    private func takePage() throws {
        let isKilled = content.withLock { content -> Bool in
            guard let left = content.pagesLeft else { return false }
            content.pagesLeft = left - 1
            return left <= 0
        }
        if isKilled { throw Killed() }
    }

    func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext
    ) async -> SyncEngine.RecordZoneChangeBatch? {
        nil
    }

    private func read(_ change: ZoneChanges.Change) throws(ReplayFailure) -> DeviceChange {
        switch change {
        case .modified(let record):
            let (path, file) = try FileRecord.read(record)
            return .put(record: record.recordID.recordName, path: path, file)
        case .deleted(let deletion):
            return .remove(record: deletion.recordID.recordName)
        case .failed(let recordID, let error):
            throw failure("was not given the record \"\(recordID)\": \(error)")
        }
    }

    private func failure(_ what: String) -> ReplayFailure {
        ReplayFailure("the device \"\(name)\" \(what)")
    }
}
