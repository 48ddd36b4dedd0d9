import ChangeFeed

/// One fetch: the database's pages, then those of each zone.
///
/// Each step says what comes next. A page is acknowledged by the handler's return, and only then does its token become
/// part of the state (invariant 8); an empty page has nothing to acknowledge.
struct FetchPass: Sendable {
    private enum Step: Sendable {
        /// Can become `askingDatabase`, `choosing` or `recovering`.
        case opening
        /// Can become `deliveringDatabase`, itself or `choosing`; `closing` if the request failed.
        case askingDatabase
        /// Can become `askingDatabase` or `choosing`; `closing` if the handler threw.
        case deliveringDatabase(SyncEngine.FetchedDatabasePage)
        /// Waits for the options. Can become `openingZone`, `askingZone`, `closingZone`, `recovering` or `closing`.
        case choosing
        /// Can become `askingZone`.
        case openingZone
        /// Can become `deliveringPage`, `choosing` or `closingZone`.
        case askingZone
        /// Can become `choosing` or `closingZone`.
        case deliveringPage(ZoneChanges)
        /// Can become `choosing`, `openingZone` or `closing`.
        case closingZone(endsResync: Bool, thenResync: Bool)
        /// Can become itself or `closing`.
        case recovering
        case deliveringRecovered([StateChange])
        case closing
        case ended
    }

    /// A zone that is being read.
    private struct Visit {
        let zoneID: RecordZone.ID
        var since: ZoneChangeToken?
        /// The tokens of this visit: one that comes back makes no progress.
        var seenTokens: Set<ZoneChangeToken> = []
        var strikes = 0
        /// Where the page begins that has been asked for ahead.
        var ahead: ZoneChangeToken?
        var isResync: Bool
        var outcome: SyncEngine.FetchSummary.Zone

        init(_ zoneID: RecordZone.ID, since: ZoneChangeToken?, isResync: Bool) {
            self.zoneID = zoneID
            self.since = since
            self.isResync = isResync
            outcome = .init(zoneID: zoneID)
            outcome.isResync = isResync
            if let since { seenTokens.insert(since) }
        }
    }

    private(set) var pass: PassQueue.Pass
    private var step = Step.opening
    private(set) var isDatabaseRequestIssued = false
    private var options: SyncEngine.FetchChangesOptions
    private var databaseSince: DatabaseChangeToken?
    private var databaseTokens: Set<DatabaseChangeToken> = []
    private var databaseStrikes = 0
    /// Zones that are still to be visited, in order.
    private var remaining: [RecordZone.ID] = []
    private var toRecover: ArraySlice<Record.ID> = []
    private var visit: Visit?
    private(set) var summary = SyncEngine.FetchSummary()
    /// Why the pass as a whole failed.
    private(set) var failure: SyncEngineError?
    /// Whether the app or an account change has ended it early.
    private(set) var isAborted = false

    init(_ pass: PassQueue.Pass) {
        self.pass = pass
        options = pass.fetch
    }

    var context: SyncEngine.FetchChangesContext {
        SyncEngine.FetchChangesContext(reason: pass.reason, options: pass.fetch)
    }

    /// Another caller is served by this pass too, because it has not asked the server yet.
    mutating func serve(_ other: PassQueue.Pass) {
        pass.merge(other)
        options = pass.fetch
    }

    // MARK: The database

    mutating func begin(_ basis: inout Basis) -> PassAction {
        step = .opening
        let context = context
        return .deliver(Delivery(name: "willFetchChanges") { _ in .willFetchChanges(context) })
    }

    private mutating func askDatabase(_ basis: inout Basis) -> PassAction {
        isDatabaseRequestIssued = true
        guard pass.asksDatabase else { return listZones(&basis) }
        step = .askingDatabase
        basis.note(.requested("database changes since \(databaseSince.map(\.description) ?? "the beginning")"))
        var request = DatabaseChangesRequest(since: databaseSince, resultsLimit: basis.limits.resultsPerPage)
        request.ifUser = basis.userID
        return .requestDatabaseChanges(request)
    }

