import ChangeFeed

/// All that an engine has to know after a restart (section 6.10).
///
/// Cursors and the outbox are parts of their own. A token stands here only once the page that it covers has been
/// acknowledged (invariant 8).
struct DurableState: Sendable {
    /// The name of the server's store, as the app calls it.
    var store = ""
    /// Whose state it is; nil before anybody has signed in.
    var account: String?
    var session = Session()
    /// The states of accounts that are signed out, by user.
    private(set) var parkedSessions: [ByteString: Session] = [:]
    /// Where steps go while a parked section is read.
    private var section: ByteString?
    /// The last generation that was given.
    var lastGeneration: UInt64 = 0

    /// What belongs to one account.
    struct Session: Sendable {
        var cursors = Cursors()
        var records = Outbox<Record.ID>()
        var zones = Outbox<RecordZone.ID>()
        /// Pending changes of zones that are gone, in the order of adding.
        var parkedRecords: [RecordZone.ID: [(id: Record.ID, part: Outbox<Record.ID>.Part)]] = [:]
        var quarantine: [Record.ID: SyncEngine.QuarantinedRecord] = [:]
        var quarantineOrder: [Record.ID] = []
        var hasUntracked = false
        var subscriptionID: String?

        mutating func setAside(_ record: SyncEngine.QuarantinedRecord) {
            if quarantine.updateValue(record, forKey: record.recordID) == nil {
                quarantineOrder.append(record.recordID)
            }
        }

        mutating func release(_ recordID: Record.ID) {
            guard quarantine.removeValue(forKey: recordID) != nil else { return }
            quarantineOrder.removeAll { $0 == recordID }
        }
    }

    // MARK: Steps

    /// Takes a step. Total: a step that does not fit changes nothing.
    mutating func apply(_ change: StateChange) {
        switch change {
        case .startedOver: self = DurableState()
        case .store(let name): store = name
        case .account(let userID): account = userID
        case .accountParked:
            guard let account else { return }
            session.takeAllBack()
            parkedSessions[ByteString(account)] = session
            session = Session()
        case .accountRestored(let userID):
            guard var restored = parkedSessions.removeValue(forKey: ByteString(userID)) else { return }
            for entry in session.records.all {
                if let part = entry.unsent { restored.records.add(part, for: entry.id) }
            }
            for entry in session.zones.all {
                if let part = entry.unsent { restored.zones.add(part, for: entry.id) }
            }
            session = restored
        case .parkedAccountDropped(let userID): parkedSessions[ByteString(userID)] = nil
        case .parkedSection(let userID): section = userID.map(ByteString.init)
        default:
            noteGeneration(of: change)
            if let section {
                parkedSessions[section, default: Session()].apply(change)
            } else {
                session.apply(change)
            }
        }
    }

    private mutating func noteGeneration(of change: StateChange) {
        switch change {
        case .recordAdded(_, let part), .parkedRecord(_, let part):
            lastGeneration = max(lastGeneration, part.generation)
        case .zoneAdded(_, let part):
            lastGeneration = max(lastGeneration, part.generation)
        default: return
        }
    }

    /// The steps that make this state out of nothing.
    func forEachStep(_ body: (StateChange) -> Void) {
        if !store.isEmpty { body(.store(store)) }
        for userID in parkedSessions.keys.sorted(by: { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) }) {
            body(.parkedSection(userID.string))
            parkedSessions[userID]?.forEachStep(body)
        }
        if !parkedSessions.isEmpty { body(.parkedSection(nil)) }
        if let account { body(.account(account)) }
        session.forEachStep(body)
    }
}

extension DurableState.Session {
    mutating func takeAllBack() {
        records.takeAllBack()
        zones.takeAllBack()
    }

    mutating func apply(_ change: StateChange) {
        switch change {
        case .quarantined(let record): setAside(record)
        case .unquarantined(let recordID): release(recordID)
        case .subscribed(let subscriptionID): self.subscriptionID = subscriptionID
        case .recordAdded(let recordID, let part): records.add(part, for: recordID)
        case .recordDone(let recordID, let generation): records.remove(recordID, upTo: generation)
        case .recordTakenBack(let recordID): records.takeBackPending(recordID)
        case .recordMissing(let recordID): records.mark(recordID)
        case .zoneTakenBack(let zoneID): zones.takeBackPending(zoneID)
        case .zoneAdded(let zoneID, let part): zones.add(part, for: zoneID)
        case .zoneDone(let zoneID, let generation): zones.remove(zoneID, upTo: generation)
        case .zoneParked(let zoneID): park(zoneID)
        case .parkedRecord(let recordID, let part):
            parkedRecords[recordID.zoneID, default: []].append((recordID, part))
        case .zoneUnparked(let zoneID):
            for (recordID, part) in parkedRecords.removeValue(forKey: zoneID) ?? []
            where records[recordID] == nil {
                records.add(part, for: recordID)
            }
        case .parkedZoneDropped(let zoneID): parkedRecords[zoneID] = nil
        case .untracked(let isSet): hasUntracked = isSet
        default: cursors.apply(change)
        }
    }

    private mutating func park(_ zoneID: RecordZone.ID) {
        let entries = records.all.filter { $0.id.zoneID == zoneID }
        for entry in entries {
            if let part = entry.unsent {
                parkedRecords[zoneID]?.removeAll { $0.id == entry.id }
                parkedRecords[zoneID, default: []].append((entry.id, part))
            }
            records.remove(entry.id, upTo: .max)
        }
        if zones[zoneID]?.unsent?.intent == .save { zones.remove(zoneID, upTo: .max) }
    }

    func forEachStep(_ body: (StateChange) -> Void) {
        cursors.forEachStep(body)
        for recordID in quarantineOrder { quarantine[recordID].map { body(.quarantined($0)) } }
        if let subscriptionID { body(.subscribed(subscriptionID)) }
        for entry in zones.all { entry.unsent.map { body(.zoneAdded(entry.id, $0)) } }
        for entry in records.all { entry.unsent.map { body(.recordAdded(entry.id, $0)) } }
        for zoneID in parkedRecords.keys.sorted(by: { "\($0)" < "\($1)" }) {
            for (recordID, part) in parkedRecords[zoneID] ?? [] { body(.parkedRecord(recordID, part)) }
        }
        if hasUntracked { body(.untracked(true)) }
    }
}
