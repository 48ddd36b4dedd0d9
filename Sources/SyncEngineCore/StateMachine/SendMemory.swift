import ChangeFeed

/// What an engine remembers of sending from one send to the next, while it lives.
struct SendMemory: Sendable {
    /// How often in a row a change was refused in the same way.
    struct Refusal: Sendable {
        var signature: String
        var count: Int
        var error: ChangeFeedError
        /// The tag that the server's record had; nil where it had none.
        var serverTag: String?
        var isConflict: Bool
    }

    /// Requests of which it is not known whether they were carried out.
    var unanswered: [PlannedRequest] = []
    /// Requests whose results the app has not taken: the next send repeats them, and gets the same answers.
    var unheard: [PlannedRequest] = []
    /// The bounds that the server's refusals have taught.
    var learned: RequestPlan.Limits?
    /// Changes that are pending and not sent by themselves: something else has to change first.
    var blocked: [Record.ID: ChangeFeedError] = [:]
    var refusals: [Record.ID: Refusal] = [:]
    /// Changes that the provider left out or could not read in the last send.
    var skipped: [Record.ID: String?] = [:]
    /// Changes that were refused for good, until the app changes or clears them.
    var failed: [Record.ID: ChangeFeedError] = [:]

    func limits(_ configured: SyncEngine.BatchLimits) -> RequestPlan.Limits {
        RequestPlan.Limits(
            items: min(configured.items, learned?.items ?? .max), bytes: min(configured.bytes, learned?.bytes ?? .max))
    }

    /// Notes a refusal. Gives how often it has happened in the same way.
    mutating func refused(_ recordID: Record.ID, _ error: ChangeFeedError, isConflict: Bool) -> Int {
        let tag = error.serverRecord?.recordChangeTag
        let signature = "\(error.code) \(tag ?? "")"
        var refusal =
            refusals[recordID]
            ?? Refusal(signature: signature, count: 0, error: error, serverTag: tag, isConflict: isConflict)
        refusal.count = refusal.signature == signature ? refusal.count + 1 : 1
        refusal.signature = signature
        refusal.error = error
        refusal.serverTag = tag
        refusal.isConflict = isConflict
        refusals[recordID] = refusal
        return refusal.count
    }

    /// Whether a record that was refused twice in one version of the server's is to be sent: only if it is made from
    /// that version (case B61).
    func holds(_ record: Record) -> Refusal? {
        guard let refusal = refusals[record.recordID], refusal.isConflict, refusal.count >= 2 else { return nil }
        return record.recordChangeTag == refusal.serverTag && record.recordChangeTag != nil ? nil : refusal
    }

    /// The app has added a change. Within the handler that hears of a refusal, that says nothing new the second time.
    mutating func added(_ recordID: Record.ID, inHandler: Bool) {
        failed[recordID] = nil
        skipped[recordID] = nil
        if inHandler, let refusal = refusals[recordID], refusal.count >= 2 {
            blocked[recordID] = refusal.error
            return
        }
        blocked[recordID] = nil
        if !inHandler { refusals[recordID] = nil }
    }

    /// A change is done, or the server has another version of the record.
    mutating func settled(_ recordID: Record.ID) {
        refusals[recordID] = nil
        blocked[recordID] = nil
        failed[recordID] = nil
        skipped[recordID] = nil
    }

    /// Whether nothing is remembered of refusals.
    var isQuiet: Bool { refusals.isEmpty && blocked.isEmpty }

    /// What is fetched from now on may be newer than the answers to repetitions.
    mutating func fetchBegins() {
        for index in unanswered.indices { unanswered[index].isOvertaken = true }
        for index in unheard.indices { unheard[index].isOvertaken = true }
    }

    /// A send begins.
    mutating func sendBegins() {
        skipped = [:]
        unanswered += unheard
        unheard = []
    }

    /// Another version of the record has come: what was refused for an older one may be tried again.
    mutating func saw(_ recordID: Record.ID) {
        if refusals[recordID] != nil { settled(recordID) }
    }

    /// A zone exists: what was refused for want of it may work now.
    mutating func zoneExists(_ zoneID: RecordZone.ID) {
        for (recordID, error) in blocked where recordID.zoneID == zoneID {
            if error.code == .zoneNotFound || error.code == .userDeletedZone { settled(recordID) }
        }
    }

    /// Room was made or a parent was saved: what is blocked may work now.
    mutating func unblock(where condition: (ChangeFeedError) -> Bool) {
        for (recordID, error) in blocked where condition(error) { blocked[recordID] = nil }
    }
}
