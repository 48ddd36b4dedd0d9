import ChangeFeed

/// One send: zones, then records batch by batch until the delegate has no more, going back to zones whenever some were
/// added meanwhile (rule EO7).
struct SendPass: Sendable {
    private enum Step: Sendable {
        /// Can become `modifyingZones`, `modifyingRecords`, `askingBatch` or `closing`.
        case opening
        /// Can become `deliveringZones`, or what `opening` can.
        case modifyingZones(ZoneRequest)
        case deliveringZones(ZoneAnswer)
        /// Can become `modifyingRecords` or `closing`.
        case askingBatch(generation: UInt64)
        /// Can become `lookingUp`, `deliveringRecords`, or what `opening` can.
        case modifyingRecords(PlannedRequest)
        /// Waits for the server's versions of records that it refused. Can become `deliveringRecords`.
        case lookingUp(RecordAnswer)
        case deliveringRecords(RecordAnswer)
        case closing
        case ended
    }

    private(set) var pass: PassQueue.Pass
    private var step = Step.opening
    private var queue: [PlannedRequest] = []
    /// Changes that were asked for in this send and are not to be asked for again.
    private var excluded: Set<Record.ID> = []
    private var excludedZones: Set<RecordZone.ID> = []
    /// Deletions that were refused because something still links to the record, with how much had been deleted then.
    private var deferredDeletions: [Record.ID: Int] = [:]
    private var isUntrackedDone = false
    private(set) var outcome = SyncEngine.SendOutcome()
    private(set) var hasUnresolvedConflict: SyncEngineError?
    /// Why the send could not go on, where that is not repeated by itself.
    private(set) var failure: SyncEngineError?
    private(set) var isAborted = false

    init(_ pass: PassQueue.Pass) {
        self.pass = pass
    }

    /// Whether changes are sent that were refused and are not sent by themselves.
    private var includesBlocked: Bool {
        pass.reason == .manual
            || pass.triggers.contains { $0 != .pendingChangesAdded && $0 != .retryDue && $0 != .push }
    }

    var content: SyncEngine.SendChangesContext.Content {
        .init(reason: pass.reason, options: pass.send)
    }

    mutating func begin(_ basis: inout Basis, _ memory: inout SendMemory) -> PassAction {
        memory.sendBegins()
        let content = content
        return .deliver(
            Delivery(name: "willSendChanges") { .willSendChanges(.init(content: content, core: $0.core)) })
    }

    private mutating func next(_ basis: inout Basis, _ memory: inout SendMemory) -> PassAction {
        if isAborted || pass.send.scope.isEmpty { return close() }
        if let request = memory.unanswered.first {
            memory.unanswered.removeFirst()
            return send(request, &basis)
        }
        if let request = nextZones(basis) { return send(request, &basis) }
        if !queue.isEmpty { return send(queue.removeFirst(), &basis) }
        guard
            candidates(after: 0, limit: 1, basis, memory).first != nil
                || (basis.session.hasUntracked && !isUntrackedDone)
        else { return reportDeferred(&basis, &memory) }
        step = .askingBatch(generation: basis.log.state.lastGeneration)
        return .askBatch(content)
    }

    // MARK: Zones

    struct ZoneRequest: Sendable {
        var saves: [RecordZone.ID] = []
        var deletes: [RecordZone.ID] = []
        var generations: [RecordZone.ID: UInt64] = [:]
    }

    struct ZoneAnswer: Sendable {
        var saved: [RecordZone] = []
        var failedSaves: [(zoneID: RecordZone.ID, error: ChangeFeedError)] = []
        var deleted: [RecordZone.ID] = []
        var failedDeletes: [RecordZone.ID: ChangeFeedError] = [:]
        var changes: [StateChange] = []
        var all: [RecordZone.ID] = []

        var isEmpty: Bool { saved.isEmpty && failedSaves.isEmpty && deleted.isEmpty && failedDeletes.isEmpty }
    }

