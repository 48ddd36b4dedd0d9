#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How records are saved and deleted: the order in which the rules apply (section 1.9).
///
/// Zone by zone, everything is planned before anything is written, so that an atomic zone that fails has not begun.
extension Feed {
    package func modifyRecords(
        _ request: RecordModifyRequest, in databaseID: DatabaseID, by userID: String, to store: any StoreWriter
    ) throws(ChangeFeedError) -> Written<RecordModifyResults> {
        let groups = try groups(of: request)
        var writing = RecordWriting(
            request: request, databaseID: databaseID, userID: userID, date: now(), feed: self, store: store)
        for group in groups { try writing.write(group) }
        return Written(results: writing.results, changes: writing.changes)
    }
}

/// What a write answers, and what it changed: the latter is what subscribers are told of once it is committed.
package struct Written<Results: Sendable>: Sendable {
    package let results: Results
    package let changes: [WrittenZone]
}

/// A zone in which something was written, with the types of the records; no types where the zone itself was.
package struct WrittenZone: Sendable {
    package let zoneID: RecordZone.ID
    package var recordTypes: Set<String> = []
}

/// One modify request under way.
private struct RecordWriting {
    let request: RecordModifyRequest
    let databaseID: DatabaseID
    let userID: String
    let date: Date
    let feed: Feed
    let store: any StoreWriter

    private var checks: RecordChecks
    private var merge: FieldMerge
    private var sentBytes = 0
    private(set) var changes: [WrittenZone] = []
    private var saves: [Result<Record, ChangeFeedError>?]
    private var deletions: [Result<Void, ChangeFeedError>?]

    init(
        request: RecordModifyRequest, databaseID: DatabaseID, userID: String, date: Date, feed: Feed,
        store: any StoreWriter
    ) {
        self.request = request
        self.databaseID = databaseID
        self.userID = userID
        self.date = date
        self.feed = feed
        self.store = store
        checks = RecordChecks(names: feed.names)
        merge = FieldMerge(shapes: feed.shapes)
        saves = Array(repeating: nil, count: request.saving.count)
        deletions = Array(repeating: nil, count: request.deleting.count)
    }

    /// One result for each item, in the order of the request.
    var results: RecordModifyResults {
        let forgotten = ChangeFeedError(.internalError, "An item of the request was passed over.")
        return RecordModifyResults(
            saves: zip(request.saving, saves).map { record, result in
                .init(recordID: record.recordID, result: result ?? .failure(forgotten))
            },
            deletions: zip(request.deleting, deletions).map { deletion, result in
                .init(recordID: deletion.recordID, result: result ?? .failure(forgotten))
            }
        )
    }

    // MARK: One zone

    /// What is to be done in a zone once all of it is known to be allowed.
    private struct Plan {
        var saves: [(index: Int, save: Feed.PlannedSave)] = []
        /// The version is nil where there is nothing to delete.
        var deletions: [(index: Int, version: RecordVersion?)] = []
        var hasFailed = false
        var isMalformed = false
    }

    mutating func write(_ group: Feed.ZoneGroup) throws(ChangeFeedError) {
        var zone: ZoneRow
        do throws(ChangeFeedError) {
            zone = try feed.zoneForWriting(group.zoneID, in: databaseID, date: date, to: store)
        } catch {
            for index in group.saves {
                saves[index] = .failure(error.naming(request.saving[index].recordID))
            }
            for index in group.deletions {
                deletions[index] = .failure(error.naming(request.deleting[index].recordID))
            }
            return
        }

        let plan = try plan(group, in: zone)
        let isAtomic = request.atomically && zone.capabilities.contains(.atomic)
        if plan.isMalformed || plan.hasFailed && isAtomic {
            fail(group, rule: plan.isMalformed ? "M12" : "M11")
            return
        }
        try apply(plan, to: &zone)
    }

