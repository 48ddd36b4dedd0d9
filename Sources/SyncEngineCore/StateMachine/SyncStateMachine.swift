import ChangeFeed

/// What an engine does, as a value: facts in, actions out. No clock, no lock and nothing asynchronous in here.
///
/// | part | says |
/// |---|---|
/// | `TriggerDecision` | what is decided about each trigger |
/// | `PassQueue` | what runs, what waits, and who waits for it |
/// | `AccountGate` | whether anything may be sent or fetched |
/// | `FetchPass` | the steps of a fetch |
/// | `SendPass` | the steps of a send |
/// | `Schedule` | when something is repeated |
/// | `StateLog` | what has to survive a restart |
///
/// One pass runs at a time. Its driver has a number; facts with another are late, and are dropped.
struct SyncStateMachine: Sendable {
    var basis: Basis
    private(set) var memory = SendMemory()
    private(set) var queue = PassQueue()
    private(set) var gate = AccountGate()
    private(set) var isStopped = false
    private var work = Work.none
    /// The number of the driver whose facts count.
    private(set) var driver = 0
    /// What comes after an event that was put in between.
    private var stashed: PassAction?
    private var hasAddedSinceBegin = false
    private var hasUpdatedAtEnd = false
    private var recentHints: [String] = []
    /// When the state is to be handed to who stores it, because something was added.
    private var updateDue: Duration?

    /// How long additions are collected before the state is handed over (rule ST3).
    static let updateDelay = Duration.milliseconds(100)

    private enum Work: Sendable {
        case none
        /// The account is being looked up, or the app told of it. Can become each of the others.
        case account
        case subscribing
        case fetch(FetchPass)
        case send(SendPass)
        case update
        /// The pass has its result, and only an event may be left. Can become `none`.
        case ending(Result)
    }

    /// What came of a pass.
    enum Result: Sendable {
        case fetched(SyncEngine.FetchSummary)
        case sent(SyncEngine.SendOutcome)
        case skipped(SyncEngine.FetchOutcome.SkipReason)
        case failed(SyncEngineError)
        case updated
    }

    /// A pass that a driver is to be started for.
    struct Start: Sendable {
        let driver: Int
        let action: PassAction
    }

    /// A caller who gets his answer.
    struct Settlement: Sendable {
        let call: CallID
        let result: Result
        /// Whether another's pass served the call.
        let isJoined: Bool
    }

    /// What the driver has to do beside going on with the pass.
    struct Consequences: Sendable {
        var start: Start?
        var settlements: [Settlement] = []
        /// The driver that is no more, whose request is to be cancelled.
        var cancelledDriver: Int?

        mutating func add(_ other: Consequences) {
            start = start ?? other.start
            settlements += other.settlements
            cancelledDriver = cancelledDriver ?? other.cancelledDriver
        }
    }

    /// Whether nothing runs, waits or is due.
    var isIdle: Bool {
        queue.running == nil && queue.waiting.isEmpty && (nextWakeUp.map { $0 > basis.now } ?? true)
    }

    init(_ basis: Basis) {
        self.basis = basis
    }

    /// The engine was made. A state of another store keeps what is pending, and its cursors are worth nothing.
    mutating func created(with configuration: SyncEngine.Configuration) {
        let name = configuration.storeIdentifier
        if !sameBytes(basis.log.state.store, name) {
            if !basis.log.state.store.isEmpty, basis.cursors.databaseToken != nil {
                basis.note(.resync(nil, because: "the state was saved for another store"))
                basis.record([.databaseResyncBegan])
                for zoneID in basis.cursors.zoneIDs { basis.record([.resyncBegan(zoneID)]) }
            }
            basis.record([.store(name)])
        }
        basis.note(
            .created(
                revision: configuration.stateSerialization?.revision, userID: basis.log.state.account,
                policy: configuration.policy.name))
    }

    mutating func nextPassNumber() -> Int { queue.nextNumber() }

    // MARK: The situation