    mutating func databasePageReceived(
        _ result: Result<DatabaseChanges, ChangeFeedError>, _ basis: inout Basis
    ) -> PassAction {
        let page: DatabaseChanges
        switch result {
        case .success(let answer): page = answer
        case .failure(let error): return databaseFailed(error, &basis)
        }
        basis.schedule.answered(.fetch)
        basis.note(
            .answered(
                "\(page.modifications.count) zones changed, \(page.deletions.count) gone, \(page.changeToken)"
                    + (page.moreComing ? ", more coming" : "")))
        if page.moreComing, !databaseTokens.insert(page.changeToken).inserted || page.changeToken == databaseSince {
            databaseStrikes += 1
            if databaseStrikes >= 2 { return databaseFailed(.makesNoProgress(nil), &basis) }
        }
        let fetched = SyncEngine.FetchedDatabasePage(page, cursors: basis.cursors, session: basis.session)
        if page.changes.isEmpty, fetched.resyncedZoneIDs == nil {
            basis.record(fetched.tokenChanges)
            return databasePageDone(page, &basis)
        }
        step = .deliveringDatabase(fetched)
        return .deliver(
            Delivery(
                name: "fetchedDatabaseChanges", event: { fetched.event(checkpoint: $0) }, changes: fetched.changes))
    }

    private mutating func databaseFailed(_ error: ChangeFeedError, _ basis: inout Basis) -> PassAction {
        basis.note(.failed("database changes", code: "\(error.code)", retryAfter: error.retryAfter))
        if error.voidsToken, databaseSince != nil {
            basis.note(.resync(nil, because: error.message))
            basis.record([.databaseResyncBegan])
            databaseSince = nil
            return askDatabase(&basis)
        }
        if error.code.isRepeated || error.detail == .noProgress { basis.refused(error, wants: .fetch) }
        failure = .requestFailed(error)
        return close(&basis)
    }

    private mutating func databasePageDone(_ page: DatabaseChanges, _ basis: inout Basis) -> PassAction {
        databaseSince = page.changeToken
        summary.modifiedZoneCount += page.modifications.count
        summary.deletedZoneCount += page.deletions.count
        return page.moreComing ? askDatabase(&basis) : listZones(&basis)
    }

    private mutating func listZones(_ basis: inout Basis) -> PassAction {
        remaining = basis.cursors.dirtyZoneIDs.filter(pass.fetch.scope.contains)
        let known = Set(remaining)
        remaining += pass.forcedZoneIDs.subtracting(known).sorted { $0.description < $1.description }
        if pass.retriesQuarantine { toRecover = basis.session.quarantineOrder[...] }
        return choose(&basis)
    }

    // MARK: Zones

    /// Goes on with the zone that is being read, or with the next, once the delegate has said what it wants.
    private mutating func choose(_ basis: inout Basis) -> PassAction {
        if remaining.isEmpty, visit == nil { return recover(&basis) }
        step = .choosing
        return .askOptions(context)
    }

    mutating func optionsReceived(_ options: SyncEngine.FetchChangesOptions, _ basis: inout Basis) -> PassAction {
        guard case .choosing = step else { return .none }
        if options != self.options {
            basis.note(.asked("options of the fetch", answer: "changed"))
            self.options = options
        }
        if let visit {
            return options.scope.contains(visit.zoneID) ? askZone(&basis) : closeZone(&basis)
        }
        let wanted = options.prioritizedZoneIDs.first { remaining.contains($0) && options.scope.contains($0) }
        guard let zoneID = wanted ?? remaining.first(where: options.scope.contains) else { return recover(&basis) }
        remaining.removeAll { $0 == zoneID }
        return openZone(zoneID, &basis)
    }

    private mutating func openZone(_ zoneID: RecordZone.ID, _ basis: inout Basis) -> PassAction {
        let zone = basis.cursors[zoneID]
        visit = Visit(zoneID, since: zone?.token, isResync: zone?.resync != nil)
        step = .openingZone
        let event = SyncEngine.WillFetchRecordZoneChanges(zoneID: zoneID, isResync: zone?.resync != nil)
        return .deliver(Delivery(name: "willFetchRecordZoneChanges") { _ in .willFetchRecordZoneChanges(event) })
    }

    private mutating func askZone(_ basis: inout Basis) -> PassAction {
        guard let visit else { return choose(&basis) }
        step = .askingZone
        return .requestZoneChanges(request(visit, since: visit.since, &basis))
    }