    private mutating func plan(_ group: Feed.ZoneGroup, in zone: ZoneRow) throws(ChangeFeedError) -> Plan {
        var plan = Plan()
        plan.saves.reserveCapacity(group.saves.count)
        for index in group.saves {
            let record = request.saving[index]
            if let error = checks.fault(in: record) {
                saves[index] = .failure(error)
                plan.isMalformed = true
                continue
            }
            do throws(ChangeFeedError) {
                let entry = try store.record(named: record.recordID.recordName, in: zone.key)
                let save = try feed.plan(record, over: entry, policy: request.savePolicy, merge: &merge)
                sentBytes += save.sentBytes
                try feed.checkSize(of: save)
                plan.saves.append((index, save))
            } catch {
                saves[index] = .failure(error)
                plan.hasFailed = true
            }
            try feed.checkRequestBytes(sentBytes)
        }
        for index in group.deletions {
            let deletion = request.deleting[index]
            if let fault = feed.names.fault(inRecordName: deletion.recordID.recordName) {
                deletions[index] = .failure(
                    ChangeFeedError(
                        .invalidArguments, "The record name of a deletion \(fault).",
                        recordID: deletion.recordID, rule: "N1"))
                plan.isMalformed = true
                continue
            }
            do throws(ChangeFeedError) {
                guard case .live(let version) = try store.record(named: deletion.recordID.recordName, in: zone.key)
                else {
                    plan.deletions.append((index, nil))
                    continue
                }
                try feed.checkDeletion(deletion, of: version)
                plan.deletions.append((index, version))
            } catch {
                deletions[index] = .failure(error)
                plan.hasFailed = true
            }
        }
        return plan
    }

    /// Gives every item of a zone that has no error of its own the error of the batch (rule M11).
    private mutating func fail(_ group: Feed.ZoneGroup, rule: String) {
        func error(_ recordID: Record.ID) -> ChangeFeedError {
            ChangeFeedError(
                .batchRequestFailed,
                "The record \"\(recordID)\" was not written because another item of its batch failed: "
                    + "mend that one and send both again.",
                recordID: recordID, rule: rule)
        }
        for index in group.saves where saves[index] == nil {
            saves[index] = .failure(error(request.saving[index].recordID))
        }
        for index in group.deletions where deletions[index] == nil {
            deletions[index] = .failure(error(request.deleting[index].recordID))
        }
    }

    private mutating func apply(_ plan: Plan, to zone: inout ZoneRow) throws(ChangeFeedError) {
        let before = zone.position
        var change = WrittenZone(zoneID: zone.zoneID)
        // Records of one type follow each other.
        var type = ""
        func note(_ recordType: String) {
            if sameBytes(recordType, type) { return }
            type = recordType
            change.recordTypes.insert(recordType)
        }
        for (index, save) in plan.saves {
            let stamp = try feed.nextStamp(in: store)
            let version = RecordVersion(save, tag: stamp.changeTag, date: date, userID: userID)
            try store.putRecord(.live(version), in: zone.key)
            zone.position = stamp.position
            saves[index] = .success(Record(version: version))
            note(version.recordType)
        }
        for (index, version) in plan.deletions {
            if let version {
                let position = try feed.nextStamp(in: store).position
                let tombstone = Tombstone(
                    recordID: version.recordID,
                    recordType: version.recordType,
                    position: position,
                    changeTag: version.system?.changeTag,
                    reason: .deleted,
                    date: date
                )
                try store.putRecord(.tombstone(tombstone), in: zone.key)
                zone.position = position
                note(version.recordType)
            }
            deletions[index] = .success(())
        }
        if !change.recordTypes.isEmpty { changes.append(change) }
        let isApplied = !plan.saves.isEmpty || !plan.deletions.isEmpty
        if isApplied, zone.position != before || zone.clientChangeTokenData != request.clientChangeTokenData {
            zone.clientChangeTokenData = request.clientChangeTokenData
            try store.putZone(zone)
        }
    }
}

extension Feed {
    /// Rule R4: the bound on one record's keys and values.
    fileprivate func checkSize(of save: PlannedSave) throws(ChangeFeedError) {
        let bytes = save.payload.byteCount
        guard bytes <= limits.recordBytes else {
            throw ChangeFeedError(
                .limitExceeded,
                "The record \"\(save.recordID)\" has \(bytes) bytes, more than the \(limits.recordBytes) allowed: "
                    + "make it smaller.",
                recordID: save.recordID,
                rule: "R4",
                limit: .init(name: "recordBytes", allowed: limits.recordBytes, found: bytes))
        }
    }
}

extension RecordVersion {
    fileprivate convenience init(
        _ save: Feed.PlannedSave, tag: RecordChangeTag, date: Date, userID: String
    ) {
        let previous = save.previous?.system
        self.init(
            recordID: save.recordID,
            recordType: save.recordType,
            system: RecordSystemFields(
                changeTag: tag,
                creationDate: previous?.creationDate ?? date,
                modificationDate: date,
                creatorUserID: previous?.creatorUserID ?? userID,
                lastModifiedUserID: userID
            ),
            parent: save.parent,
            payload: save.payload
        )
    }
}

extension ChangeFeedError {
    /// The same error, about one record.
    fileprivate func naming(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(code, message, recordID: recordID, rule: rule, detail: detail, retryAfter: retryAfter)
    }
}