    private func nextZones(_ basis: Basis) -> ZoneRequest? {
        var request = ZoneRequest()
        for entry in basis.session.zones.all {
            guard let part = entry.pending, pass.send.scope.contains(entry.id), !excludedZones.contains(entry.id) else {
                continue
            }
            if part.intent == .save { request.saves.append(entry.id) } else { request.deletes.append(entry.id) }
            request.generations[entry.id] = part.generation
            if request.generations.count == basis.limits.itemsPerLookup { break }
        }
        return request.generations.isEmpty ? nil : request
    }

    private mutating func send(_ request: ZoneRequest, _ basis: inout Basis) -> PassAction {
        basis.log.withUnwritten { session in
            for (zoneID, generation) in request.generations { session.zones.send(zoneID, upTo: generation) }
        }
        step = .modifyingZones(request)
        outcome.requestCount += 1
        basis.note(.requested("saving \(request.saves.count) zones, deleting \(request.deletes.count)"))
        var action = RecordZoneModifyRequest(
            saving: request.saves.map { RecordZone(zoneID: $0) }, deleting: request.deletes)
        action.ifUser = basis.userID
        return .modifyZones(action)
    }

    mutating func zonesModified(
        _ result: Result<RecordZoneModifyResults, ChangeFeedError>, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        guard case .modifyingZones(let request) = step else { return .none }
        var answer = ZoneAnswer()
        answer.all = request.saves + request.deletes
        switch result {
        case .success(let results):
            if !results.errors.values.contains(where: \.code.isRepeated) { basis.schedule.answered(.send) }
            basis.note(
                .answered("\(results.saves.count + results.deletions.count) zones, \(results.errors.count) failed"))
            let saves = results.saveResults
            let deletes = results.deleteResults
            for zoneID in request.saves {
                sort(zoneID, saves[zoneID] ?? .failure(.unanswered(zoneID)), request, &answer, &basis)
            }
            for zoneID in request.deletes {
                sort(zoneID, deletes[zoneID] ?? .failure(.unanswered(zoneID)), request, &answer, &basis)
            }
        case .failure(let error):
            basis.note(.failed("zones", code: "\(error.code)", retryAfter: error.retryAfter))
            for zoneID in request.saves { sort(zoneID, Result<RecordZone, _>.failure(error), request, &answer, &basis) }
            for zoneID in request.deletes { sort(zoneID, Result<Void, _>.failure(error), request, &answer, &basis) }
            if error.code.stopsPass { isAborted = true }
        }
        if answer.isEmpty { return next(&basis, &memory) }
        for zone in answer.saved { memory.zoneExists(zone.zoneID) }
        step = .deliveringZones(answer)
        var delivery = Delivery(name: "sentDatabaseChanges") { [answer] checkpoint in
            .sentDatabaseChanges(
                .init(
                    savedZones: answer.saved,
                    failedZoneSaves: answer.failedSaves.map {
                        .init(zone: RecordZone(zoneID: $0.zoneID), error: $0.error)
                    }, deletedZoneIDs: answer.deleted, failedZoneDeletes: answer.failedDeletes,
                    checkpoint: checkpoint))
        }
        delivery.changes = answer.changes
        if !answer.saved.isEmpty { delivery.changes += basis.cursors.hadBeforeRead([]) }
        return .deliver(delivery)
    }

    private mutating func sort<Value>(
        _ zoneID: RecordZone.ID, _ result: Result<Value, ChangeFeedError>, _ request: ZoneRequest,
        _ answer: inout ZoneAnswer, _ basis: inout Basis
    ) {
        let done = StateChange.zoneDone(zoneID, request.generations[zoneID] ?? 0)
        let isSave = request.saves.contains(zoneID)
        switch result {
        case .success(let value):
            answer.changes.append(done)
            if let zone = value as? RecordZone { answer.saved.append(zone) } else { answer.deleted.append(zoneID) }
        case .failure(let error) where !isSave && error.code == .zoneNotFound:
            // It is not there, which is what was wanted: an answer may have been lost.
            answer.changes.append(done)
            answer.deleted.append(zoneID)
        case .failure(let error):
            excludedZones.insert(zoneID)
            switch error.code.failureClass {
            case .retry, .lost, .sibling:
                basis.log.withUnwritten { $0.zones.takeBack(zoneID) }
                basis.refused(error, wants: .send)
                outcome.retryingCount += 1
                if !basis.policy.actsByItself { outcome.failedZones[zoneID] = error }
            case .blocked, .conflict, .split, .permanent:
                answer.changes.append(done)
                outcome.failedZones[zoneID] = error
                if isSave {
                    answer.failedSaves.append((zoneID, error))
                } else {
                    answer.failedDeletes[zoneID] = error
                }
            }
        }
    }