    var situation: SyncEngine.Situation {
        if isStopped { return .stopped }
        switch work {
        case .none: break
        case .fetch(let pass):
            return pass.isDatabaseRequestIssued ? .fetchingAfterDatabaseStep : .fetchingBeforeDatabaseStep
        case .send: return .sending
        case .account, .subscribing:
            return queue.running?.kind == .send ? .sending : .fetchingBeforeDatabaseStep
        case .update, .ending:
            return queue.running?.kind == .send ? .sending : .fetchingAfterDatabaseStep
        }
        // A pass that has been started and not begun yet.
        if let kind = queue.running?.kind {
            return kind == .send ? .sending : kind == .fetch ? .fetchingBeforeDatabaseStep : .fetchingAfterDatabaseStep
        }
        if gate.state == .shut { return .noAccount }
        return basis.schedule.remaining(at: basis.now) == nil ? .idle : .coolingDown
    }

    /// Whether something is pending that a send would take up by itself.
    var hasSendableChanges: Bool {
        let session = basis.session
        if session.hasUntracked || !memory.unanswered.isEmpty || !memory.unheard.isEmpty
            || session.zones.pendingCount > 0
        {
            return true
        }
        let held = Set(memory.blocked.keys).union(memory.skipped.keys)
        let heldCount = held.count { session.records[$0]?.pending != nil }
        return session.records.pendingCount > heldCount
    }

    /// Whether anything is pending at all.
    var hasPendingChanges: Bool {
        let session = basis.session
        return session.hasUntracked || !session.records.isEmpty || !session.zones.isEmpty
    }

    /// When the engine should be woken, if it acts by itself: the time since it was made.
    var nextWakeUp: Duration? {
        guard !isStopped, basis.policy.actsByItself else { return nil }
        var times: [Duration] = []
        if let updateDue { times.append(updateDue) }
        if queue.running == nil, gate.state != .shut {
            if let coolsUntil = basis.schedule.coolsUntil { times.append(coolsUntil) }
            if let period = basis.policy.period, basis.policy[.periodic] != .ignore {
                times.append(max(basis.schedule.lastFetch + period, basis.schedule.coolsUntil ?? .zero))
            }
        }
        return times.min()
    }

    // MARK: Triggers

    mutating func receive(_ trigger: SyncEngine.Trigger) -> (SyncEngine.Decision, Consequences) {
        let kind = trigger.kind
        let situation = situation
        if case .push(let hint) = trigger, situation != .stopped, !isNew(hint) {
            return decided(kind, .ignored(.notForThisEngine), situation)
        }
        let rule = basis.policy[kind]
        let marks = kind == .push || kind == .enteredForeground
        if marks, basis.policy.explicitFetch == .whenDirty, situation != .stopped, !basis.cursors.needsDatabaseFetch {
            basis.record([.needsDatabaseFetch(true)])
        }
        var consequences = Consequences()
        if kind == .accountChanged, !isStopped { consequences = closeGate() }
        let decision = TriggerDecision.decide(
            kind,
            in: .init(
                rule: rule, situation: situation,
                hasPendingChanges: kind == .pendingChangesAdded || kind == .retryDue
                    ? hasSendableChanges : hasPendingChanges,
                cooldown: basis.schedule.remaining(at: basis.now) ?? .zero))
        basis.note(.triggered(kind, decision, situation: situation))
        switch decision {
        case .starts, .queued:
            enqueue(rule, for: kind)
        case .joins:
            join(rule, kind)
        case .deferred:
            basis.schedule.wait(for: rule.work)
        case .ignored: break
        }
        if consequences.start == nil { consequences.start = startNext() }
        return (decision, consequences)
    }

    private mutating func decided(
        _ kind: SyncEngine.TriggerKind, _ decision: SyncEngine.Decision, _ situation: SyncEngine.Situation
    ) -> (SyncEngine.Decision, Consequences) {
        basis.note(.triggered(kind, decision, situation: situation))
        return (decision, Consequences())
    }

