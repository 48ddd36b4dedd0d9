import ChangeFeed

/// A database whose requests fail where a plan says so. It counts and lists all requests.
public final class FaultyDatabase: RecordDatabase {
    private struct Content {
        var plan = FaultPlan()
        var counts: [FaultPlan.Request: Int] = [:]
        var zoneCounts: [RecordZone.ID: Int] = [:]
        var requests: [String] = []
        var lastPages: [RecordZone.ID: ZoneChanges] = [:]
    }

    /// A request, for whoever decides what becomes of it.
    struct Request: Sendable {
        let kind: FaultPlan.Request
        let text: String
        var zoneID: RecordZone.ID?
        /// What it saves and deletes.
        var recordIDs: [Record.ID] = []
    }

    private let currentBase: @Sendable () -> any RecordDatabase
    /// Decides in place of a plan, and may take its time.
    private let decide: (@Sendable (Request) async -> FaultPlan.Fault?)?
    /// Hears what came of each request to save and delete records that was carried out, whatever its caller hears.
    private let observe: @Sendable (RecordModifyResults) -> Void
    private let content = Locked(Content())

    private var base: any RecordDatabase { currentBase() }

    /// A database over another, in which nothing fails until ``plan`` says so.
    public init(_ base: any RecordDatabase) {
        currentBase = { base }
        decide = nil
        observe = { _ in }
    }

    /// A database over what there is at each request.
    init(
        over base: @escaping @Sendable () -> any RecordDatabase,
        deciding decide: @escaping @Sendable (Request) async -> FaultPlan.Fault?,
        observing observe: @escaping @Sendable (RecordModifyResults) -> Void
    ) {
        currentBase = base
        self.decide = decide
        self.observe = observe
    }

    /// Which requests fail. Setting it counts from 1 again.
    public var plan: FaultPlan {
        get { content.withLock { $0.plan } }
        set {
            content.withLock { content in
                content.plan = newValue
                content.counts = [:]
                content.zoneCounts = [:]
            }
        }
    }

    /// All requests that were made, as text, in order; looking up the account is not among them.
    public var requests: [String] { content.withLock { $0.requests } }

    /// How many requests of a kind were made since the plan was set.
    public func count(of request: FaultPlan.Request) -> Int { content.withLock { $0.counts[request] ?? 0 } }

    /// Forgets the list of requests, and counts from 1 again.
    public func reset() {
        content.withLock { content in
            content.requests = []
            content.counts = [:]
            content.zoneCounts = [:]
        }
    }

    private func fault(
        of kind: FaultPlan.Request, _ text: String, zoneID: RecordZone.ID? = nil, recordIDs: [Record.ID] = []
    ) async -> FaultPlan.Fault? {
        let planned = content.withLock { content -> FaultPlan.Fault? in
            content.counts[kind, default: 0] += 1
            if let zoneID { content.zoneCounts[zoneID, default: 0] += 1 }
            if kind != .account { content.requests.append(text) }
            for rule in content.plan.rules where rule.request == kind {
                if let wanted = rule.zoneID {
                    guard wanted == zoneID, rule.ordinals.contains(content.zoneCounts[wanted] ?? 0) else { continue }
                } else if !rule.ordinals.contains(content.counts[kind] ?? 0) {
                    continue
                }
                return rule.fault
            }
            return nil
        }
        guard let decide else { return planned }
        return await decide(Request(kind: kind, text: text, zoneID: zoneID, recordIDs: recordIDs))
    }

    /// What happens to a request whose answer has no form of its own to fail in.
    private func carryOut<Answer>(
        _ fault: FaultPlan.Fault?, _ body: () async throws(ChangeFeedError) -> Answer
    ) async throws(ChangeFeedError) -> Answer {
        switch fault {
        case .error(let error):
            throw error
        case .lostAnswer(let error):
            _ = try await body()
            throw error
        case .noAnswer:
            try await neverAnswer()
            return try await body()
        case .unheard:
            let answer = try await body()
            try await neverAnswer()
            return answer
        case .held(let gate):
            await gate.pass()
            return try await body()
        case nil, .items, .duplicatePage, .stuckToken, .wrongZone, .unreadableRecords:
            return try await body()
        }
    }

    /// Waits for a cancellation.
    private func neverAnswer() async throws(ChangeFeedError) {
        let gate = FaultGate()
        await withTaskCancellationHandler {
            await gate.pass()
        } onCancel: {
            gate.open()
        }
        throw ChangeFeedError(.operationCancelled, "The request was cancelled while it waited for its answer.")
    }