    // MARK: Batches

    struct Candidate: Sendable {
        let place: UInt64
        let change: SyncEngine.PendingRecordZoneChange
    }

    /// Pending changes that may be sent, in order.
    func candidates(after place: UInt64, limit: Int, _ basis: Basis, _ memory: SendMemory) -> [Candidate] {
        var candidates: [Candidate] = []
        for entry in basis.session.records.entries(after: place) {
            guard let part = entry.pending, isCandidate(entry.id, memory) else { continue }
            candidates.append(
                Candidate(
                    place: entry.place, change: part.intent == .save ? .saveRecord(entry.id) : .deleteRecord(entry.id)))
            if candidates.count == limit { break }
        }
        return candidates
    }

    func isCandidate(_ recordID: Record.ID, _ memory: SendMemory) -> Bool {
        pass.send.scope.contains(recordID) && !excluded.contains(recordID) && deferredDeletions[recordID] == nil
            && (includesBlocked || memory.blocked[recordID] == nil)
    }

    mutating func batchReceived(
        _ batch: SyncEngine.RecordZoneChangeBatch?, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        guard case .askingBatch(let generation) = step else { return .none }
        if isAborted { return close() }
        guard let batch else {
            basis.note(.asked("batch", answer: "none"))
            if basis.session.hasUntracked, case .all = pass.send.scope { basis.record([.untracked(false)]) }
            return reportDeferred(&basis, &memory)
        }
        isUntrackedDone = isUntrackedDone || (batch.recordsToSave.isEmpty && batch.recordsToDelete.isEmpty)
        basis.note(
            .asked("batch", answer: "\(batch.recordsToSave.count) saves, \(batch.recordsToDelete.count) deletions"))
        take(batch, generation: generation, &basis, &memory)
        let before = excluded.count
        var whole = PlannedRequest(
            requestID: "", saves: [], deletions: [], isAtomic: batch.atomicByZone, generations: [:])
        for record in batch.recordsToSave where !excluded.contains(record.recordID) {
            plan(record, into: &whole, generation: generation, &basis, &memory)
        }
        for deletion in batch.recordsToDelete where !excluded.contains(deletion.recordID) {
            plan(deletion, into: &whole, generation: generation, basis)
        }
        if let outside = whole.recordIDs.first(where: { !pass.send.scope.contains($0) }) {
            return refuse(whole, .outOfScope(outside), &basis, &memory)
        }
        var unsupported = whole.recordIDs.filter(\.zoneID.isDefaultZone)
        if !unsupported.isEmpty {
            unsupported = Array(Set(unsupported)).sorted { $0.description < $1.description }
            let refused = whole.part(Set(unsupported), requestID: nextID(basis))
            whole = whole.part(Set(whole.recordIDs).subtracting(unsupported), requestID: "")
            if whole.itemCount > 0 { divide(whole, &basis, &memory) }
            return refuse(refused, .noChangeTracking(unsupported[0]), &basis, &memory)
        }
        if whole.itemCount == 0 {
            // Nothing in it is new to this send: whoever goes on like that is not asked again.
            let hasProgress =
                excluded.count > before || !batch.goneRecordIDs.isEmpty
                || candidates(after: 0, limit: 1, basis, memory).first != nil && !batch.recordsToSave.isEmpty
            return hasProgress ? next(&basis, &memory) : reportDeferred(&basis, &memory)
        }
        divide(whole, &basis, &memory)
        return next(&basis, &memory)
    }

