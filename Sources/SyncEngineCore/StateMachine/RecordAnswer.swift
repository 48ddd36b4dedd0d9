import ChangeFeed

/// What came of one request, sorted.
struct RecordAnswer: Sendable {
    let request: PlannedRequest
    var saved: [Record] = []
    var deleted: [Record.ID] = []
    private(set) var failures: [Record.ID: ChangeFeedError] = [:]
    private var order: [Record.ID] = []
    private var permanent: Set<Record.ID> = []
    /// Versions that were looked up because the error did not carry them.
    var serverRecords: [Record.ID: Record] = [:]
    /// What a repeated request has carried out, and has to be looked up, for something was fetched since.
    var overtaken: [Record.ID] = []
    private let records: [Record.ID: Record]

    init(_ request: PlannedRequest) {
        self.request = request
        records = Dictionary(request.saves.map { ($0.recordID, $0) }) { first, _ in first }
    }

    var isEmpty: Bool { saved.isEmpty && deleted.isEmpty && failures.isEmpty }
    var reportedRecordIDs: [Record.ID] { saved.map(\.recordID) + deleted + order.filter { failures[$0] != nil } }

    /// Whether every item of the request is reported.
    var isWhole: Bool { reportedRecordIDs.count == request.itemCount }

    func isDeletion(_ recordID: Record.ID) -> Bool { records[recordID] == nil }

    mutating func failed(_ recordID: Record.ID, _ error: ChangeFeedError) {
        order.append(recordID)
        failures[recordID] = error.innermost(of: recordID)
    }

    func items(of failureClass: FailureClass) -> [Record.ID] {
        order.filter { failures[$0].map { $0.code.failureClass == failureClass } == true && !permanent.contains($0) }
    }

    /// The error with the longest wait, if every item failed in a way that passes by itself.
    var commonReasonToRepeat: ChangeFeedError? {
        guard saved.isEmpty, deleted.isEmpty, failures.values.allSatisfy(\.code.isRepeated) else { return nil }
        return order.compactMap { failures[$0] }.max { ($0.retryAfter ?? .zero) < ($1.retryAfter ?? .zero) }
    }

    mutating func makePermanent(_ recordID: Record.ID) { permanent.insert(recordID) }

    /// These are not reported: they are pending again.
    mutating func requeue(_ recordIDs: [Record.ID], _ basis: inout Basis) {
        for recordID in recordIDs { failures[recordID] = nil }
        basis.log.withUnwritten { session in for recordID in recordIDs { session.records.takeBack(recordID) } }
    }

    /// Records of which the app should see what the server has, and the error does not carry it.
    var withoutServerRecord: [Record.ID] {
        order.filter { recordID in
            guard let error = failures[recordID], error.serverRecord == nil else { return false }
            return error.code == .serverRecordChanged || (error.code == .permissionFailure && !isDeletion(recordID))
        }
    }

    /// Compares what was carried out with what there is now. A save counts only if it is the latest version; what is gone
    /// is a failure.
    ///
    /// Gives the saves that somebody has changed since (the app has that version in what it has fetched, and sends what it
    /// made of it, if anything), and the deletions after which somebody has created the record anew. What was not looked
    /// up, or could not be, stays in ``overtaken``.
    mutating func resolveOvertaken(
        _ results: [Record.ID: Result<Record, ChangeFeedError>]
    ) -> (changed: [Record.ID], recreated: [Record.ID]) {
        var changed: [Record.ID] = []
        var recreated: [Record.ID] = []
        var unknown: [Record.ID] = []
        for recordID in overtaken {
            guard let latest = results[recordID], latest.saysWhatThereIs else {
                unknown.append(recordID)
                continue
            }
            if let index = deleted.firstIndex(of: recordID) {
                guard case .success = latest else { continue }
                deleted.remove(at: index)
                recreated.append(recordID)
            } else if let index = saved.firstIndex(where: { $0.recordID == recordID }) {
                switch latest {
                case .success(let record) where record.recordChangeTag == saved[index].recordChangeTag: continue
                case .success: changed.append(recordID)
                case .failure(let error): failed(recordID, error)
                }
                saved.remove(at: index)
            }
        }
        overtaken = unknown
        return (changed, recreated)
    }

    /// Completes the errors, and takes what the server has already for saved.
    mutating func settle(_ satisfied: (Record.ID) -> Void) {
        for recordID in order {
            guard let error = failures[recordID] else { continue }
            let record = records[recordID]
            let server = error.serverRecord ?? serverRecords[recordID]
            if error.code == .serverRecordChanged, let record, let server, record.isSatisfied(by: server) {
                satisfied(recordID)
                saved.append(server)
                failures[recordID] = nil
            } else {
                failures[recordID] = error.completed(client: record, server: server, ancestor: record?.ancestor)
            }
        }
    }

    func remainsPending(_ recordID: Record.ID) -> Bool {
        failures[recordID]?.code.failureClass == .blocked && !permanent.contains(recordID)
    }

