import ChangeFeed
import SyncEngineCore

/// One run of a simulation, on one thread.
final class SimulationRun {
    typealias Finding = SimulationOracle.Finding

    static let users = ["ann", "bob"]
    static let zoneIDs = ["z0", "z1", "z2"].map { RecordZone.ID(zoneName: $0) }
    static let recordNames = (0..<8).map { "r\($0)" }

    let executor = SimulationExecutor()
    let network = SimulatedNetwork()
    let clock = ManualClock()
    let storage: SimulationStore
    let configuration: Container.Configuration
    private(set) var store: any ChangeStore
    private(set) var container: Container
    private(set) var devices: [SimulatedDevice] = []
    private(set) var oracle = SimulationOracle(users: SimulationRun.users)
    private(set) var report = SimulationReport()
    private var snapshot: (any StoreSnapshot)?
    private var history: [String] = []
    private var hintCount = 0
    private var editCount = 0
    private var birthCount: Locked<Int> = Locked(0)
    private let dropped = Locked<[String]>([])

    init(seed: UInt64, deviceCount: Int, storage: SimulationStore) throws {
        var numbers = SeededGenerator(seed: seed)
        self.storage = storage
        let (clock, random) = (clock, SeededNumbers(seed: numbers.next()))
        var configuration = Container.Configuration(now: { clock.date }, randomness: { random.next() })
        configuration.clock = clock
        configuration.limits.resultsPerPage = 1 + numbers.below(20)
        configuration.retention.maximumTombstonesPerZone = 1 + numbers.below(6)
        self.configuration = configuration
        let store = try executor.run { () -> Result<any ChangeStore, any Error> in
            do { return .success(try await storage.open()) } catch { return .failure(error) }
        }.get()
        self.store = store
        container = SimulationRun.container(over: store, configuration, executor)
        for index in 0..<deviceCount {
            let policy: SyncEngine.TriggerPolicy = numbers.once(in: 5) ? .manual : .automatic
            let device = SimulatedDevice(
                index, userID: numbers.once(in: 4) ? "bob" : "ann", policy: policy,
                rules: rules(of: index, &numbers), container: container)
            devices.append(device)
        }
        for device in devices { _ = try launched(device) }
    }

    private static func container(
        over store: any ChangeStore, _ configuration: Container.Configuration, _ executor: SimulationExecutor
    ) -> Container {
        Container(identifier: "simulation", store: waitedFor(store, executor), configuration: configuration)
    }

    private static func waitedFor(_ store: any ChangeStore, _ executor: SimulationExecutor) -> any ChangeStore {
        store is InMemoryStore ? store : WaitedForStore(base: store, executor: executor)
    }

    private func rules(of device: Int, _ numbers: inout SeededGenerator) -> LocalRecords.Rules {
        var rules = LocalRecords.Rules()
        rules.conflicts = numbers.once(in: 5) ? .serverWins : .merge(SimulationRun.merge)
        rules.deletions = numbers.once(in: 2) ? .keep : .drop
        rules.uploadsAgainAfterReset = numbers.once(in: 2)
        let (births, dropped) = (birthCount, dropped)
        rules.willRecreate = { record in
            let number = births.withLock { count in
                count += 1
                return count
            }
            record["birth"] = "again\(number)"
        }
        rules.willDrop = { record in
            let log: [String] = record["log"] ?? []
            dropped.withLock { $0 += log }
        }
        return rules
    }

    /// What a user would want: every edit of both sides is kept.
    static let merge: @Sendable (Record, Record, Record?) -> Record = { client, server, ancestor in
        let (mine, base): ([String], [String]) = (client["log"] ?? [], ancestor?["log"] ?? [])
        let theirs: [String] = server["log"] ?? []
        let added = mine.filter { !base.contains($0) && !theirs.contains($0) }
        var merged = server
        if added.isEmpty { return merged }
        merged["log"] = theirs + added
        merged["value"] = client["value"] as String?
        return merged
    }