    /// What the provider said of records that are not in the batch.
    private mutating func take(
        _ batch: SyncEngine.RecordZoneChangeBatch, generation: UInt64, _ basis: inout Basis,
        _ memory: inout SendMemory
    ) {
        for recordID in batch.goneRecordIDs {
            basis.note(.satisfied(recordID, because: "the provider says that it is gone"))
            basis.record([.recordDone(recordID, generation)])
            memory.settled(recordID)
        }
        for recordID in batch.skippedRecordIDs {
            excluded.insert(recordID)
            memory.skipped[recordID] = .some(nil)
            outcome.skippedRecordIDs.append(recordID)
            basis.note(.held(recordID, because: "the provider left it out"))
        }
        for (recordID, error) in batch.failedRecordIDs.sorted(by: { $0.key.description < $1.key.description }) {
            excluded.insert(recordID)
            memory.skipped[recordID] = error
            outcome.failedRecords[recordID] = .unreadable(recordID, error)
            basis.note(.held(recordID, because: "the provider could not read it: \(error)"))
        }
    }

    private mutating func plan(
        _ record: Record, into whole: inout PlannedRequest, generation: UInt64, _ basis: inout Basis,
        _ memory: inout SendMemory
    ) {
        let recordID = record.recordID
        let pending = basis.session.records[recordID]?.pending
        // A save that was given up while the provider was at work is not sent.
        if let pending, pending.intent == .delete, pending.generation > generation { return }
        if record.changesNothing, pending?.isMarked != true {
            basis.note(.satisfied(recordID, because: "it is as the server has it"))
            basis.record([.recordDone(recordID, generation)])
            memory.settled(recordID)
            excluded.insert(recordID)
            return
        }
        if let refusal = memory.holds(record) {
            basis.note(.held(recordID, because: "the server refused it twice: \(refusal.error.code)"))
            excluded.insert(recordID)
            memory.blocked[recordID] = refusal.error
            outcome.failedRecords[recordID] = refusal.error
            hasUnresolvedConflict = .unresolvedConflict(refusal.error, recordID)
            return
        }
        whole.saves.append(record)
        whole.generations[recordID] = min(pending?.generation ?? generation, generation)
    }

    private func plan(
        _ deletion: RecordModifyRequest.Deletion, into whole: inout PlannedRequest, generation: UInt64, _ basis: Basis
    ) {
        let pending = basis.session.records[deletion.recordID]?.pending
        if let pending, pending.intent == .save, pending.generation > generation { return }
        var deletion = deletion
        if deletion.recordChangeTag == nil { deletion.recordChangeTag = pending?.tag }
        whole.deletions.append(deletion)
        whole.generations[deletion.recordID] = min(pending?.generation ?? generation, generation)
    }

    private mutating func divide(_ whole: PlannedRequest, _ basis: inout Basis, _ memory: inout SendMemory) {
        let limits = memory.limits(basis.limits)
        let plan = RequestPlan.divide(whole, limits: limits) { nextID(basis) }
        if plan.requests.count > 1 {
            basis.note(.divided(items: whole.itemCount, parts: plan.requests.count, because: "a batch's bounds"))
        }
        queue += plan.requests
        for recordIDs in plan.tooLarge {
            var part = whole.part(Set(recordIDs), requestID: nextID(basis))
            part.limitsBefore = limits
            // Sent as it is, so that the server's refusal is the answer, and no circle is divided.
            queue.append(part)
        }
    }

    /// Answers a request that is not made.
    private mutating func refuse(
        _ request: PlannedRequest, _ error: ChangeFeedError, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        basis.note(.failed("batch", code: "\(error.code)", retryAfter: nil))
        if !queue.isEmpty || error.code != .invalidArguments { return sort(request, failing: error, &basis, &memory) }
        isAborted = isAborted || error.rule == "P9"
        return sort(request, failing: error, &basis, &memory)
    }

    private func nextID(_ basis: Basis) -> String { String(basis.randomness(), radix: 16) }

    // MARK: Requests

