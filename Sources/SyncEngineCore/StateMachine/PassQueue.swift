import ChangeFeed

/// Which caller waits for a pass.
struct CallID: Hashable, Sendable {
    let number: Int
}

/// What is done, one at a time, and what waits for its turn.
struct PassQueue: Sendable {
    enum Kind: String, Sendable {
        case fetch
        case send
        /// Only hands the state to who stores it.
        case update
    }

    struct Pass: Sendable {
        let number: Int
        let kind: Kind
        /// Manual if any caller waits for it.
        var reason: SyncEngine.Reason
        var fetch = SyncEngine.FetchChangesOptions()
        /// Zones to be asked whether they are known to have changed or not.
        var forcedZoneIDs: Set<RecordZone.ID> = []
        /// Whether the database is asked, and not only zones.
        var asksDatabase = false
        var send = SyncEngine.SendChangesOptions()
        /// Whether records in quarantine are asked for.
        var retriesQuarantine = false
        /// The callers that wait; the first is the one whose call it is.
        var callers: [CallID] = []
        /// The trigger kinds that it serves.
        var triggers: [SyncEngine.TriggerKind] = []

        mutating func merge(_ other: Pass) {
            if other.reason == .manual { reason = .manual }
            fetch = fetch.union(other.fetch)
            forcedZoneIDs.formUnion(other.forcedZoneIDs)
            asksDatabase = asksDatabase || other.asksDatabase
            retriesQuarantine = retriesQuarantine || other.retriesQuarantine
            send.scope = send.scope.union(other.send.scope)
            callers += other.callers
            triggers += other.triggers
        }
    }

    var running: Pass?
    private(set) var waiting: [Pass] = []
    private var lastNumber = 0

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Puts a pass in the line, or into one of its kind that stands there: at most one of each kind waits.
    mutating func enqueue(_ pass: Pass) {
        if let index = waiting.firstIndex(where: { $0.kind == pass.kind }) {
            waiting[index].merge(pass)
        } else if pass.kind == .fetch, let index = waiting.firstIndex(where: { $0.kind != .fetch }) {
            // What the server has may change what is to be sent.
            waiting.insert(pass, at: index)
        } else {
            waiting.append(pass)
        }
    }

    /// The next in the line begins.
    mutating func startNext() -> Pass? {
        guard running == nil, !waiting.isEmpty else { return nil }
        running = waiting.removeFirst()
        return running
    }

    /// A caller does not wait any more. Passes that nobody asked for any longer leave the line.
    mutating func forget(_ call: CallID) {
        for index in waiting.indices { waiting[index].callers.removeAll { $0 == call } }
        waiting.removeAll { $0.callers.isEmpty && $0.triggers.isEmpty }
    }

    mutating func removeAllWaiting() -> [Pass] {
        defer { waiting = [] }
        return waiting
    }
}