    // MARK: Steps

    /// Runs whatever is ready. Throws if that never ends.
    private func rest() throws {
        if !executor.drain() { throw Finding(sentence: "Something goes on for ever.") }
    }

    /// Takes a step, and throws what is wrong after it.
    func take(_ step: SimulationStep) throws {
        report.steps += 1
        var numbers = SeededGenerator(seed: UInt64(step.number))
        try perform(step.kind, &numbers)
        try rest()
        try look()
    }

    private func note(_ text: String) {
        history.append("\(report.steps): \(text)")
        if history.count > 24 { history.removeFirst() }
    }

    private func counted(_ fault: String) { report.faults[fault, default: 0] += 1 }

    private func perform(_ kind: SimulationStep.Kind, _ numbers: inout SeededGenerator) throws {
        switch kind {
        case .proceed: proceed(&numbers)
        case .fail: fail(&numbers)
        case .edit: try edit(&numbers)
        case .delete: try delete(&numbers)
        case .move: try move(&numbers)
        case .zone: try changeZone(&numbers)
        case .hint: hint(&numbers)
        case .trigger: try trigger(&numbers)
        case .call: try call(&numbers)
        case .cancel: try cancel(&numbers)
        case .tick: tick(&numbers)
        case .crash: try crash(&numbers)
        case .hold:
            let device = numbers.element(of: devices)
            network.holdNextHandler(of: device.index)
        case .account: changeAccount(&numbers)
        case .purge: purge(&numbers)
        case .compact: try compact()
        case .restart: try restart()
        case .snapshot: try takeSnapshot()
        case .restore: try restore()
        }
    }

    private static func result<Value: Sendable>(
        _ body: () async throws -> Value
    ) async -> Result<Value, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    /// The device's app, launched if it does not run.
    private func launched(_ device: SimulatedDevice) throws -> TestDevice {
        if let app = device.app { return app }
        var numbers = SeededGenerator(seed: UInt64(device.index), step: report.steps)
        do throws(SyncEngineError) {
            let app = try device.launch(
                network, executor, clock, pageLimit: 1 + numbers.below(6), batchLimit: 1 + numbers.below(6))
            note("\(device.name) is launched")
            return app
        } catch {
            throw Finding(sentence: "The state that \(device.name) had stored cannot be read: \(error)")
        }
    }

    // MARK: The network

    private func proceed(_ numbers: inout SeededGenerator) {
        let waiting = network.waiting
        guard !waiting.isEmpty else { return }
        let item = numbers.element(of: waiting)
        note("\(devices[item.device].name): \(item.item.text) goes on")
        network.release(item.number, .passes)
    }

    private func fail(_ numbers: inout SeededGenerator) {
        let waiting = network.waiting
        guard !waiting.isEmpty else { return }
        let item = numbers.element(of: waiting)
        switch item.item {
        case .handler:
            note("\(devices[item.device].name): \(item.item.text) throws")
            counted("handler throws")
            network.release(item.number, .throwsError)
        case .request(let request):
            let fault = SimulationFaults.fault(of: request, &numbers)
            if let code = fault.code { report.errors[.init(request.kind, code), default: 0] += 1 }
            counted(fault.name)
            note(
                "\(devices[item.device].name): \(request.text) fails: \(fault.name) \(fault.code.map { "\($0)" } ?? "")"
            )
            network.release(item.number, .fails(fault))
        }
    }

    // MARK: Users

    private func isBusyWithAccount(_ device: SimulatedDevice) -> Bool {
        network.waiting.contains { item in
            guard item.device == device.index, case .handler(let event, _) = item.item else { return false }
            return event == "accountChange"
        }
    }

    private func recordID(_ numbers: inout SeededGenerator) -> Record.ID {
        Record.ID(
            recordName: numbers.element(of: SimulationRun.recordNames),
            zoneID: numbers.element(of: SimulationRun.zoneIDs))
    }