    private mutating func send(_ request: PlannedRequest, _ basis: inout Basis) -> PassAction {
        basis.log.withUnwritten { session in
            for (recordID, generation) in request.generations { session.records.send(recordID, upTo: generation) }
        }
        step = .modifyingRecords(request)
        outcome.requestCount += 1
        basis.note(
            .requested(
                "request \(request.requestID): saving \(request.saves.count) records, deleting "
                    + "\(request.deletions.count)" + (request.repeats > 0 ? ", again" : "")))
        var action = request.request
        action.ifUser = basis.userID
        return .modifyRecords(action)
    }

    mutating func recordsModified(
        _ result: Result<RecordModifyResults, ChangeFeedError>, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        guard case .modifyingRecords(let request) = step else { return .none }
        switch result {
        case .success(let results):
            if !results.errors.values.contains(where: \.code.isRepeated) { basis.schedule.answered(.send) }
            basis.note(.answered("request \(request.requestID): \(results.errors.count) items failed"))
            return sort(request, results, &basis, &memory)
        case .failure(let error):
            basis.note(
                .failed("request \(request.requestID)", code: "\(error.code)", retryAfter: error.retryAfter))
            if error.code == .partialFailure {
                return sort(request, RecordModifyResults(partial: error, of: request), &basis, &memory)
            }
            if error.code.failureClass == .lost { return lost(request, error, &basis, &memory) }
            if error.code.stopsPass { isAborted = true }
            return sort(request, failing: error, &basis, &memory)
        }
    }

    /// The very same request is made again: if it was carried out, the answer is the first one's (section 6.13.6).
    private mutating func lost(
        _ request: PlannedRequest, _ error: ChangeFeedError, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        var request = request
        request.repeats += 1
        if request.repeats == 1, error.code == .serverResponseLost, !isAborted { return send(request, &basis) }
        memory.unanswered.append(request)
        basis.refused(error, wants: .send)
        outcome.retryingCount += request.itemCount
        if !basis.policy.actsByItself { failure = .requestFailed(error) }
        isAborted = true
        return next(&basis, &memory)
    }

    private mutating func sort(
        _ request: PlannedRequest, failing error: ChangeFeedError, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        sort(
            request,
            RecordModifyResults(
                saves: request.saves.map { .init(recordID: $0.recordID, result: .failure(error)) },
                deletions: request.deletions.map { .init(recordID: $0.recordID, result: .failure(error)) }),
            &basis, &memory)
    }

    /// Puts each item of an answer where it belongs.
    private mutating func sort(
        _ request: PlannedRequest, _ results: RecordModifyResults, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        var answer = RecordAnswer(request)
        let saves = results.saveResults
        let deletions = results.deleteResults
        for record in request.saves {
            switch saves[record.recordID] ?? .failure(.unanswered(record.recordID)) {
            case .success(let saved): answer.saved.append(saved)
            case .failure(let error): answer.failed(record.recordID, error)
            }
        }
        for deletion in request.deletions {
            switch deletions[deletion.recordID] ?? .failure(.unanswered(deletion.recordID)) {
            case .success: answer.deleted.append(deletion.recordID)
            case .failure(let error): answer.failed(deletion.recordID, error)
            }
        }
        if request.repeats > 0, let error = answer.commonReasonToRepeat {
            // Whether it was carried out the first time is as unknown as before: it stays the same request.
            return lost(request, error, &basis, &memory)
        }
        dealWithOvertaken(&answer, &basis)
        dealWithSplit(&answer, &basis, &memory)
        dealWithSiblings(&answer, &basis)
        dealWithRetries(&answer, &basis, &memory)
        let missing = answer.overtaken + answer.withoutServerRecord
        if missing.isEmpty || isAborted { return report(answer, &basis, &memory) }
        step = .lookingUp(answer)
        basis.note(.requested("\(missing.count) records of which the answer is not the latest"))
        return .requestRecords(basis.recordsRequest(Array(missing.prefix(basis.limits.itemsPerLookup))))
    }

    /// The answer to a repeated request is as old as the request, and the app may have fetched something newer since, or
    /// that there is nothing. What was carried out is looked up; a refusal says nothing about the record as it is now,
    /// and the change is sent anew.
    private mutating func dealWithOvertaken(_ answer: inout RecordAnswer, _ basis: inout Basis) {
        guard answer.request.isOvertaken else { return }
        answer.overtaken = answer.saved.map(\.recordID) + answer.deleted
        answer.requeue(answer.request.recordIDs.filter { answer.failures[$0] != nil }, &basis)
    }