    /// A hint that comes twice says nothing new the second time.
    private mutating func isNew(_ hint: ChangeNotification) -> Bool {
        if let expected = basis.subscriptionID, !sameBytes(hint.subscriptionID, expected) { return false }
        if recentHints.contains(where: { sameBytes($0, hint.notificationID) }) { return false }
        recentHints.append(hint.notificationID)
        if recentHints.count > 64 { recentHints.removeFirst() }
        return true
    }

    private mutating func enqueue(_ rule: SyncEngine.TriggerPolicy.Rule, for kind: SyncEngine.TriggerKind) {
        var work = rule.work
        if kind == .retryDue, !basis.schedule.wanted.isEmpty { work = basis.schedule.wanted }
        if work.contains(.fetch) {
            var pass = PassQueue.Pass(number: queue.nextNumber(), kind: .fetch, reason: .scheduled)
            pass.asksDatabase = true
            pass.triggers = [kind]
            queue.enqueue(pass)
        }
        // Whether there is something to send shows when its turn comes.
        if work.contains(.send), rule == .send || hasPendingChanges || kind == .accountChanged {
            var pass = PassQueue.Pass(number: queue.nextNumber(), kind: .send, reason: .scheduled)
            pass.triggers = [kind]
            queue.enqueue(pass)
        }
    }

    private mutating func join(_ rule: SyncEngine.TriggerPolicy.Rule, _ kind: SyncEngine.TriggerKind) {
        if rule == .send {
            hasAddedSinceBegin = true
            return
        }
        if case .fetch(var pass) = work, pass.pass.asksDatabase, pass.pass.fetch.scope == .all {
            var other = PassQueue.Pass(number: 0, kind: .fetch, reason: .scheduled)
            other.triggers = [kind]
            pass.serve(other)
            work = .fetch(pass)
            queue.running?.merge(other)
        } else {
            // What runs does not look at everything, or is still with the account.
            enqueue(.fetch, for: kind)
        }
        if rule == .fetchAndSend, hasPendingChanges { enqueue(.send, for: kind) }
    }

    // MARK: Calls

    /// A call of the app's. Gives what was decided, for the journal has it too.
    mutating func call(_ pass: PassQueue.Pass, named name: String) -> Consequences {
        let situation = situation
        var pass = pass
        if isStopped {
            basis.note(.called(name, .ignored(.stopped), situation: situation))
            return Consequences(
                settlements: pass.callers.map { Settlement(call: $0, result: .failed(.stoppedEngine), isJoined: false) }
            )
        }
        if basis.policy.explicitFetch == .whenDirty, pass.kind == .fetch {
            pass.forcedZoneIDs = []
            pass.asksDatabase =
                pass.asksDatabase && (basis.cursors.needsDatabaseFetch || basis.cursors.databaseToken == nil)
        }
        if case .fetch(var running) = work, pass.kind == .fetch, !running.isDatabaseRequestIssued, !running.isAborted,
            !pass.retriesQuarantine, running.pass.asksDatabase || !pass.asksDatabase,
            running.pass.fetch.scope.covers(pass.fetch.scope)
        {
            running.serve(pass)
            work = .fetch(running)
            queue.running?.merge(pass)
            basis.note(.called(name, .joins, situation: situation))
            return Consequences()
        }
        basis.note(.called(name, queue.running == nil ? .starts : .queued, situation: situation))
        queue.enqueue(pass)
        return Consequences(start: startNext())
    }

    /// A caller's task was cancelled.
    mutating func cancel(_ call: CallID) -> Consequences {
        queue.forget(call)
        var consequences = Consequences()
        consequences.settlements = [Settlement(call: call, result: .failed(.cancelledCall), isJoined: false)]
        guard var running = queue.running, running.callers.contains(call) else { return consequences }
        running.callers.removeAll { $0 == call }
        queue.running = running
        basis.note(.cancelled(running.kind.rawValue))
        if running.callers.isEmpty, running.triggers.isEmpty {
            let ended = endEarly(.cancelledCall, abandons: false)
            consequences.start = ended.start
            consequences.cancelledDriver = ended.cancelledDriver
        }
        return consequences
    }

