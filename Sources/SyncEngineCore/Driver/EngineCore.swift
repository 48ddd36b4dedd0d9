import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Does what the machine decides: changes it under one lock, leaves the lock, then acts. Decides nothing itself.
final class EngineCore: Sendable {
    /// What is guarded by the lock.
    private struct Guarded {
        var machine: SyncStateMachine
        var delegate: (any SyncEngineDelegate)?
        var calls: [CallID: Call] = [:]
        var lastCall = 0
        /// The handler or provider that runs.
        var delivery: Running?
        var lastDelivery = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        var sleeper: (until: Duration, task: Task<Void, Never>)?
    }

    /// A caller who waits.
    private enum Call {
        case waiting(CheckedContinuation<SyncStateMachine.Settlement, Never>)
        /// His task was cancelled before he began to wait.
        case cancelled
    }

    /// A delivery whose handler runs.
    private struct Running {
        let number: Int
        /// Whether it tells what came of the changes that are on their way.
        let isAnswer: Bool
        /// What the handler's return will acknowledge.
        var changes: [StateChange]
        var quarantined: [SyncEngine.QuarantinedRecord] = []
        /// What of it has been given out to be stored.
        var taken: StateLog.Taken?
    }

    let configuration: SyncEngine.Configuration
    let journal: SyncEngine.Journal
    private let clock: EngineClock
    private let guarded: Locked<Guarded>
    private let persistence = PersistenceQueue()

    init(_ configuration: SyncEngine.Configuration) throws(SyncEngineError) {
        // The delegate is held where it can be let go.
        var kept = configuration
        kept.delegate = NoDelegate()
        self.configuration = kept
        clock = EngineClock(configuration.clock)
        journal = SyncEngine.Journal(
            keeping: configuration.journalLimit, sinks: configuration.journalSinks, now: configuration.now)
        let state = try configuration.stateSerialization?.durableState() ?? DurableState()
        let log = StateLog(state, from: configuration.stateSerialization?.stamp, writer: configuration.randomness())
        var machine = SyncStateMachine(
            Basis(
                log: log, policy: configuration.policy, limits: configuration.limits,
                subscriptionID: configuration.subscriptionID, randomness: configuration.randomness))
        machine.created(with: configuration)
        guarded = Locked(Guarded(machine: machine, delegate: configuration.delegate))
        guarded.withLock { flushNotes(&$0) }
    }

    // MARK: The machine, under the lock

    /// Changes the machine, and writes down what it noted.
    func withMachine<Result>(_ body: (inout SyncStateMachine) -> Result) -> Result {
        withGuarded { body(&$0.machine) }
    }

    private func withGuarded<Result>(_ body: (inout Guarded) -> Result) -> Result {
        guarded.withLock { guarded in
            guarded.machine.basis.now = clock.elapsed()
            defer { flushNotes(&guarded) }
            return body(&guarded)
        }
    }

    private func flushNotes(_ guarded: inout Guarded) {
        if guarded.machine.basis.notes.isEmpty { return }
        journal.append(guarded.machine.basis.notes)
        guarded.machine.basis.notes.removeAll(keepingCapacity: true)
    }

    /// Does what follows from a fact, outside of the lock.
    private func carryOut(_ consequences: SyncStateMachine.Consequences, immediately: Bool = false) {
        if let driver = consequences.cancelledDriver {
            guarded.withLock { $0.tasks.removeValue(forKey: driver) }?.cancel()
        }
        for settlement in consequences.settlements { settle(settlement) }
        if let start = consequences.start { spawn(start, immediately: immediately) }
        journal.flush()
        armSleeper()
        wakeIdleWaiters()
    }

    // MARK: Tasks