    private mutating func dealWithSplit(
        _ answer: inout RecordAnswer, _ basis: inout Basis, _ memory: inout SendMemory
    ) {
        let split = answer.items(of: .split)
        guard !split.isEmpty else { return }
        let part = answer.request.part(Set(split), requestID: nextID(basis))
        let isAboutOne = split.count == 1 || answer.failures[split[0]]?.limit?.name == "recordBytes"
        guard !isAboutOne, let halves = RequestPlan.halves(of: part, nextID: { nextID(basis) }) else {
            // What cannot be divided is too large by itself, and teaches nothing about the size of a request.
            if let before = answer.request.limitsBefore { memory.learned = before }
            for recordID in split { answer.makePermanent(recordID) }
            return
        }
        let before = answer.request.limitsBefore ?? memory.limits(basis.limits)
        if split.count == answer.request.itemCount {
            memory.learned = .init(
                items: max(1, (part.itemCount + 1) / 2), bytes: max(1, halves.map(\.byteCount).max() ?? 1))
        }
        basis.note(.divided(items: part.itemCount, parts: halves.count, because: "the server's limit"))
        queue.insert(
            contentsOf: halves.map { half in
                var half = half
                half.limitsBefore = before
                return half
            }, at: 0)
        answer.requeue(split, &basis)
    }

    /// What was refused only together with something else. The parts of the request that have nothing to do with what
    /// is to blame are sent again at once, each by itself (section 6.9); the rest waits for what is to blame.
    private mutating func dealWithSiblings(_ answer: inout RecordAnswer, _ basis: inout Basis) {
        let siblings = Set(answer.items(of: .sibling))
        guard !siblings.isEmpty else { return }
        let guilty = Set(answer.failures.keys).subtracting(siblings)
        var free: [[Record.ID]] = []
        for part in RequestPlan.components(of: answer.request) where part.contains(where: siblings.contains) {
            if part.allSatisfy(siblings.contains), !guilty.isEmpty {
                free.append(part)
            } else {
                excluded.formUnion(part.filter(siblings.contains))
            }
        }
        let blamed = answer.failures
        answer.requeue(Array(siblings), &basis)
        guard !free.isEmpty else {
            if guilty.isEmpty {
                basis.refused(.unanswered(answer.request.recordIDs[0]), wants: .send)
                outcome.retryingCount += siblings.count
                if !basis.policy.actsByItself {
                    for recordID in siblings { outcome.failedRecords[recordID] = blamed[recordID] }
                }
            }
            return
        }
        basis.note(
            .divided(items: answer.request.itemCount, parts: free.count, because: "part of an atomic batch failed"))
        queue.insert(
            contentsOf: free.map { answer.request.part(Set($0), requestID: nextID(basis)) }, at: 0)
    }

    private mutating func dealWithRetries(
        _ answer: inout RecordAnswer, _ basis: inout Basis, _ memory: inout SendMemory
    ) {
        let retries = answer.items(of: .retry) + answer.items(of: .lost)
        for recordID in retries {
            guard let error = answer.failures[recordID] else { continue }
            excluded.insert(recordID)
            outcome.retryingCount += 1
            if !basis.policy.actsByItself { outcome.failedRecords[recordID] = error }
        }
        // One refusal, however many items: the longest wait counts.
        let longest = retries.compactMap { answer.failures[$0] }
            .max { ($0.retryAfter ?? .zero) < ($1.retryAfter ?? .zero) }
        if let longest { basis.refused(longest, wants: .send) }
        answer.requeue(retries, &basis)
        for recordID in answer.items(of: .blocked) {
            guard let error = answer.failures[recordID], error.code == .referenceViolation,
                answer.isDeletion(recordID), deferredDeletions[recordID] == nil,
                hasOtherDeletions(than: answer, basis)
            else { continue }
            // Children may be among what is still to be deleted.
            deferredDeletions[recordID] = outcome.deletedCount
            answer.requeue([recordID], &basis)
        }
    }