    /// Everything that runs or waits is cancelled (rule I10). A request that is under way may still succeed, and is
    /// then reported.
    mutating func cancelAll() -> Consequences {
        basis.note(.cancelled("everything"))
        var settlements = queue.removeAllWaiting().flatMap(\.callers)
        if var running = queue.running {
            settlements += running.callers
            running.callers = []
            queue.running = running
        }
        basis.schedule.reset()
        var consequences = endEarly(.cancelledCall, abandons: isEnding)
        consequences.settlements += settlements.map {
            Settlement(call: $0, result: .failed(.cancelledCall), isJoined: false)
        }
        return consequences
    }

    /// Whether the pass that runs was asked to end before.
    private var isEnding: Bool {
        if case .send(let pass) = work { pass.isAborted } else { false }
    }

    mutating func stop() -> Consequences {
        guard !isStopped else { return Consequences() }
        basis.note(.stopped)
        isStopped = true
        var calls = queue.removeAllWaiting().flatMap(\.callers)
        calls += queue.running?.callers ?? []
        let running = driver
        driver += 1
        basis.pass = nil
        queue.running = nil
        work = .none
        basis.log.withUnwritten { $0.takeAllBack() }
        return Consequences(
            settlements: calls.map { Settlement(call: $0, result: .failed(.stoppedEngine), isJoined: false) },
            cancelledDriver: running)
    }

    // MARK: Ending early

    /// The account may be another: nothing is asked or sent any more, and answers that are under way are dropped.
    private mutating func closeGate() -> Consequences {
        gate.signalled()
        basis.schedule.reset()
        let error = SyncEngineError(.cancelled, "The account may have changed, which ends what was under way.")
        return endEarly(error, abandons: true)
    }

    /// Ends the pass that runs: at once where only the server is waited for, else after the handler that runs.
    private mutating func endEarly(_ error: SyncEngineError, abandons: Bool) -> Consequences {
        switch work {
        case .fetch(var pass):
            let canCloseNow = pass.canCloseNow
            let action = pass.abort(error, &basis)
            work = .fetch(pass)
            return canCloseNow ? replaceDriver(with: action) : Consequences()
        case .send(var pass):
            if pass.isModifying, !abandons {
                pass.cancel(error)
                work = .send(pass)
                return Consequences()
            }
            let action = pass.abandon(error, &basis, &memory)
            work = .send(pass)
            if case .none = action { return Consequences() }
            return replaceDriver(with: action)
        case .account:
            // The app may be hearing of an account right now; the answer of a look-up is dropped.
            if case .telling = gate.state { return Consequences() }
            return replaceDriver(with: end(.failed(error)))
        case .subscribing:
            return replaceDriver(with: end(.failed(error)))
        case .none:
            guard queue.running != nil else { return Consequences() }
            return replaceDriver(with: end(.failed(error)))
        case .update, .ending:
            return Consequences()
        }
    }

    private mutating func replaceDriver(with action: PassAction) -> Consequences {
        if stashed != nil {
            // A handler is being handed the state: the pass ends when it has returned.
            stashed = action
            return Consequences()
        }
        let cancelled = driver
        driver += 1
        return Consequences(start: Start(driver: driver, action: action), cancelledDriver: cancelled)
    }

    // MARK: A pass, from its beginning

    private mutating func startNext() -> Start? {
        guard !isStopped, let pass = queue.startNext() else { return nil }
        driver += 1
        hasAddedSinceBegin = false
        hasUpdatedAtEnd = false
        basis.pass = pass.number
        basis.note(.began(pass.kind.rawValue, reason: pass.reason, triggers: pass.triggers))
        if pass.kind == .update {
            work = .update
            updateDue = nil
            return Start(driver: driver, action: stateUpdate() ?? .finish)
        }
        work = .account
        return Start(driver: driver, action: .askAccount)
    }

    private mutating func stateUpdate() -> PassAction? {
        guard basis.log.hasUnpersisted else { return nil }
        updateDue = nil
        return .deliver(Delivery(name: "stateUpdate") { .stateUpdate(.init(checkpoint: $0)) })
    }