    /// A device whose user can do something, with its app and its user.
    private func inUse(_ numbers: inout SeededGenerator) throws -> (SimulatedDevice, TestDevice, String)? {
        let device = numbers.element(of: devices)
        let app = try launched(device)
        guard let user = app.userID, !isBusyWithAccount(device) else { return nil }
        return (device, app, user)
    }

    private func edit(_ numbers: inout SeededGenerator) throws {
        guard let (device, app, user) = try inUse(&numbers) else { return }
        var recordIDs = [recordID(&numbers)]
        if numbers.once(in: 4) {
            recordIDs += (0..<3).map { _ in recordID(&numbers) }.filter { !recordIDs.contains($0) }
        }
        recordIDs = Array(Set(recordIDs)).sorted()
        let target: Record.ID? = numbers.once(in: 3) ? app.records.keys.sorted().first : nil
        for recordID in recordIDs {
            editCount += 1
            let name = "\(device.name).\(editCount)"
            let hasAsset = numbers.once(in: 12)
            app.save(recordID) { record in
                if record["birth"] as String? == nil {
                    record["birth"] = "born\(editCount)"
                    record["owner"] = user
                }
                record["log"] = (record["log"] ?? [String]()) + [name]
                record["value"] = name
                if hasAsset { record["file"] = Asset(data: .init(name.utf8)) }
                if let target, target.zoneID == recordID.zoneID, target != recordID {
                    record["under"] = Record.Reference(recordID: target, action: .deleteSelf)
                }
            }
            oracle.edited(name, "\(recordID) on \(device.name)")
            note("\(device.name): \(name) is made in \(recordID)")
        }
    }

    private func delete(_ numbers: inout SeededGenerator) throws {
        guard let (device, app, _) = try inUse(&numbers), !app.records.isEmpty else { return }
        delete(numbers.element(of: app.records.keys.sorted()), device, app)
    }

    private func delete(_ recordID: Record.ID, _ device: SimulatedDevice, _ app: TestDevice) {
        oracle.excuse(app.records[recordID]?["log"] ?? [String]())
        app.delete(recordID)
        note("\(device.name): \(recordID) is deleted")
    }

    private func move(_ numbers: inout SeededGenerator) throws {
        guard let (device, app, user) = try inUse(&numbers), !app.records.isEmpty else { return }
        let old = numbers.element(of: app.records.keys.sorted())
        let new = Record.ID(recordName: old.recordName, zoneID: numbers.element(of: SimulationRun.zoneIDs))
        guard new.zoneID != old.zoneID, app.records[new] == nil else { return }
        delete(old, device, app)
        editCount += 1
        let name = "\(device.name).\(editCount)"
        app.save(new) { record in
            record["birth"] = "moved\(editCount)"
            record["owner"] = user
            record["log"] = [name]
            record["value"] = name
        }
        oracle.edited(name, "\(new) on \(device.name)")
        note("\(device.name): it is moved to \(new) as \(name)")
    }

    private func changeZone(_ numbers: inout SeededGenerator) throws {
        guard let (device, app, _) = try inUse(&numbers) else { return }
        let zoneID = numbers.element(of: SimulationRun.zoneIDs)
        if numbers.once(in: 4) {
            app.deleteZone(zoneID)
            note("\(device.name): deletes \(zoneID)")
        } else {
            app.saveZone(zoneID)
            note("\(device.name): creates \(zoneID)")
        }
    }

    // MARK: Hosts and apps

    private func hint(_ numbers: inout SeededGenerator) {
        let device = numbers.element(of: devices)
        guard !device.channel.waiting.isEmpty else { return }
        switch numbers.below(8) {
        case 0:
            counted("hint lost")
            device.channel.drop()
        case 1:
            counted("hint doubled")
            device.channel.duplicate()
        case 2:
            counted("hint late")
            device.channel.delay(behind: 1 + numbers.below(3))
        default:
            guard let app = device.app else { return }
            note("\(device.name): a hint arrives")
            device.channel.deliver(to: app.engine)
            device.received[.push, default: 0] += 1
        }
    }