    /// Written down when it is made: one that was made ahead is not made again.
    private func request(
        _ visit: Visit, since: ZoneChangeToken?, _ basis: inout Basis, isAhead: Bool = false
    ) -> ZoneChangesRequest {
        if since == nil || visit.ahead != since {
            basis.note(
                .requested(
                    "changes of \(visit.zoneID) since \(since.map(\.description) ?? "the beginning")"
                        + (isAhead ? ", ahead" : "")))
        }
        var request = ZoneChangesRequest(
            zoneID: visit.zoneID, since: since, resultsLimit: basis.limits.resultsPerPage)
        request.ifUser = basis.userID
        return request
    }

    mutating func zonePageReceived(
        _ result: Result<ZoneChanges, ChangeFeedError>, _ basis: inout Basis
    ) -> PassAction {
        guard case .askingZone = step, var visit else { return .none }
        if visit.ahead == visit.since { visit.ahead = nil }
        let page: ZoneChanges
        switch result {
        case .success(let answer):
            page = answer
        case .failure(let error):
            self.visit = visit
            return zoneFailed(error, &basis)
        }
        basis.schedule.answered(.fetch)
        if let foreign = page.firstForeign(to: visit.zoneID, since: visit.since, basis.cursors) {
            return zoneFailed(.foreignAnswer(visit.zoneID, foreign), &basis)
        }
        basis.note(
            .answered(
                "\(page.changes.count) changes of \(visit.zoneID), \(page.changeToken)"
                    + (page.moreComing ? ", more coming" : "")))
        if page.moreComing, !visit.seenTokens.insert(page.changeToken).inserted {
            visit.strikes += 1
            if visit.strikes >= 2 {
                self.visit = visit
                return zoneFailed(.makesNoProgress(visit.zoneID), &basis)
            }
        }
        self.visit = visit
        if page.changes.isEmpty {
            // Nothing to acknowledge. While more is coming, nothing is kept either: a server that gives nothing but
            // new tokens must not carry the state away with it.
            self.visit?.since = page.changeToken
            if page.moreComing { return askZone(&basis) }
            basis.record([.zoneToken(visit.zoneID, page.changeToken)])
            if !visit.isResync { basis.record([.zoneDirty(visit.zoneID, false)]) }
            return closeZone(&basis, isComplete: true)
        }
        return deliver(page, of: visit, &basis)
    }

    private mutating func deliver(_ page: ZoneChanges, of visit: Visit, _ basis: inout Basis) -> PassAction {
        step = .deliveringPage(page)
        var changes: [StateChange] = [.zoneToken(visit.zoneID, page.changeToken)]
        if !page.moreComing, !visit.isResync { changes.append(.zoneDirty(visit.zoneID, false)) }
        if visit.isResync { changes += page.resyncChanges(of: visit.zoneID) }
        changes += page.quarantineChanges(known: basis.session.quarantine)
        // A zone may be asked for by name before the database has been.
        if basis.cursors.databaseToken == nil { changes += basis.cursors.hadBeforeRead([]) }
        let isResync = visit.isResync
        var delivery = Delivery(name: "fetchedRecordZoneChanges") { checkpoint in
            .fetchedRecordZoneChanges(
                .init(zoneID: visit.zoneID, changes: page, isResync: isResync, checkpoint: checkpoint))
        }
        delivery.changes = changes
        if !pendingIsEmpty(basis) {
            delivery.shownRecordIDs = page.modifications.map(\.recordID) + page.deletions.map(\.recordID)
        }
        if page.moreComing, basis.limits.looksAhead {
            delivery.lookAhead = request(visit, since: page.changeToken, &basis, isAhead: true)
            self.visit?.ahead = page.changeToken
        }
        return .deliver(delivery)
    }

    private func pendingIsEmpty(_ basis: Basis) -> Bool { basis.session.records.isEmpty }