    mutating func accountReceived(
        _ driver: Int, _ result: Swift.Result<Account, ChangeFeedError>
    ) -> PassAction {
        guard driver == self.driver, case .account = work else { return late("account") }
        switch result {
        case .failure(let error):
            basis.note(.failed("account", code: "\(error.code)", retryAfter: error.retryAfter))
            if error.code == .notAuthenticated || error.code == .accountTemporarilyUnavailable {
                return end(.skipped(.noAccount))
            }
            if error.code.isRepeated { basis.refused(error, wants: queue.running?.kind == .send ? .send : .fetch) }
            return end(.failed(.requestFailed(error)))
        case .success(let account):
            if AccountGate.isAnother(account, than: basis.log.state.account) {
                // What is remembered, and what is on its way, is the old account's.
                memory = SendMemory()
                basis.log.withUnwritten { $0.takeAllBack() }
            }
            switch gate.found(account, &basis) {
            case .open: return openWork()
            case .shut: return end(.skipped(.noAccount))
            case .tell(let change, let steps):
                return .deliver(
                    Delivery(name: "accountChange", event: { _ in .accountChange(change) }, changes: steps))
            }
        }
    }

    private mutating func accountTold(_ handled: Handled) -> PassAction {
        // A change that was signalled while the app heard of another is looked up by the next pass.
        let wasTelling = if case .telling = gate.state { true } else { false }
        gate.told(handled)
        if let reason = handled.failure {
            return end(
                .failed(SyncEngineError(.handlerFailed, "The delegate could not take an account change: \(reason)")))
        }
        memory = SendMemory()
        basis.schedule.reset()
        guard wasTelling else { return end(.failed(.cancelledCall)) }
        return gate.state == .open ? openWork() : end(.skipped(.noAccount))
    }

    private mutating func openWork() -> PassAction {
        if let subscriptionID = basis.subscriptionID, basis.session.subscriptionID != subscriptionID {
            work = .subscribing
            basis.note(.requested("subscription \(subscriptionID)"))
            var request = SubscriptionModifyRequest(
                saving: [Subscription(subscriptionID: subscriptionID, kind: .database)])
            request.ifUser = basis.userID
            return .subscribe(request)
        }
        guard let pass = queue.running else { return .finish }
        switch pass.kind {
        case .fetch:
            memory.fetchBegins()
            var fetch = FetchPass(pass)
            let action = fetch.begin(&basis)
            work = .fetch(fetch)
            return action
        case .send:
            var send = SendPass(pass)
            let action = send.begin(&basis, &memory)
            work = .send(send)
            return action
        case .update:
            return end(.updated)
        }
    }

    mutating func subscribed(_ driver: Int, _ failure: ChangeFeedError?) -> PassAction {
        guard driver == self.driver, case .subscribing = work, let subscriptionID = basis.subscriptionID else {
            return late("subscription")
        }
        if let failure {
            // Without it no hints come; everything else works, and the next pass tries again.
            basis.note(.failed("subscription", code: "\(failure.code)", retryAfter: failure.retryAfter))
            if failure.code.isRepeated { basis.refused(failure, wants: .fetch) }
            return end(.failed(.requestFailed(failure)))
        }
        basis.note(.answered("subscription \(subscriptionID)"))
        basis.record([.subscribed(subscriptionID)])
        return openWork()
    }

    private mutating func late(_ what: String) -> PassAction {
        basis.note(.dropped(what))
        return .none
    }

    // MARK: Facts of a fetch

    mutating func databasePageReceived(
        _ driver: Int, _ result: Swift.Result<DatabaseChanges, ChangeFeedError>
    ) -> PassAction {
        guard driver == self.driver, case .fetch(var pass) = work else { return late("database changes") }
        basis.schedule.lastFetch = basis.now
        // Given up for the time, so that the pass is changed where it stands and not copied.
        work = .none
        defer { work = .fetch(pass) }
        return pass.databasePageReceived(result, &basis)
    }