    private func hasOtherDeletions(than answer: RecordAnswer, _ basis: Basis) -> Bool {
        if !answer.deleted.isEmpty || queue.contains(where: { !$0.deletions.isEmpty }) { return true }
        let own = Set(answer.request.recordIDs)
        return basis.session.records.all.contains {
            $0.pending?.intent == .delete && !own.contains($0.id) && !excluded.contains($0.id)
        }
    }

    /// Deletions that waited for others are tried once more if others succeeded since.
    private mutating func reportDeferred(_ basis: inout Basis, _ memory: inout SendMemory) -> PassAction {
        let worthwhile = deferredDeletions.filter { $0.value < outcome.deletedCount }.map(\.key)
        guard !worthwhile.isEmpty, !isAborted else {
            for recordID in deferredDeletions.keys.sorted(by: { $0.description < $1.description }) {
                let error = ChangeFeedError.stillReferred(recordID)
                outcome.failedRecords[recordID] = error
                memory.blocked[recordID] = error
            }
            return close()
        }
        var request = PlannedRequest(
            requestID: nextID(basis), saves: [], deletions: [], isAtomic: false, generations: [:])
        for recordID in worthwhile.sorted(by: { $0.description < $1.description }) {
            deferredDeletions[recordID] = nil
            plan(.init(recordID: recordID), into: &request, generation: basis.log.state.lastGeneration, basis)
        }
        return request.itemCount == 0 ? next(&basis, &memory) : send(request, &basis)
    }

    mutating func recordsReceived(
        _ result: Result<[Record.ID: Result<Record, ChangeFeedError>], ChangeFeedError>, _ basis: inout Basis,
        _ memory: inout SendMemory
    ) -> PassAction {
        guard case .lookingUp(var answer) = step else { return .none }
        switch result {
        case .success(let records):
            basis.note(.answered("\(records.count) records"))
            for (recordID, record) in records {
                if case .success(let record) = record { answer.serverRecords[recordID] = record }
            }
            let (changed, recreated) = answer.resolveOvertaken(records)
            answer.requeue(changed, &basis)
            for recordID in recreated {
                basis.record([.recordDone(recordID, answer.request.generations[recordID] ?? 0)])
                basis.note(.satisfied(recordID, because: "it was deleted, and is there anew"))
            }
            let unasked = (answer.overtaken + answer.withoutServerRecord).filter {
                records[$0] == nil && answer.serverRecords[$0] == nil
            }
            // A request may have more items than one look-up; an answer with nothing in it would bring no more.
            if !records.isEmpty, !unasked.isEmpty, !isAborted {
                step = .lookingUp(answer)
                basis.note(.requested("\(unasked.count) more records of which the answer is not the latest"))
                return .requestRecords(basis.recordsRequest(Array(unasked.prefix(basis.limits.itemsPerLookup))))
            }
        case .failure(let error):
            basis.note(.failed("records", code: "\(error.code)", retryAfter: error.retryAfter))
        }
        return report(answer, &basis, &memory)
    }