    private mutating func zoneFailed(_ error: ChangeFeedError, _ basis: inout Basis) -> PassAction {
        guard let zoneID = visit?.zoneID else { return .none }
        basis.note(.failed("changes of \(zoneID)", code: "\(error.code)", retryAfter: error.retryAfter))
        visit?.outcome.error = error
        if error.voidsToken, visit?.since != nil {
            basis.note(.resync(zoneID, because: error.message))
            basis.record([.resyncBegan(zoneID)])
            return closeZone(&basis, thenResync: true)
        }
        if error.code.isRepeated || error.detail == .noProgress { basis.refused(error, wants: .fetch) }
        if error.code.stopsPass {
            summary.unfinishedZoneIDs += remaining
            remaining = []
            toRecover = []
        }
        return closeZone(&basis)
    }

    /// - Parameter isComplete: Whether the zone was read to its end.
    private mutating func closeZone(
        _ basis: inout Basis, isComplete: Bool = false, thenResync: Bool = false
    ) -> PassAction {
        guard let visit else { return choose(&basis) }
        let endsResync = isComplete && visit.isResync
        step = .closingZone(endsResync: endsResync, thenResync: thenResync)
        var live: SyncEngine.LiveRecordIDs?
        if endsResync { live = basis.session.liveRecordIDs(of: visit.zoneID) }
        if !isComplete, !thenResync { summary.unfinishedZoneIDs.append(visit.zoneID) }
        let event = SyncEngine.DidFetchRecordZoneChanges(
            zoneID: visit.zoneID, error: visit.outcome.error, resync: live.map { .completed($0) })
        var delivery = Delivery(name: "didFetchRecordZoneChanges") { _ in .didFetchRecordZoneChanges(event) }
        if endsResync {
            delivery.changes = [.resyncEnded(visit.zoneID), .zoneDirty(visit.zoneID, false)]
            // What is spared because it is pending is not there: what it was made from says nothing about the server.
            delivery.changes += live?.missing.map { .recordMissing($0) } ?? []
        }
        return .deliver(delivery)
    }

    private mutating func zoneClosed(
        endsResync: Bool, thenResync: Bool, _ handled: Handled, _ basis: inout Basis
    ) -> PassAction {
        guard var closed = visit else { return choose(&basis) }
        visit = nil
        if thenResync, !isAborted { return openZone(closed.zoneID, &basis) }
        if endsResync, let reason = handled.failure {
            closed.outcome.error = .refusedByHandler(closed.zoneID, reason)
            summary.unfinishedZoneIDs.append(closed.zoneID)
            basis.refused(.refusedByHandler(closed.zoneID, reason), wants: .fetch, by: .app)
        }
        summary.zones.append(closed.outcome)
        return isAborted ? close(&basis) : choose(&basis)
    }

    // MARK: Records in quarantine

    private mutating func recover(_ basis: inout Basis) -> PassAction {
        summary.unfinishedZoneIDs += remaining
        remaining = []
        guard !toRecover.isEmpty else { return close(&basis) }
        step = .recovering
        let recordIDs = Array(toRecover.prefix(basis.limits.itemsPerLookup))
        toRecover = toRecover.dropFirst(recordIDs.count)
        basis.note(.requested("\(recordIDs.count) records in quarantine"))
        return .requestRecords(basis.recordsRequest(recordIDs))
    }

    mutating func recordsReceived(
        _ result: Result<[Record.ID: Result<Record, ChangeFeedError>], ChangeFeedError>, asked: [Record.ID],
        _ basis: inout Basis
    ) -> PassAction {
        guard case .recovering = step else { return .none }
        switch result {
        case .failure(let error):
            basis.note(.failed("records in quarantine", code: "\(error.code)", retryAfter: error.retryAfter))
            failure = .requestFailed(error)
            return close(&basis)
        case .success(let answers):
            basis.note(.answered("\(answers.count) records"))
            // One page a zone would do; the records of the first zone go first, the rest wait for the next round.
            guard let zoneID = asked.first?.zoneID, let token = basis.cursors[zoneID]?.token else {
                return recover(&basis)
            }
            let ofZone = asked.filter { $0.zoneID == zoneID }
            toRecover = ArraySlice(asked.filter { $0.zoneID != zoneID }) + toRecover
            var changes: [ZoneChanges.Change] = []
            for recordID in ofZone {
                if case .success(let record)? = answers[recordID] { changes.append(.modified(record)) }
            }
            if changes.isEmpty { return recover(&basis) }
            let page = ZoneChanges(
                changes: changes, changeToken: token, clientChangeTokenData: nil, moreComing: false)
            let released = page.modifications.map { StateChange.unquarantined($0.recordID) }
            step = .deliveringRecovered(released)
            var delivery = Delivery(name: "fetchedRecordZoneChanges") { checkpoint in
                .fetchedRecordZoneChanges(
                    .init(zoneID: zoneID, changes: page, isResync: false, checkpoint: checkpoint))
            }
            delivery.changes = released
            return .deliver(delivery)
        }
    }