    /// What the handler's return acknowledges: everything that is not to be sent again.
    var changes: [StateChange] {
        let done = saved.map(\.recordID) + deleted + order.filter { failures[$0] != nil && !remainsPending($0) }
        return done.map { .recordDone($0, request.generations[$0] ?? 0) }
    }

    /// The zones of the records that the app has in a version of the server's from now on.
    var knownZoneIDs: [RecordZone.ID] {
        saved.map(\.recordID.zoneID) + order.filter { failures[$0]?.serverRecord != nil }.map(\.zoneID)
    }

    func event(_ checkpoint: SyncEngine.Checkpoint) -> SyncEngine.SentRecordZoneChanges {
        let failed = order.filter { failures[$0] != nil }
        return .init(
            batchID: request.requestID, savedRecords: saved,
            failedRecordSaves: failed.compactMap { recordID in
                guard let record = records[recordID], let error = failures[recordID] else { return nil }
                return .init(record: record, error: error, remainsPending: remainsPending(recordID))
            }, deletedRecordIDs: deleted,
            failedRecordDeletes: Dictionary(
                failed.compactMap { recordID in
                    guard isDeletion(recordID), let error = failures[recordID] else { return nil }
                    return (recordID, error)
                }
            ) { first, _ in first }, generations: request.generations, checkpoint: checkpoint)
    }
}

extension RecordModifyResults {
    /// The results of a request that failed in part, of which only the errors are known (rule E5).
    init(partial error: ChangeFeedError, of request: PlannedRequest) {
        func result(_ recordID: Record.ID) -> ChangeFeedError {
            error.partialErrors[.record(recordID)]
                ?? ChangeFeedError(
                    .serverResponseLost, "The server told of the failures of a request and not of the rest.",
                    recordID: recordID, rule: "E5")
        }
        self.init(
            saves: request.saves.map { .init(recordID: $0.recordID, result: .failure(result($0.recordID))) },
            deletions: request.deletions.map { .init(recordID: $0.recordID, result: .failure(result($0.recordID))) })
    }
}

extension ChangeFeedError {
    /// The error of a record, however deeply it is wrapped in partial failures.
    func innermost(of recordID: Record.ID) -> ChangeFeedError {
        var error = self
        for _ in 0..<8 {
            guard error.code == .partialFailure else { return error }
            guard let inner = error.partialErrors[.record(recordID)] ?? error.partialErrors.values.first else { break }
            error = inner
        }
        return error
    }

    /// The error with the records that a conflict is about, where it does not have them.
    func completed(client: Record?, server: Record?, ancestor: Record?) -> ChangeFeedError {
        ChangeFeedError(
            code, message, recordID: recordID, zoneID: zoneID, rule: rule, limit: limit, detail: detail,
            retryAfter: retryAfter, partialErrors: partialErrors, serverRecord: serverRecord ?? server,
            clientRecord: clientRecord ?? client, ancestorRecord: ancestorRecord ?? ancestor)
    }

    static func notTaken(_ reason: String) -> ChangeFeedError {
        ChangeFeedError(.internalError, "The delegate could not take the results of a request: \(reason)")
    }

    static func unanswered(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(
            .serverResponseLost, "The server's answer says nothing of the record.", recordID: recordID, rule: "M13")
    }

    static func unanswered(_ zoneID: RecordZone.ID) -> ChangeFeedError {
        ChangeFeedError(.serverResponseLost, "The server's answer says nothing of the zone.", zoneID: zoneID)
    }

    static func outOfScope(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(
            .invalidArguments,
            "A batch has a record that is outside of the scope of the send: filter by context.options.scope.",
            recordID: recordID, rule: "P9")
    }

    static func noChangeTracking(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(
            .invalidArguments,
            "The default zone does not support change tracking: no device would ever fetch the record. Put it in a "
                + "zone of its own.", recordID: recordID, rule: "Z2")
    }

    static func unreadable(_ recordID: Record.ID, _ reason: String) -> ChangeFeedError {
        ChangeFeedError(
            .internalError, "The app could not read the record, which stays pending: \(reason)", recordID: recordID)
    }

    static func stillReferred(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(
            .referenceViolation, "The record still has children, so that it stays pending to be deleted.",
            recordID: recordID, rule: "R14")
    }
}

extension SyncEngineError {
    static func unresolvedConflict(_ error: ChangeFeedError, _ recordID: Record.ID) -> SyncEngineError {
        SyncEngineError(
            .conflictNotResolved,
            "The server refused the same version of the record twice. Start from the server's record, which has the "
                + "new tag; nothing is sent of it until the record or the server's version changes.",
            recordID: recordID, underlying: error)
    }
}

extension RecordZone.ID {
    var isDefaultZone: Bool { sameBytes(zoneName, RecordZone.ID.defaultZoneName) }
}

extension Result<Record, ChangeFeedError> {
    /// Whether a look-up has found the record, or that it is not there. Any other failure says nothing about it.
    fileprivate var saysWhatThereIs: Bool {
        switch self {
        case .success: true
        case .failure(let error): [.unknownItem, .zoneNotFound, .userDeletedZone].contains(error.code)
        }
    }
}