    mutating func optionsReceived(_ driver: Int, _ options: SyncEngine.FetchChangesOptions) -> PassAction {
        guard driver == self.driver, case .fetch(var pass) = work else { return late("options") }
        work = .none
        defer { work = .fetch(pass) }
        return pass.optionsReceived(options, &basis)
    }

    mutating func zonePageReceived(
        _ driver: Int, _ result: Swift.Result<ZoneChanges, ChangeFeedError>
    ) -> PassAction {
        guard driver == self.driver, case .fetch(var pass) = work else { return late("zone changes") }
        work = .none
        defer { work = .fetch(pass) }
        return pass.zonePageReceived(result, &basis)
    }

    // MARK: Facts of a send

    mutating func zonesModified(
        _ driver: Int, _ result: Swift.Result<RecordZoneModifyResults, ChangeFeedError>
    ) -> PassAction {
        guard driver == self.driver, case .send(var pass) = work else { return late("saved zones") }
        work = .none
        defer { work = .send(pass) }
        return pass.zonesModified(result, &basis, &memory)
    }

    mutating func batchReceived(_ driver: Int, _ batch: SyncEngine.RecordZoneChangeBatch?) -> PassAction {
        guard driver == self.driver, case .send(var pass) = work else { return late("batch") }
        work = .none
        defer { work = .send(pass) }
        return pass.batchReceived(batch, &basis, &memory)
    }

    mutating func recordsModified(
        _ driver: Int, _ result: Swift.Result<RecordModifyResults, ChangeFeedError>
    ) -> PassAction {
        guard driver == self.driver, case .send(var pass) = work else { return late("saved records") }
        work = .none
        defer { work = .send(pass) }
        let action = pass.recordsModified(result, &basis, &memory)
        if basis.policy.explicitFetch == .whenDirty, !basis.cursors.needsDatabaseFetch {
            // As the original seems to: what was sent makes the database worth asking (rule I5).
            basis.record([.needsDatabaseFetch(true)])
        }
        return action
    }

    mutating func recordsReceived(
        _ driver: Int, _ result: Swift.Result<[Record.ID: Swift.Result<Record, ChangeFeedError>], ChangeFeedError>,
        asked: [Record.ID]
    ) -> PassAction {
        guard driver == self.driver else { return late("records") }
        switch work {
        case .fetch(var pass):
            work = .none
            defer { work = .fetch(pass) }
            return pass.recordsReceived(result, asked: asked, &basis)
        case .send(var pass):
            work = .none
            defer { work = .send(pass) }
            return pass.recordsReceived(result, &basis, &memory)
        default:
            return late("records")
        }
    }

    func candidates(after place: UInt64, limit: Int) -> [SendPass.Candidate] {
        guard case .send(let pass) = work else { return [] }
        return pass.candidates(after: place, limit: limit, basis, memory)
    }

    func isPendingSave(_ recordID: Record.ID) -> Bool {
        guard case .send(let pass) = work, let part = basis.session.records[recordID]?.pending else { return false }
        return part.intent == .save && pass.isCandidate(recordID, memory)
    }

    // MARK: What the delegate has done

    /// A handler has returned or thrown; what it acknowledges is part of the state by now.
    mutating func delivered(_ driver: Int, _ delivery: Delivery, _ handled: Handled) -> PassAction {
        guard driver == self.driver else { return late(delivery.name) }
        if let next = stashed {
            stashed = nil
            return next
        }
        let action = delivered(delivery, handled)
        let isMilestone =
            delivery.name.hasPrefix("did") || delivery.name.hasPrefix("sent")
            || delivery.name == "accountChange"
        if isMilestone, case .finish = action { return action }
        if isMilestone, let update = stateUpdate() {
            stashed = action
            return update
        }
        return action
    }

    private mutating func delivered(_ delivery: Delivery, _ handled: Handled) -> PassAction {
        switch work {
        case .account: return accountTold(handled)
        case .fetch(var pass):
            work = .none
            defer { work = .fetch(pass) }
            return pass.delivered(handled, &basis)
        case .send(var pass):
            work = .none
            defer { work = .send(pass) }
            return pass.delivered(handled, &basis, &memory)
        case .update: return .finish
        case .none, .subscribing, .ending: return .finish
        }
    }