    private func trigger(_ numbers: inout SeededGenerator) throws {
        let device = numbers.element(of: devices)
        let trigger = numbers.element(
            of: [SyncEngine.Trigger.launch, .enteredForeground, .networkBecameAvailable, .accountChanged])
        receive(trigger, device, try launched(device))
    }

    private func receive(_ trigger: SyncEngine.Trigger, _ device: SimulatedDevice, _ app: TestDevice) {
        note("\(device.name): \(trigger.kind.rawValue)")
        device.received[trigger.kind, default: 0] += 1
        app.engine.receive(trigger)
    }

    private func call(_ numbers: inout SeededGenerator) throws {
        let device = numbers.element(of: devices)
        let engine = try launched(device).engine
        let zoneID = numbers.element(of: SimulationRun.zoneIDs)
        let which = numbers.below(8)
        note("\(device.name): call \(which)")
        let task = Task(executorPreference: executor) {
            switch which {
            case 0: _ = try? await engine.fetchChanges(.init(scope: .zoneIDs([zoneID])))
            case 1: _ = try? await engine.fetchKnownDirtyZones()
            case 2: _ = try? await engine.fetchQuarantinedRecords()
            case 3: _ = try? await engine.fetchChanges(.init(prioritizedZoneIDs: [zoneID]))
            case 4, 5: _ = try? await engine.fetchChanges()
            default: _ = try? await engine.sendChanges()
            }
        }
        device.calls.append(task)
        if device.calls.count > 4 { device.calls.removeFirst() }
    }

    private func cancel(_ numbers: inout SeededGenerator) throws {
        let device = numbers.element(of: devices)
        if numbers.once(in: 4) {
            let engine = try launched(device).engine
            counted("everything cancelled")
            note("\(device.name): everything is cancelled")
            executor.run { try? await engine.cancelOperations() }
        } else if !device.calls.isEmpty {
            counted("call cancelled")
            note("\(device.name): a call is cancelled")
            device.calls.remove(at: numbers.below(device.calls.count)).cancel()
        }
    }

    private func tick(_ numbers: inout SeededGenerator) {
        let seconds = numbers.element(of: [1, 3, 40, 300, 1_000, 4_000])
        note("\(seconds) s pass")
        clock.advance(by: .seconds(seconds))
    }

    private func crash(_ numbers: inout SeededGenerator) throws {
        let device = numbers.element(of: devices)
        guard let app = device.app else { return }
        // What is on its way may still be carried out.
        if numbers.once(in: 2) {
            for item in network.waiting where item.device == device.index {
                if case .request = item.item { network.release(item.number, .fails(.unheard)) }
            }
            try rest()
        }
        try endLife(of: device, app)
        counted("crash")
        note("\(device.name) dies")
    }

    private func endLife(of device: SimulatedDevice, _ app: TestDevice) throws {
        try checkLife(of: device)
        forgetAnswers(of: app)
        for call in device.calls { call.cancel() }
        device.calls = []
        executor.run { await app.crash() }
        device.disk = app.disk
        device.app = nil
        try rest()
    }

    /// What a device has created and not seen saved, it will create again once it has forgotten that it tried.
    private func forgetAnswers(of app: TestDevice) {
        let unsaved = app.records.values.filter { $0.recordChangeTag == nil }
        oracle.mayComeBack(unsaved.compactMap { $0["birth"] as String? })
    }