    private mutating func report(
        _ answer: RecordAnswer, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        if !answer.overtaken.isEmpty {
            // What was saved is not told before it is known what has become of it: the request is repeated once more.
            memory.unanswered.append(answer.request)
            basis.refused(.unanswered(answer.overtaken[0]), wants: .send)
            outcome.retryingCount += answer.request.itemCount
            isAborted = true
            return next(&basis, &memory)
        }
        var answer = answer
        answer.settle { recordID in
            basis.note(.satisfied(recordID, because: "the server has it already"))
        }
        for record in answer.saved {
            memory.settled(record.recordID)
            memory.unblock { $0.code == .referenceViolation && $0.zoneID == record.recordID.zoneID }
        }
        for recordID in answer.deleted {
            memory.settled(recordID)
            memory.unblock { $0.code == .quotaExceeded || $0.code == .referenceViolation }
        }
        for (recordID, error) in answer.failures {
            excluded.insert(recordID)
            outcome.failedRecords[recordID] = error
            let count = memory.refused(recordID, error, isConflict: error.code.failureClass == .conflict)
            if answer.remainsPending(recordID) {
                memory.blocked[recordID] = error
            } else {
                if error.code.failureClass != .conflict { memory.failed[recordID] = error }
                if count >= 2, error.code.failureClass == .conflict {
                    basis.note(.held(recordID, because: "the server refused the same version twice"))
                    hasUnresolvedConflict = .unresolvedConflict(error, recordID)
                }
            }
        }
        outcome.savedCount += answer.saved.count
        outcome.deletedCount += answer.deleted.count
        if answer.isEmpty { return next(&basis, &memory) }
        step = .deliveringRecords(answer)
        var delivery = Delivery(name: "sentRecordZoneChanges") { [answer] checkpoint in
            .sentRecordZoneChanges(answer.event(checkpoint))
        }
        delivery.changes = answer.changes
        if !answer.knownZoneIDs.isEmpty { delivery.changes += basis.cursors.hadBeforeRead(answer.knownZoneIDs) }
        return .deliver(delivery)
    }

    // MARK: What the delegate has done

    mutating func delivered(
        _ handled: Handled, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        switch step {
        case .opening:
            return next(&basis, &memory)
        case .deliveringZones(let answer):
            if handled.failure != nil {
                excludedZones.formUnion(answer.all)
                basis.log.withUnwritten { session in for zoneID in answer.all { session.zones.takeBack(zoneID) } }
            } else {
                outcome.savedZoneIDs += answer.saved.map(\.zoneID)
                outcome.deletedZoneIDs += answer.deleted
            }
            return next(&basis, &memory)
        case .deliveringRecords(let answer):
            if let reason = handled.failure {
                excluded.formUnion(answer.reportedRecordIDs)
                basis.refused(.notTaken(reason), wants: .send, by: .app)
                outcome.retryingCount += answer.reportedRecordIDs.count
                if answer.isWhole {
                    var request = answer.request
                    request.repeats += 1
                    memory.unheard.append(request)
                    return next(&basis, &memory)
                }
            }
            if handled.failure == nil { basis.schedule.answered(.send, by: .app) }
            // What is still in flight stays pending: what was refused for now, and everything if the handler threw.
            basis.log.withUnwritten { session in
                for recordID in answer.reportedRecordIDs { session.records.takeBack(recordID) }
            }
            // A zone that the app means to create because of this event is created by the next send (rule SF2).
            for (recordID, error) in answer.failures where error.code == .zoneNotFound || error.code == .userDeletedZone
            {
                excludedZones.insert(recordID.zoneID)
            }
            return next(&basis, &memory)
        case .closing:
            step = .ended
            return .finish
        case .modifyingZones, .askingBatch, .modifyingRecords, .lookingUp, .ended:
            return .none
        }
    }

    private mutating func close() -> PassAction {
        step = .closing
        let content = content
        return .deliver(
            Delivery(name: "didSendChanges") { .didSendChanges(.init(content: content, core: $0.core)) })
    }

    // MARK: Ending early

    /// Whether a request is under way whose answer is worth waiting for.
    var isModifying: Bool {
        switch step {
        case .modifyingZones, .modifyingRecords: true
        default: false
        }
    }

    /// No further batch is asked for, and the request that is under way is the last (rule I10).
    mutating func cancel(_ error: SyncEngineError) {
        isAborted = true
        failure = failure ?? error
    }

    /// Ends the send without the answer that it waits for. What was sent may have been carried out: it is kept to be
    /// asked again.
    mutating func abandon(
        _ error: SyncEngineError, _ basis: inout Basis, _ memory: inout SendMemory
    ) -> PassAction {
        cancel(error)
        switch step {
        case .modifyingRecords(let request):
            var request = request
            request.repeats += 1
            memory.unanswered.append(request)
            return close()
        case .modifyingZones, .askingBatch:
            basis.log.withUnwritten { $0.takeAllBack() }
            return close()
        case .lookingUp(let answer):
            return report(answer, &basis, &memory)
        default:
            return .none
        }
    }
}