    // MARK: A pass, at its end

    private mutating func end(_ result: Result) -> PassAction {
        work = .ending(result)
        return .finish
    }

    /// The driver has come to the end of the pass.
    mutating func finished(_ driver: Int) -> (PassAction, Consequences) {
        guard driver == self.driver, let pass = queue.running else { return (late("end"), Consequences()) }
        let result = result()
        work = .ending(result)
        // Once, for a handler may refuse it or have no use for it.
        if !hasUpdatedAtEnd, pass.kind != .update, let update = stateUpdate() {
            hasUpdatedAtEnd = true
            return (update, Consequences())
        }
        basis.note(.ended(result.summary))
        basis.pass = nil
        queue.running = nil
        work = .none
        var consequences = Consequences()
        for (index, call) in pass.callers.enumerated() {
            consequences.settlements.append(Settlement(call: call, result: result, isJoined: index > 0))
        }
        planMore(after: pass, result)
        consequences.start = startNext()
        return (.none, consequences)
    }

    private func result() -> Result {
        switch work {
        case .ending(let result): return result
        case .fetch(let pass):
            if let failure = pass.failure {
                return failure.underlying?.code == .notAuthenticated ? .skipped(.noAccount) : .failed(failure)
            }
            let asked = pass.pass.asksDatabase || !pass.summary.zones.isEmpty
            if !asked, basis.policy.explicitFetch == .whenDirty { return .skipped(.notDirty) }
            return .fetched(pass.summary)
        case .send(let pass):
            if let failure = pass.failure { return .failed(failure.with(pass.outcome)) }
            if let conflict = pass.hasUnresolvedConflict { return .failed(conflict.with(pass.outcome)) }
            return pass.outcome.hasFailures ? .failed(.sendFailed(pass.outcome)) : .sent(pass.outcome)
        case .update, .none, .account, .subscribing:
            return .updated
        }
    }

    private mutating func planMore(after pass: PassQueue.Pass, _ result: Result) {
        switch (pass.kind, result) {
        case (.fetch, .fetched(let summary)) where summary.isComplete: basis.schedule.done(.fetch)
        case (.send, .sent(let outcome)) where outcome.retryingCount == 0: basis.schedule.done(.send)
        default: break
        }
        guard pass.kind == .send, basis.policy.actsByItself, basis.policy[.pendingChangesAdded].work.contains(.send),
            gate.state == .open, basis.schedule.remaining(at: basis.now) == nil, hasSendableChanges
        else { return }
        guard hasAddedSinceBegin || result.requestCount > 0 else { return }
        basis.note(.triggered(.pendingChangesAdded, .starts, situation: .idle))
        enqueue(.send, for: .pendingChangesAdded)
    }

    // MARK: Time

    /// The time that `nextWakeUp` named has come: gives itself the triggers that are due, and hands the state over if
    /// nothing else has.
    mutating func wake() -> Consequences {
        var consequences = Consequences()
        var due: [SyncEngine.Trigger] = []
        if let coolsUntil = basis.schedule.coolsUntil, coolsUntil <= basis.now, queue.running == nil {
            if basis.schedule.wanted.isEmpty { basis.schedule.done([]) } else { due.append(.retryDue) }
        }
        if let period = basis.policy.period, basis.schedule.lastFetch + period <= basis.now, queue.running == nil {
            basis.schedule.lastFetch = basis.now
            if due.isEmpty { due.append(.periodic) }
        }
        for trigger in due { consequences.add(receive(trigger).1) }
        // What the trigger asked for ends the wait, also where it was decided to do nothing.
        if due.contains(.retryDue), queue.running == nil { basis.schedule.reset() }
        if let time = updateDue, time <= basis.now {
            updateDue = nil
            if basis.log.hasUnpersisted { consequences.add(requestUpdate(for: nil)) }
        }
        return consequences
    }