    private func changeAccount(_ numbers: inout SeededGenerator) {
        let device = numbers.element(of: devices)
        switch numbers.below(6) {
        case 0:
            device.setCondition(numbers.element(of: Device.Condition.allCases))
            note("\(device.name): the account is \(device.condition)")
        case 1:
            device.signIn(nil)
            note("\(device.name): signed out")
        default:
            device.setCondition(.normal)
            device.signIn(numbers.element(of: SimulationRun.users))
            note("\(device.name): \(device.userID ?? "") signs in")
        }
        counted("account changed")
        if let app = device.app { forgetAnswers(of: app) }
        // The system may tell later, or never: the next pass looks.
        if !numbers.once(in: 3), let app = device.app { receive(.accountChanged, device, app) }
    }

    // MARK: The server

    private func purge(_ numbers: inout SeededGenerator) {
        let user = numbers.element(of: SimulationRun.users)
        let zoneID = numbers.element(of: SimulationRun.zoneIDs)
        let (container, which) = (container, numbers.below(3))
        note("the zone \(zoneID) of \(user) is removed: \(["purged", "reset", "deleted"][which])")
        counted("zone removed")
        executor.run {
            switch which {
            case 0: try? await container.purgeZone(zoneID, for: user)
            case 1: try? await container.resetEncryptedData(inZoneWith: zoneID, for: user)
            default: _ = try? await container.database(.private, for: user).deleteRecordZone(withID: zoneID)
            }
        }
    }

    private func compact() throws {
        let container = container
        note("history is discarded")
        counted("history discarded")
        _ = try executor.run { await SimulationRun.result { try await container.compact() } }.get()
    }

    private func restart() throws {
        note("the server is restarted")
        counted("server restarted")
        let (storage, old) = (storage, store)
        store = try executor.run {
            await SimulationRun.result {
                await storage.close(old)
                return try await storage.open()
            }
        }.get()
        container = SimulationRun.container(over: store, configuration, executor)
        for device in devices { device.connect(to: container) }
    }

    private func takeSnapshot() throws {
        guard let store = SimulationRun.waitedFor(store, executor) as? any SnapshottingStore else { return }
        note("the store is copied")
        oracle.storeWasCopied()
        _ = network.takeTags()
        snapshot = try executor.run { await SimulationRun.result { try await store.snapshot() } }.get()
    }

    private func restore() throws {
        guard let snapshot else { return }
        note("the store is put back")
        counted("store put back")
        let container = container
        try executor.run { await SimulationRun.result { try await container.restoreFromSnapshot(snapshot) } }.get()
        oracle.storeWasPutBack(losing: network.takeTags())
    }

    // MARK: Looking

    /// Looks at what the server has now.
    private func look() throws {
        oracle.excuse(
            dropped.withLock { dropped in
                defer { dropped = [] }
                return dropped
            })
        for user in SimulationRun.users {
            let (question, database) = (oracle.question(of: user), container.database(.private, for: user))
            let news: SimulationOracle.News
            switch executor.run({ await SimulationRun.result { try await question.ask(database) } }) {
            case .success(let answer): news = answer
            case .failure(let error): throw Finding(sentence: "The server cannot be read any more: \(error)")
            }
            for zoneID in try oracle.take(news, of: user) {
                hintCount += 1
                let hint = ChangeNotification(
                    notificationID: "hint\(hintCount)", subscriptionID: "all", databaseScope: .private,
                    zoneID: zoneID, kind: .database, isPruned: false)
                for device in devices where device.userID == user { device.channel.push(hint) }
            }
        }
    }

    /// What an engine's journal has to say about its life.
    private func checkLife(of device: SimulatedDevice) throws {
        let observer = device.observer
        if let gap = observer.gap {
            throw Finding(sentence: "The journal of \(device.name) has a gap before entry \(gap).")
        }
        report.digest = report.digest &* 31 &+ observer.digest
        report.triggers.merge(observer.situations, uniquingKeysWith: +)
        let requests = network.takeRequestCount(of: device.index)
        report.requests += requests
        if requests != observer.requests {
            throw Finding(
                sentence: "\(device.name) has made \(requests) requests, and its journal has \(observer.requests).")
        }
        for (kind, count) in device.received where observer.triggered[kind] != count {
            throw Finding(
                sentence: "\(device.name) was told \(kind.rawValue) \(count) times, and has decided "
                    + "\(observer.triggered[kind] ?? 0) times.")
        }
    }