    // MARK: What the delegate has done

    mutating func delivered(_ handled: Handled, _ basis: inout Basis) -> PassAction {
        switch step {
        case .opening:
            if isAborted { return close(&basis) }
            databaseSince = basis.cursors.databaseToken
            return askDatabase(&basis)
        case .deliveringDatabase(let fetched):
            if let reason = handled.failure {
                basis.refused(.refusedByHandler(nil, reason), wants: .fetch, by: .app)
                failure = SyncEngineError(
                    .handlerFailed, "The delegate could not take a page of changes of the database: \(reason)")
                return close(&basis)
            }
            for deletion in fetched.deletions where !deletion.parkedChanges.isEmpty {
                basis.note(.parked(deletion.zoneID, changes: deletion.parkedChanges.count))
            }
            if isAborted { return close(&basis) }
            return databasePageDone(fetched.page, &basis)
        case .openingZone:
            return isAborted ? closeZone(&basis) : askZone(&basis)
        case .deliveringPage(let page):
            if let reason = handled.failure, let zoneID = visit?.zoneID {
                let error = ChangeFeedError.refusedByHandler(zoneID, reason)
                visit?.outcome.error = error
                basis.refused(error, wants: .fetch)
                return closeZone(&basis)
            }
            visit?.since = page.changeToken
            visit?.outcome.pageCount += 1
            for change in page.changes {
                switch change {
                case .modified: visit?.outcome.modificationCount += 1
                case .deleted: visit?.outcome.deletionCount += 1
                case .failed(let recordID, let error): basis.note(.quarantined(recordID, reason: error.message))
                }
            }
            if !page.moreComing { return closeZone(&basis, isComplete: true) }
            return isAborted ? closeZone(&basis) : choose(&basis)
        case .closingZone(let endsResync, let thenResync):
            return zoneClosed(endsResync: endsResync, thenResync: thenResync, handled, &basis)
        case .deliveringRecovered:
            return isAborted ? close(&basis) : recover(&basis)
        case .closing:
            step = .ended
            return .finish
        case .askingDatabase, .choosing, .askingZone, .recovering, .ended:
            return .none
        }
    }

    private mutating func close(_ basis: inout Basis) -> PassAction {
        summary.unfinishedZoneIDs += remaining
        remaining = []
        step = .closing
        let context = context
        return .deliver(Delivery(name: "didFetchChanges") { _ in .didFetchChanges(context) })
    }

    // MARK: Ending early

    /// Whether nobody but the server is being waited for, so that the pass can end at once.
    var canCloseNow: Bool {
        switch step {
        case .askingDatabase, .choosing, .askingZone, .recovering: true
        default: false
        }
    }

    /// Ends the pass as soon as it can: at once if `canCloseNow`, else when the handler that runs has returned.
    mutating func abort(_ error: SyncEngineError, _ basis: inout Basis) -> PassAction {
        isAborted = true
        failure = failure ?? error
        switch step {
        case .askingDatabase, .choosing, .askingZone, .recovering:
            guard let zoneID = visit?.zoneID else { return close(&basis) }
            visit?.outcome.error = .abortedFetch(zoneID)
            return closeZone(&basis)
        default:
            return .none
        }
    }
}

extension ChangeFeedError {
    static func refusedByHandler(_ zoneID: RecordZone.ID?, _ reason: String) -> ChangeFeedError {
        ChangeFeedError(
            .internalError, "The delegate could not take a page, which comes again: \(reason)", zoneID: zoneID,
            rule: "6.10")
    }

    static func abortedFetch(_ zoneID: RecordZone.ID?) -> ChangeFeedError {
        ChangeFeedError(.operationCancelled, "The fetch was ended before the zone was read.", zoneID: zoneID)
    }
}