    /// Hands the state over in a pass of its own.
    mutating func requestUpdate(for call: CallID?) -> Consequences {
        var pass = PassQueue.Pass(number: queue.nextNumber(), kind: .update, reason: call == nil ? .scheduled : .manual)
        pass.callers = call.map { [$0] } ?? []
        pass.triggers = call == nil ? [.pendingChangesAdded] : []
        queue.enqueue(pass)
        return Consequences(start: startNext())
    }

    // MARK: Pending changes

    /// Something was added or removed by the app.
    mutating func changePending(
        inHandler: Bool, _ body: (inout StateLog, _ nextGeneration: () -> UInt64) -> (added: [Record.ID], removed: Int)
    ) -> Consequences {
        var generation = basis.log.state.lastGeneration
        let before = basis.session.zones.pendingCount
        let (added, removed) = body(&basis.log) {
            generation += 1
            return generation
        }
        for recordID in added { memory.added(recordID, inHandler: inHandler) }
        let total = basis.session.records.count + basis.session.zones.count
        basis.note(
            .pending(
                added: added.count + max(0, basis.session.zones.pendingCount - before), removed: removed, total: total))
        if updateDue == nil { updateDue = basis.now + Self.updateDelay }
        guard
            generation > basis.log.state.lastGeneration || !added.isEmpty || basis.session.zones.pendingCount > before
                || basis.session.hasUntracked, basis.policy[.pendingChangesAdded] != .ignore
        else { return Consequences() }
        return receive(.pendingChangesAdded).1
    }

    /// Hears what an event has shown before the pass goes on.
    mutating func acknowledged(_ delivery: Delivery, _ handled: Handled) {
        guard handled.failure == nil, !memory.isQuiet else { return }
        for change in delivery.changes {
            if case .zoneToken(let zoneID, _) = change { memory.zoneExists(zoneID) }
        }
        for recordID in delivery.shownRecordIDs { memory.saw(recordID) }
    }

    mutating func clearFailure(_ recordID: Record.ID) { memory.failed[recordID] = nil }
}

extension SyncStateMachine.Result {
    fileprivate var summary: String {
        switch self {
        case .fetched(let summary):
            "fetched \(summary.recordCount) records in \(summary.zones.count) zones"
                + (summary.isComplete ? "" : ", \(summary.unfinishedZoneIDs.count) zones unfinished")
        case .sent(let outcome):
            "sent \(outcome.savedCount) saves and \(outcome.deletedCount) deletions"
                + (outcome.retryingCount > 0 ? ", \(outcome.retryingCount) to be repeated" : "")
        case .skipped(let reason): "skipped: \(reason.rawValue)"
        case .failed(let error): "failed: \(error.code)"
        case .updated: "state handed over"
        }
    }

    fileprivate var requestCount: Int {
        switch self {
        case .sent(let outcome): outcome.requestCount
        case .failed(let error): error.outcome?.requestCount ?? 0
        default: 0
        }
    }
}

extension SyncEngineError {
    fileprivate func with(_ outcome: SyncEngine.SendOutcome) -> SyncEngineError {
        SyncEngineError(code, message, recordID: recordID, underlying: underlying, outcome: outcome)
    }

    fileprivate static func sendFailed(_ outcome: SyncEngine.SendOutcome) -> SyncEngineError {
        let records = Dictionary(
            outcome.failedRecords.map { (ChangeFeedError.ItemID.record($0.key), $0.value) }
        ) { first, _ in first }
        let zones = outcome.failedZones.map { (ChangeFeedError.ItemID.zone($0.key), $0.value) }
        let all = records.merging(zones) { first, _ in first }
        return SyncEngineError(
            .sendFailed, "\(all.count) changes were not sent, and will not be by themselves: see the outcome.",
            underlying: ChangeFeedError(
                .partialFailure, "\(all.count) changes were refused.", rule: "M11", partialErrors: all),
            outcome: outcome)
    }
}

extension SyncEngine.TriggerPolicy.Rule {
    /// What the rule asks for.
    var work: Schedule.Work {
        switch self {
        case .fetchAndSend: [.fetch, .send]
        case .fetch: .fetch
        case .send: .send
        case .note, .ignore: []
        }
    }
}