    // MARK: The end

    /// Everything that went wrong is over: all devices of a user end with what the server has, one user after the other.
    func drain() throws {
        network.open()
        try letAllPass()
        for user in SimulationRun.users {
            note("faults are over: \(user) is on all devices")
            for device in devices {
                let engine = try launched(device).engine
                device.setCondition(.normal)
                device.signIn(user)
                forgetAnswers(of: try launched(device))
                executor.run { try? await engine.cancelOperations() }
            }
            for device in devices { receive(.accountChanged, device, try launched(device)) }
            try letAllPass()
            try settle(user)
        }
        try oracle.checkEdits(reached: network.reachedEdits)
        for device in devices {
            if let app = device.app { try endLife(of: device, app) }
        }
        report.edits = oracle.editCount
        report.runs = 1
        let (storage, store) = (storage, store)
        executor.run { await storage.close(store) }
    }

    /// Runs until nothing is under way, and looks after each change.
    private func letAllPass() throws {
        try rest()
        while let item = network.waiting.first {
            network.release(item.number, .passes)
            try rest()
            try look()
        }
        try look()
    }

    private func settle(_ user: String) throws {
        var difference: String?
        for round in 0..<12 {
            for device in devices {
                let app = try launched(device)
                // What was refused for good, the app tries again.
                if round > 0 { app.addUnsentChanges() }
                let (engine, isManual) = (app.engine, device.policy == .manual)
                if isManual || !engine.state.quarantinedRecords.isEmpty {
                    Task(executorPreference: executor) {
                        _ = try? await engine.fetchQuarantinedRecords()
                        if isManual {
                            _ = try? await engine.fetchChanges()
                            _ = try? await engine.sendChanges()
                        }
                    }
                    try letAllPass()
                }
            }
            clock.advance(by: .seconds(1_000))
            try letAllPass()
            difference = try self.difference(of: user)
            // Once at least the app has tried again what was refused for good.
            if difference == nil, round > 0 { return }
        }
        throw Finding(sentence: difference ?? "")
    }

    /// What a device has that the server has not, or the reverse, or what it still wants to send.
    private func difference(of user: String) throws -> String? {
        let live = oracle.live(of: user)
        for device in devices {
            let app = try launched(device)
            guard app.userID == user else { return "\(device.name) has not noticed that \(user) is signed in." }
            let pending = app.engine.state.pendingRecordZoneChanges + app.engine.state.inFlightRecordZoneChanges
            if let first = pending.first { return "\(device.name) does not get rid of \(first)." }
            for recordID in Set(live.keys).union(app.records.keys).sorted() {
                if let tag = app.records[recordID]?.recordChangeTag, oracle.lostTags.contains(tag) { continue }
                switch (app.records[recordID], live[recordID]) {
                case (let record?, nil):
                    return
                        "\(device.name) has \(recordID), with \(record["log"] ?? [String]()), which is not on the server."
                case (nil, _?) where oracle.revived.contains(recordID): break
                case (nil, _?): return "\(device.name) does not have \(recordID), which is on the server."
                case (let record?, let live?):
                    let log: [String] = record["log"] ?? []
                    if record.recordChangeTag != live.tag || log != live.log {
                        return "\(device.name) has another version of \(recordID): \(log) in place of \(live.log)."
                    }
                case (nil, nil): break
                }
            }
        }
        return nil
    }

    /// What is told of a run that ended badly.
    func lastEvents() -> [String] {
        history
            + devices.flatMap { device in device.observer.lastLines.suffix(260).map { "\(device.name) journal \($0)" } }
    }
}