    /// The one place where tasks are started.
    private func spawn(immediately: Bool = false, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        if immediately, #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // Begins on the caller's thread: what does not have to wait for anything needs no other.
            return Task.immediate(executorPreference: configuration.executor, operation: body)
        }
        return Task(executorPreference: configuration.executor, operation: body)
    }

    private func spawn(_ start: SyncStateMachine.Start, immediately: Bool) {
        let task = spawn(immediately: immediately) { await self.drive(start) }
        guarded.withLock { guarded in
            // It may have come to its end already.
            guard guarded.machine.driver == start.driver, guarded.machine.queue.running != nil else { return }
            guarded.tasks[start.driver] = task
        }
    }

    // MARK: A pass

    private func drive(_ start: SyncStateMachine.Start) async {
        let driver = start.driver
        var action = start.action
        var ahead: LookAhead?
        while true {
            journal.flush()
            switch action {
            case .none:
                ahead?.task.cancel()
                return
            case .finish:
                let (next, consequences) = withGuarded { guarded in
                    let result = guarded.machine.finished(driver)
                    if case .none = result.0 { guarded.tasks[driver] = nil }
                    return result
                }
                carryOut(consequences)
                action = next
            case .askAccount:
                let result = await attempt { () async throws(ChangeFeedError) in
                    try await self.configuration.database.account()
                }
                action = withMachine { $0.accountReceived(driver, result) }
            case .subscribe(let request):
                let failure = await subscribe(request)
                action = withMachine { $0.subscribed(driver, failure) }
            case .requestDatabaseChanges(let request):
                let result = await attempt { () async throws(ChangeFeedError) in
                    try await self.configuration.database.databaseChanges(request)
                }
                action = withMachine { $0.databasePageReceived(driver, result) }
            case .requestZoneChanges(let request):
                let result: Result<ZoneChanges, ChangeFeedError>
                if let ready = ahead, ready.zoneID == request.zoneID, ready.since == request.since {
                    result = await ready.task.value
                } else {
                    ahead?.task.cancel()
                    result = await zoneChanges(request)
                }
                ahead = nil
                action = withMachine { $0.zonePageReceived(driver, result) }
            case .requestRecords(let request):
                let result = await attempt { () async throws(ChangeFeedError) in
                    try await self.configuration.database.records(request)
                }
                action = withMachine { $0.recordsReceived(driver, result, asked: request.recordIDs) }
            case .modifyZones(let request):
                let result = await attempt { () async throws(ChangeFeedError) in
                    try await self.configuration.database.modifyRecordZones(request)
                }
                action = withMachine { $0.zonesModified(driver, result) }
            case .modifyRecords(let request):
                let result = await attempt { () async throws(ChangeFeedError) in
                    try await self.configuration.database.modifyRecords(request)
                }
                action = withMachine { $0.recordsModified(driver, result) }
            case .askOptions(let context):
                let options = await asking { await $0.nextFetchChangesOptions(context) } ?? context.options
                action = withMachine { $0.optionsReceived(driver, options) }
            case .askBatch(let content):
                let context = SyncEngine.SendChangesContext(content: content, core: self)
                let batch = await asking { await $0.nextRecordZoneChangeBatch(context) } ?? nil
                action = withMachine { $0.batchReceived(driver, batch) }
            case .deliver(let delivery):
                if let request = delivery.lookAhead { ahead = lookAhead(request) }
                action = await deliver(delivery, driver)
            }
        }
    }

    private func attempt<Value>(
        _ body: () async throws(ChangeFeedError) -> Value
    ) async -> Result<Value, ChangeFeedError> {
        do throws(ChangeFeedError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private func zoneChanges(_ request: ZoneChangesRequest) async -> Result<ZoneChanges, ChangeFeedError> {
        await attempt { () async throws(ChangeFeedError) in
            try await configuration.database.recordZoneChanges(request)
        }
    }

    private func subscribe(_ request: SubscriptionModifyRequest) async -> ChangeFeedError? {
        do throws(ChangeFeedError) {
            let results = try await configuration.database.modifySubscriptions(request)
            return request.saving.first.flatMap { results.errors[$0.subscriptionID] }
        } catch {
            return error
        }
    }

    /// A page that is asked for while the handler of the one before is at work.
    private struct LookAhead {
        let zoneID: RecordZone.ID
        let since: ZoneChangeToken?
        let task: Task<Result<ZoneChanges, ChangeFeedError>, Never>
    }

    private func lookAhead(_ request: ZoneChangesRequest) -> LookAhead {
        LookAhead(
            zoneID: request.zoneID, since: request.since,
            task: Task(executorPreference: configuration.executor) { await self.zoneChanges(request) })
    }

    // MARK: The delegate

    /// Names the delivery whose handler a task was started by.
    struct DeliveryTag: Sendable {
        let engine: ObjectIdentifier
        let number: Int
    }

    @TaskLocal static var deliveryTag: DeliveryTag?

    /// Throws if the caller is, or was started by, a handler of this engine that still runs.
    func refuseReentrantCall() throws(SyncEngineError) {
        guard let tag = EngineCore.deliveryTag, tag.engine == ObjectIdentifier(self),
            guarded.withLock({ $0.delivery?.number == tag.number })
        else { return }
        throw SyncEngineError(
            .reentrantCall,
            "The call was made from within the handler of delivery \(tag.number), and would wait for that handler. Do "
                + "it after the handler has returned, or use the context.")
    }

    private func begin(
        _ changes: [StateChange], isAnswer: Bool = false
    ) -> (number: Int, delegate: (any SyncEngineDelegate)?) {
        guarded.withLock { guarded in
            guarded.lastDelivery += 1
            guarded.delivery = Running(number: guarded.lastDelivery, isAnswer: isAnswer, changes: changes)
            return (guarded.lastDelivery, guarded.delegate)
        }
    }

    private func deliver(_ delivery: Delivery, _ driver: Int) async -> PassAction {
        let (number, delegate) = begin(delivery.changes, isAnswer: delivery.name == "sentRecordZoneChanges")
        withMachine { $0.basis.note(.delivered(delivery.name, delivery: number)) }
        journal.flush()
        var failure: String?
        if let delegate {
            let event = delivery.event(SyncEngine.Checkpoint(core: self, delivery: number))
            let context = SyncEngine.EventContext(core: self, delivery: number)
            do {
                try await EngineCore.$deliveryTag.withValue(DeliveryTag(engine: ObjectIdentifier(self), number: number))
                {
                    try await delegate.handleEvent(event, context: context)
                }
            } catch {
                failure = "\(error)"
            }
        }
        let (action, hasToPersist) = withGuarded { guarded in
            var handled = Handled(failure: failure)
            if let running = guarded.delivery, running.number == number {
                guarded.delivery = nil
                handled.quarantined = running.quarantined
                acknowledge(running, failure, &guarded.machine)
            }
            guarded.machine.basis.note(
                failure.map { .refused(delivery.name, delivery: number, error: $0) }
                    ?? .acknowledged(delivery.name, delivery: number))
            guarded.machine.acknowledged(delivery, handled)
            let action = guarded.machine.delivered(driver, delivery, handled)
            return (action, configuration.stateStore != nil && guarded.machine.basis.log.hasUnpersisted)
        }
        if hasToPersist { await persistWhatThereIs() }
        return action
    }

    /// What an event covered becomes part of the state, if its handler has returned.
    private func acknowledge(_ running: Running, _ failure: String?, _ machine: inout SyncStateMachine) {
        guard failure == nil, !machine.isStopped else { return }
        // Where the engine has a store, only what that has counts as stored.
        let taken = configuration.stateStore == nil ? running.taken : nil
        let stored = taken?.changeCount ?? 0
        if let taken { machine.basis.log.persisted(taken) }
        machine.basis.log.applyPersisted(running.changes[..<stored])
        machine.basis.record(Array(running.changes[stored...]))
        for record in running.quarantined {
            machine.basis.note(.quarantined(record.recordID, reason: record.reason))
        }
    }

    private func asking<Answer: Sendable>(
        _ body: (any SyncEngineDelegate) async -> Answer
    ) async -> Answer? {
        let (number, delegate) = begin([])
        defer {
            guarded.withLock { guarded in
                if guarded.delivery?.number == number { guarded.delivery = nil }
            }
        }
        guard let delegate else { return nil }
        return await EngineCore.$deliveryTag.withValue(DeliveryTag(engine: ObjectIdentifier(self), number: number)) {
            await body(delegate)
        }
    }

    func quarantine(_ record: SyncEngine.QuarantinedRecord, in delivery: Int) {
        guarded.withLock { guarded in
            guard guarded.delivery?.number == delivery else { return }
            guarded.delivery?.quarantined.append(record)
            guarded.delivery?.changes.append(.quarantined(record))
        }
    }

    // MARK: What is to be stored

    func serialization(in delivery: Int?) -> SyncEngine.State.Serialization {
        taking(in: delivery) { $0.takeSerialization(with: $1, after: $2) }
    }

    func increment(in delivery: Int) -> SyncEngine.State.Increment {
        taking(in: delivery) { $0.takeIncrement(with: $1, after: $2) }
    }

    /// Gives out what is to be stored; within a handler, with what its return acknowledges.
    private func taking<Form>(
        in delivery: Int?, _ body: (inout StateLog, [StateChange], StateLog.Taken?) -> (Form, StateLog.Taken)
    ) -> Form {
        guarded.withLock { guarded in
            guard let running = guarded.delivery, running.number == delivery else {
                return body(&guarded.machine.basis.log, [], nil).0
            }
            let (form, taken) = body(&guarded.machine.basis.log, running.changes, running.taken)
            guarded.delivery?.taken = taken
            return form
        }
    }

    private func persistWhatThereIs() async {
        do throws(SyncEngineError) {
            try await persist()
        } catch {
            // Nothing is lost: what is not stored comes again. A state that another engine has taken over is no
            // longer this one's.
            if error.code == .staleState { carryOut(withGuarded { $0.machine.stop() }) }
        }
    }

    /// Stores what has not been stored. Callers at the same time wait for their turn, and may find it done.
    func persist() async throws(SyncEngineError) {
        guard let store = configuration.stateStore else { return }
        await persistence.enter()
        defer { persistence.leave() }
        let next = guarded.withLock { guarded -> (SyncEngine.State.Increment, StateLog.Taken)? in
            guarded.machine.basis.log.hasUnpersisted ? guarded.machine.basis.log.takeIncrement(with: []) : nil
        }
        guard let (increment, taken) = next else { return }
        do throws(SyncEngineError) {
            try await store.persist(increment) {
                self.guarded.withLock { $0.machine.basis.log.currentSerialization }
            }
            withGuarded { guarded in
                guarded.machine.basis.log.persisted(taken)
                guarded.machine.basis.note(.persisted(revision: increment.revision, bytes: increment.steps.count))
            }
        } catch {
            withMachine { $0.basis.note(.notPersisted(error.message)) }
            throw error
        }
    }

    // MARK: Pending changes

    func add(
        _ records: [(SyncEngine.PendingRecordZoneChange, tag: String?)], zones: [SyncEngine.PendingDatabaseChange],
        in delivery: Int?
    ) {
        if records.isEmpty, zones.isEmpty { return }
        change(in: delivery) { log, nextGeneration in
            for (change, tag) in records {
                let intent: Intent = if case .saveRecord = change { .save } else { .delete }
                log.record(
                    .recordAdded(change.recordID, .init(intent: intent, generation: nextGeneration(), tag: tag)))
            }
            for change in zones {
                let intent: Intent = if case .saveZone = change { .save } else { .delete }
                log.record(.zoneAdded(change.zoneID, .init(intent: intent, generation: nextGeneration(), tag: nil)))
            }
            return (records.map(\.0.recordID), 0)
        }
    }

    func remove(
        _ records: [SyncEngine.PendingRecordZoneChange], zones: [SyncEngine.PendingDatabaseChange], in delivery: Int?
    ) {
        if let delivery { takeBackAnswered(records, in: delivery) }
        change(in: delivery) { log, _ in
            var removed = 0
            for change in records {
                let intent: Intent = if case .saveRecord = change { .save } else { .delete }
                guard let part = log.state.session.records[change.recordID]?.pending, part.intent == intent else {
                    continue
                }
                log.record(.recordTakenBack(change.recordID))
                removed += 1
            }
            for change in zones {
                let intent: Intent = if case .saveZone = change { .save } else { .delete }
                guard let part = log.state.session.zones[change.zoneID]?.pending, part.intent == intent else {
                    continue
                }
                log.record(.zoneTakenBack(change.zoneID))
                removed += 1
            }
            return ([], removed)
        }
    }

    /// Whoever is told that a change was refused and is still pending may take it back there and then: it stops being on
    /// its way when his handler returns.
    private func takeBackAnswered(_ changes: [SyncEngine.PendingRecordZoneChange], in delivery: Int) {
        guarded.withLock { guarded in
            guard var running = guarded.delivery, running.number == delivery, running.isAnswer else { return }
            for change in changes {
                let intent: Intent = if case .saveRecord = change { .save } else { .delete }
                guard let entry = guarded.machine.basis.session.records[change.recordID], entry.pending == nil,
                    let part = entry.inFlight, part.intent == intent
                else { continue }
                running.changes.append(.recordDone(change.recordID, part.generation))
            }
            guarded.delivery = running
        }
    }

    func setUntracked(_ isSet: Bool, in delivery: Int?) {
        change(in: delivery) { log, _ in
            if log.state.session.hasUntracked != isSet { log.record(.untracked(isSet)) }
            return ([], 0)
        }
    }

    func changeParked(_ step: StateChange, in delivery: Int?) {
        change(in: delivery) { log, _ in
            log.record(step)
            return ([], 0)
        }
    }

    private func change(
        in delivery: Int?, _ body: (inout StateLog, () -> UInt64) -> (added: [Record.ID], removed: Int)
    ) {
        let consequences = withGuarded { guarded in
            let inHandler = delivery != nil && guarded.delivery?.number == delivery
            return guarded.machine.changePending(inHandler: inHandler, body)
        }
        carryOut(consequences)
    }

    func nextPassNumber() -> Int { guarded.withLock { $0.machine.nextPassNumber() } }

    // MARK: Calls

    func call(_ pass: PassQueue.Pass, named name: String) async -> SyncStateMachine.Settlement {
        let call = guarded.withLock { guarded in
            guarded.lastCall += 1
            return CallID(number: guarded.lastCall)
        }
        let settlement = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let consequences = withGuarded { guarded -> SyncStateMachine.Consequences in
                    if case .cancelled? = guarded.calls[call] {
                        guarded.calls[call] = .waiting(continuation)
                        return .init(settlements: [
                            .init(call: call, result: .failed(.cancelledCall), isJoined: false)
                        ])
                    }
                    guarded.calls[call] = .waiting(continuation)
                    var pass = pass
                    pass.callers = [call]
                    return guarded.machine.call(pass, named: name)
                }
                carryOut(consequences, immediately: true)
            }
        } onCancel: {
            let consequences = withGuarded { guarded -> SyncStateMachine.Consequences? in
                switch guarded.calls[call] {
                case .waiting: return guarded.machine.cancel(call)
                case .cancelled: return nil
                case nil:
                    guarded.calls[call] = .cancelled
                    return nil
                }
            }
            if let consequences { carryOut(consequences) }
        }
        // What the caller does next comes after, also in the sinks.
        await journal.flushed()
        return settlement
    }

    private func settle(_ settlement: SyncStateMachine.Settlement) {
        let call = guarded.withLock { $0.calls.removeValue(forKey: settlement.call) }
        if case .waiting(let continuation)? = call { continuation.resume(returning: settlement) }
    }

    func receive(_ trigger: SyncEngine.Trigger) -> SyncEngine.Decision {
        let (decision, consequences) = withMachine { $0.receive(trigger) }
        carryOut(consequences)
        return decision
    }

    func cancelAll() {
        carryOut(withMachine { $0.cancelAll() })
    }

    func stop() {
        let consequences = withGuarded { guarded in
            guarded.delegate = nil
            return guarded.machine.stop()
        }
        carryOut(consequences)
    }

    // MARK: Time

    /// When something is due; nil if nothing is.
    var nextWakeUp: Date? {
        let (next, now) = withMachine { ($0.nextWakeUp, $0.basis.now) }
        return next.map { configuration.now().addingTimeInterval(($0 - now).seconds) }
    }

    /// Sleeps until something is due, if the engine acts by itself.
    private func armSleeper() {
        withGuarded { guarded in
            let next = guarded.machine.nextWakeUp
            if guarded.sleeper?.until == next { return }
            guarded.sleeper?.task.cancel()
            guarded.sleeper = nil
            guard let next else { return }
            let task = spawn { [weak self, clock] in
                guard (try? await clock.sleep(next)) != nil else { return }
                self?.wake(next)
            }
            guarded.sleeper = (next, task)
        }
    }

    private func wake(_ time: Duration) {
        let consequences = withGuarded { guarded in
            if guarded.sleeper?.until == time { guarded.sleeper = nil }
            return guarded.machine.wake()
        }
        carryOut(consequences)
    }

    /// Waits until nothing runs, waits or is due: for tests under a clock of their own.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = withGuarded { guarded in
                if guarded.machine.isIdle { return true }
                guarded.idleWaiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
        await journal.flushed()
    }

    private func wakeIdleWaiters() {
        let waiters = guarded.withLock { guarded -> [CheckedContinuation<Void, Never>] in
            guard !guarded.idleWaiters.isEmpty, guarded.machine.isIdle else { return [] }
            defer { guarded.idleWaiters = [] }
            return guarded.idleWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// Stands where the delegate was.
private final class NoDelegate: SyncEngineDelegate {
    func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async {}
    func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext
    ) async -> SyncEngine.RecordZoneChangeBatch? { nil }
}

extension Duration {
    /// The duration in seconds, as calendar dates count.
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