    /// See `RecordDatabase.databaseChanges(_:)`.
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        let fault = await fault(
            of: .databaseChanges, "databaseChanges since \(request.since.map(\.description) ?? "nil")")
        let page = try await carryOut(fault) { () async throws(ChangeFeedError) in
            try await base.databaseChanges(request)
        }
        guard case .stuckToken? = fault, let since = request.since else { return page }
        return DatabaseChanges(changes: [], changeToken: since, moreComing: true)
    }

    /// See `RecordDatabase.recordZoneChanges(_:)`.
    public func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        let fault = await fault(
            of: .recordZoneChanges,
            "recordZoneChanges of \(request.zoneID) since \(request.since.map(\.description) ?? "nil")",
            zoneID: request.zoneID)
        if case .wrongZone(let zoneID)? = fault {
            let page = try await base.recordZoneChanges(ZoneChangesRequest(zoneID: zoneID))
            if !page.changes.isEmpty || request.since != nil { return page }
        }
        if case .duplicatePage? = fault, let page = content.withLock({ $0.lastPages[request.zoneID] }), page.moreComing
        {
            return page
        }
        let page = try await carryOut(fault) { () async throws(ChangeFeedError) in
            try await base.recordZoneChanges(request)
        }
        content.withLock { $0.lastPages[request.zoneID] = page }
        switch fault {
        case .stuckToken:
            guard let since = request.since else { return page }
            return ZoneChanges(changes: [], changeToken: since, clientChangeTokenData: nil, moreComing: true)
        case .unreadableRecords(let recordIDs, let error):
            return ZoneChanges(
                changes: page.changes.map { change in
                    guard case .modified(let record) = change, recordIDs.contains(record.recordID) else {
                        return change
                    }
                    return .failed(record.recordID, error)
                }, changeToken: page.changeToken, clientChangeTokenData: page.clientChangeTokenData,
                moreComing: page.moreComing)
        default: return page
        }
    }

    /// See `RecordDatabase.modifyRecords(_:)`.
    public func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        let names =
            request.saving.map { "+\($0.recordID.recordName)" }
            + request.deleting.map { "-\($0.recordID.recordName)" }
        let shown = names.count > 8 ? "\(names.count) items" : names.joined(separator: " ")
        let fault = await fault(
            of: .modifyRecords, "modifyRecords \(shown)",
            recordIDs: request.saving.map(\.recordID) + request.deleting.map(\.recordID))
        guard case .items(let recordIDs, let error)? = fault else {
            return try await carryOut(fault) { () async throws(ChangeFeedError) in
                try await carriedOut(request)
            }
        }
        var rest = request
        rest.saving.removeAll { recordIDs.contains($0.recordID) }
        rest.deleting.removeAll { recordIDs.contains($0.recordID) }
        var saves: [Record.ID: Result<Record, ChangeFeedError>] = [:]
        var deletions: [Record.ID: Result<Void, ChangeFeedError>] = [:]
        if !rest.saving.isEmpty || !rest.deleting.isEmpty {
            let results = try await carriedOut(rest)
            saves = results.saveResults
            deletions = results.deleteResults
        }
        return RecordModifyResults(
            saves: request.saving.map {
                .init(recordID: $0.recordID, result: saves[$0.recordID] ?? .failure(error))
            },
            deletions: request.deleting.map {
                .init(recordID: $0.recordID, result: deletions[$0.recordID] ?? .failure(error))
            })
    }

    private func carriedOut(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        let results = try await base.modifyRecords(request)
        observe(results)
        return results
    }

    /// See `RecordDatabase.modifyRecordZones(_:)`.
    public func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        let names = request.saving.map { "+\($0.zoneID)" } + request.deleting.map { "-\($0)" }
        let fault = await fault(of: .modifyRecordZones, "modifyRecordZones \(names.joined(separator: " "))")
        return try await carryOut(fault) { () async throws(ChangeFeedError) in
            try await base.modifyRecordZones(request)
        }
    }

    /// See `RecordDatabase.records(_:)`.
    public func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        let fault = await fault(of: .records, "records: \(request.recordIDs.count)")
        return try await carryOut(fault) { () async throws(ChangeFeedError) in try await base.records(request) }
    }

    /// See `RecordDatabase.recordZones(_:)`.
    public func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        let fault = await fault(of: .recordZones, "recordZones")
        return try await carryOut(fault) { () async throws(ChangeFeedError) in try await base.recordZones(request) }
    }

    /// See `RecordDatabase.modifySubscriptions(_:)`.
    public func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        let fault = await fault(of: .subscriptions, "modifySubscriptions")
        return try await carryOut(fault) { () async throws(ChangeFeedError) in
            try await base.modifySubscriptions(request)
        }
    }

    /// See `RecordDatabase.subscriptions(_:)`.
    public func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        let fault = await fault(of: .subscriptions, "subscriptions")
        return try await carryOut(fault) { () async throws(ChangeFeedError) in
            try await base.subscriptions(request)
        }
    }

    /// See `RecordDatabase.account()`.
    public func account() async throws(ChangeFeedError) -> Account {
        let fault = await fault(of: .account, "account")
        return try await carryOut(fault) { () async throws(ChangeFeedError) in try await base.account() }
    }
}
