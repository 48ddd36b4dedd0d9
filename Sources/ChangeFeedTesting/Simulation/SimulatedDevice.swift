import ChangeFeed
import SyncEngineCore

/// A device of a simulation: a user's account, an app with its disk, and what must survive the app's deaths.
final class SimulatedDevice {
    let index: Int
    let name: String
    let policy: SyncEngine.TriggerPolicy
    let rules: LocalRecords.Rules
    let channel = PushChannel()
    /// Hears the journal of the present engine.
    private(set) var observer = JournalObserver()
    /// Who is signed in; nil for nobody.
    var userID: String?
    var condition = Device.Condition.normal
    /// The app, while it runs.
    var app: TestDevice?
    var disk = TestDevice.Disk()
    var calls: [Task<Void, Never>] = []
    /// What the host told the engine since the launch.
    var received: [SyncEngine.TriggerKind: Int] = [:]
    private let session: Locked<Device>

    init(
        _ index: Int, userID: String, policy: SyncEngine.TriggerPolicy, rules: LocalRecords.Rules,
        container: Container
    ) {
        self.index = index
        name = "d\(index)"
        self.userID = userID
        self.policy = policy
        self.rules = rules
        session = Locked(container.device(name))
        connect(to: container)
    }

    /// The server is another, or the same after a restart.
    func connect(to container: Container) {
        let device = container.device(name)
        if let userID { device.signIn(userID) }
        device.setCondition(condition)
        session.withLock { $0 = device }
    }

    func signIn(_ userID: String?) {
        self.userID = userID
        let device = session.withLock { $0 }
        if let userID { device.signIn(userID) } else { device.signOut() }
    }

    func setCondition(_ condition: Device.Condition) {
        self.condition = condition
        session.withLock { $0 }.setCondition(condition)
    }

    /// Launches the app from its disk.
    func launch(
        _ network: SimulatedNetwork, _ executor: SimulationExecutor, _ clock: ManualClock, pageLimit: Int,
        batchLimit: Int
    ) throws(SyncEngineError) -> TestDevice {
        let (index, session) = (index, session)
        let database = FaultyDatabase(
            over: { session.withLock { $0 }.database(.private) },
            deciding: { await network.arrive($0, of: index) },
            observing: { results in
                for case .success(let record) in results.saves.map(\.result) { network.saved(record) }
            })
        let observer = JournalObserver()
        self.observer = observer
        _ = network.takeRequestCount(of: index)
        received = [:]
        let app = try TestDevice(name, database: database, disk: disk, clock: clock, policy: policy) { configuration in
            configuration.executor = executor
            configuration.journalSinks = [observer]
            configuration.journalLimit = 1
            configuration.limits.resultsPerPage = pageLimit
            configuration.limits.items = batchLimit
        }
        app.rules = rules
        app.intercept { event, _ in try await network.handle(event.name, isDone: false, of: index) }
        app.complete { event, _ in try await network.handle(event.name, isDone: true, of: index) }
        self.app = app
        app.addUnsentChanges()
        return app
    }
}

/// Counts what an engine's journal says.
final class JournalObserver: JournalSink {
    private struct Content {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        var requests = 0
        var triggered: [SyncEngine.TriggerKind: Int] = [:]
        var lastNumber = 0
        var gap: Int?
        var lastLines: [String] = []
        var situations: [SimulationReport.TriggerSituation: Int] = [:]
    }

    private let content = Locked(Content())

    /// The last entries, as text.
    var lastLines: [String] { content.withLock { $0.lastLines } }
    var digest: UInt64 { content.withLock { $0.digest } }
    var requests: Int { content.withLock { $0.requests } }
    var triggered: [SyncEngine.TriggerKind: Int] { content.withLock { $0.triggered } }
    var situations: [SimulationReport.TriggerSituation: Int] { content.withLock { $0.situations } }
    /// The number of an entry that did not follow from the one before.
    var gap: Int? { content.withLock { $0.gap } }

    func write(_ entry: SyncEngine.JournalEntry) {
        let text = "\(entry.number) \(entry.pass ?? 0) \(entry.event)"
        content.withLock { content in
            for byte in text.utf8 { content.digest = (content.digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
            content.lastLines.append(text)
            if content.lastLines.count > 300 { content.lastLines.removeFirst(30) }
            if entry.number != content.lastNumber + 1 { content.gap = content.gap ?? entry.number }
            content.lastNumber = entry.number
            switch entry.event {
            case .requested: content.requests += 1
            case .triggered(let kind, _, let situation):
                content.triggered[kind, default: 0] += 1
                content.situations[.init(kind, situation), default: 0] += 1
            default: break
            }
        }
    }
}
