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
        _ request: RecordModifyRequest, in databaseID: DatabaseID, by userID: String, device deviceID: String? = nil,
        assets: PreparedAssets = PreparedAssets(), to store: any StoreWriter
    ) throws(ChangeFeedError) -> Written<RecordModifyResults> {
        let groups = try groups(of: request)
        try checkRequestID(request.requestID)
        let repeats = RequestRepeats(request: request, databaseID: databaseID, userID: userID, deviceID: deviceID)
        var writing = try RecordWriting(
            request: request, assets: assets, writer: Writer(databaseID: databaseID, userID: userID), feed: self,
            store: store)
        var repeated: Set<RecordZone.ID> = []
        if let repeats {
            for group in groups where try writing.repeatOutcome(of: group, from: repeats) {
                repeated.insert(group.zoneID)
            }
        }
        // A zone that the request has been written to is not where it was, and need not be; and a request that is
        // repeated as a whole is answered, wherever the zones are.
        if repeated.count < groups.count {
            try checkZones(request.ifZonesAt.filter { !repeated.contains($0.key) }, in: databaseID, from: store)
        }
        for group in groups where !repeated.contains(group.zoneID) {
            try writing.write(group)
            if let repeats { try writing.keepOutcome(of: group, in: repeats) }
        }
        try writing.finish()
        return Written(results: writing.results, changes: writing.changes)
    }
}

/// What the records of a request change beside themselves. A value: a copy is what to go back to if a zone fails.
private struct Tally {
    var quota: QuotaRules
    var schema: SchemaChecker
    var assets: AssetReferences
}

/// One modify request under way.
private struct RecordWriting {
    private let request: RecordModifyRequest
    private let assets: PreparedAssets
    private let writer: Feed.Writer
    private let date: Date
    private let feed: Feed
    private let store: any StoreWriter

    private var checks: RecordChecks
    private var merge: FieldMerge
    private var tally: Tally
    private var sentBytes = 0
    private(set) var changes: [WrittenZone] = []
    private var saves: [Result<Record, ChangeFeedError>?]
    /// For a request with an id, the versions as they were stored, by their place in the request.
    private var stored: [Int: RecordVersion] = [:]
    private var deletions: [Result<Void, ChangeFeedError>?]

    init(
        request: RecordModifyRequest, assets: PreparedAssets, writer: Feed.Writer, feed: Feed, store: any StoreWriter
    ) throws(ChangeFeedError) {
        self.request = request
        self.assets = assets
        self.writer = writer
        self.feed = feed
        self.store = store
        date = feed.now()
        checks = RecordChecks(names: feed.names)
        merge = FieldMerge(shapes: feed.shapes)
        tally = Tally(
            quota: try QuotaRules(databaseID: writer.databaseID, quota: feed.quota, store: store),
            schema: SchemaChecker(schema: try feed.schema(in: store), environment: feed.environment),
            assets: AssetReferences(databaseID: writer.databaseID)
        )
        saves = Array(repeating: nil, count: request.saving.count)
        deletions = Array(repeating: nil, count: request.deleting.count)
    }

    /// One result for each item, in the order of the request.
    var results: RecordModifyResults {
        let forgotten = ChangeFeedError(.internalError, "An item of the request was passed over.")
        return RecordModifyResults(
            saves: saves.indices.map { index in
                .init(recordID: request.saving[index].recordID, result: saves[index] ?? .failure(forgotten))
            },
            deletions: deletions.indices.map { index in
                .init(recordID: request.deleting[index].recordID, result: deletions[index] ?? .failure(forgotten))
            }
        )
    }

    /// Writes what is kept once for the whole request.
    func finish() throws(ChangeFeedError) {
        try tally.quota.save(to: store)
        try tally.assets.save(uploads: assets.uploads, to: store)
        if tally.schema.hasLearned { try feed.setSchema(tally.schema.schema, in: store) }
    }

    // MARK: One zone

    mutating func write(_ group: Feed.ZoneGroup) throws(ChangeFeedError) {
        var zone: ZoneRow
        do throws(ChangeFeedError) {
            zone = try feed.zoneForWriting(group.zoneID, in: writer.databaseID, date: date, to: store)
        } catch {
            for index in group.saves { saves[index] = .failure(error.naming(request.saving[index].recordID)) }
            for index in group.deletions { deletions[index] = .failure(error.naming(request.deleting[index].recordID)) }
            return
        }

        let tallyBefore = tally
        let isAtomic = request.atomically && zone.capabilities.contains(.atomic)
        var plan = try plan(group, in: zone)
        if try checkReferences(&plan, in: zone) > 0 {
            // What was refused teaches nothing.
            tally.schema = tallyBefore.schema
            for (index, _) in plan.saves { try learn(from: request.saving[index]) }
        }
        if plan.isMalformed || plan.hasFailed && isAtomic {
            tally = tallyBefore
            fail(group, rule: plan.isMalformed ? "M12" : "M11")
            return
        }

        // Deletions look at the zone as the saves leave it; an atomic zone takes the saves back if they fail.
        let savepoint = isAtomic && !plan.deletions.isEmpty ? try store.savepoint() : nil
        let zoneBefore = zone
        var change = WrittenZone(zoneID: zone.zoneID)
        try apply(plan.saves, to: &zone, change: &change)
        let cascade = try cascade(of: &plan, in: zone, isAtomic: isAtomic)
        if plan.hasFailed && isAtomic {
            if let savepoint { try store.rollBack(to: savepoint) }
            tally = tallyBefore
            for index in group.saves { (saves[index], stored[index]) = (nil, nil) }
            fail(group, rule: "M11")
            return
        }
        try apply(cascade, to: &zone, change: &change)
        for (index, _) in plan.deletions where deletions[index] == nil { deletions[index] = .success(()) }

        if !change.recordTypes.isEmpty { changes.append(change) }
        let isApplied = !plan.saves.isEmpty || !plan.deletions.isEmpty
        let isOtherMarker = zone.clientChangeTokenData != request.clientChangeTokenData
        if isApplied, zone.position != zoneBefore.position || isOtherMarker {
            zone.clientChangeTokenData = request.clientChangeTokenData
            try store.putZone(zone)
        }
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
}

// MARK: - Planning

extension RecordWriting {
    /// What is to be done in a zone once all of it is known to be allowed.
    fileprivate struct Plan {
        var saves: [(index: Int, save: Feed.PlannedSave)] = []
        /// The version is nil where there is nothing to delete.
        var deletions: [(index: Int, version: RecordVersion?)] = []
        var hasFailed = false
        var isMalformed = false
    }

    private mutating func plan(_ group: Feed.ZoneGroup, in zone: ZoneRow) throws(ChangeFeedError) -> Plan {
        var plan = Plan()
        plan.saves.reserveCapacity(group.saves.count)
        for index in group.saves {
            if let error = checks.fault(in: request.saving[index], policy: request.savePolicy) {
                saves[index] = .failure(error)
                plan.isMalformed = true
                continue
            }
            do throws(ChangeFeedError) {
                if let error = assets.failures[index] { throw error }
                plan.saves.append((index, try planSave(request.saving[index], in: zone)))
            } catch {
                saves[index] = .failure(error)
                plan.hasFailed = true
            }
            try feed.checkRequestBytes(sentBytes, at: request.saving[index].recordID)
        }
        for index in group.deletions {
            let deletion = request.deleting[index]
            if let error = checks.fault(inDeletionOf: deletion.recordID) {
                deletions[index] = .failure(error)
                plan.isMalformed = true
                continue
            }
            do throws(ChangeFeedError) {
                let entry = try store.record(named: deletion.recordID.recordName, in: zone.key)
                guard case .live(let version) = entry else {
                    plan.deletions.append((index, nil))
                    continue
                }
                try feed.checkDeletion(deletion, of: version, by: writer)
                plan.deletions.append((index, version))
            } catch {
                deletions[index] = .failure(error)
                plan.hasFailed = true
            }
        }
        return plan
    }

    private mutating func planSave(
        _ record: Record, in zone: ZoneRow
    ) throws(ChangeFeedError) -> Feed.PlannedSave {
        let entry = try store.record(named: record.recordID.recordName, in: zone.key)
        let save = try feed.plan(record, over: entry, policy: request.savePolicy, by: writer, merge: &merge)
        // Too large by itself, it is no reason to split the request.
        try feed.checkSize(of: save)
        sentBytes += save.sentBytes
        var references = tally.assets
        let added =
            try save.fieldBytes - (save.previous?.fieldBytes ?? 0)
            + references.replace(save.previous?.payload, by: save.payload, in: store)
        try tally.quota.check(adding: added, for: save.recordID)
        try learn(from: record)
        tally.assets = references
        tally.quota.add(added)
        return save
    }

    /// What is refused teaches nothing, not even what came before the fault.
    private mutating func learn(from record: Record) throws(ChangeFeedError) {
        let before = tally.schema
        do throws(ChangeFeedError) {
            try tally.schema.check(record, includingBase: request.savePolicy == .allKeys)
        } catch {
            tally.schema = before
            throw error
        }
    }
    /// Takes the saves out of the plan whose references do not hold, and those that needed them; gives their number.
    private mutating func checkReferences(
        _ plan: inout Plan, in zone: ZoneRow
    ) throws(ChangeFeedError) -> Int {
        guard plan.saves.contains(where: { needsReferenceChecks($0) }) else { return 0 }
        var checks = Feed.ReferenceChecks(
            zone: zone.key, limits: feed.limits, store: store, saves: plan.saves.map(\.save))
        var failed: Set<Int> = []
        /// By the name of a record that is saved along: the saves that fail with it.
        var dependents: [ByteString: [(place: Int, reference: Feed.ReferenceChecks.Checked)]] = [:]
        var failedNames: [ByteString] = []
        for (place, (index, save)) in plan.saves.enumerated() {
            do throws(ChangeFeedError) {
                for along in try checks.targetsSavedAlong(with: save, edits: request.saving[index].edits) {
                    let name = ByteString(along.reference.recordID.recordName)
                    dependents[name, default: []].append((place, along))
                }
            } catch {
                saves[index] = .failure(error)
                failed.insert(place)
                failedNames.append(ByteString(save.recordID.recordName))
            }
        }
        // Records that were refused before the references were looked at do not count as saved along, so what remains
        // is to follow the failures found here.
        func followFailures() {
            while let name = failedNames.popLast() {
                for (place, reference) in dependents[name] ?? [] where failed.insert(place).inserted {
                    let (index, save) = plan.saves[place]
                    saves[index] = .failure(reference.violation(of: save.recordID))
                    failedNames.append(ByteString(save.recordID.recordName))
                }
            }
        }
        followFailures()
        // Only those that are left take a place among the owners of a target.
        for (place, (index, save)) in plan.saves.enumerated() where save.mayHaveOwners && !failed.contains(place) {
            do throws(ChangeFeedError) {
                try checks.checkOwners(save.links, before: save.previousLinks, of: save.recordID)
            } catch {
                saves[index] = .failure(error)
                failed.insert(place)
                failedNames.append(ByteString(save.recordID.recordName))
                followFailures()
            }
        }
        guard !failed.isEmpty else { return 0 }
        plan.hasFailed = true
        for place in failed {
            let save = plan.saves[place].save
            let back = try tally.assets.replace(save.payload, by: save.previous?.payload, in: store)
            tally.quota.add((save.previous?.fieldBytes ?? 0) - save.fieldBytes + back)
        }
        plan.saves = plan.saves.enumerated().filter { !failed.contains($0.offset) }.map(\.element)
        return failed.count
    }

    private func needsReferenceChecks(_ planned: (index: Int, save: Feed.PlannedSave)) -> Bool {
        planned.save.mayHaveLinks || request.saving[planned.index].edits.mayLink
    }

    /// What goes with the planned deletions, with those taken out that may not be (rule R14).
    private mutating func cascade(
        of plan: inout Plan, in zone: ZoneRow, isAtomic: Bool
    ) throws(ChangeFeedError) -> Feed.Cascade {
        while true {
            let requested = plan.deletions.compactMap { deletion in
                deletion.version.map { (index: deletion.index, version: $0) }
            }
            let cascade = try feed.cascade(of: requested, in: zone.key, from: store)
            if cascade.violations.isEmpty { return cascade }
            plan.hasFailed = true
            for (index, error) in cascade.violations { deletions[index] = .failure(error) }
            if isAtomic { return cascade }
            // Without those that fail, others may leave children behind.
            plan.deletions.removeAll { cascade.violations[$0.index] != nil }
        }
    }
}

// MARK: - Applying

extension RecordWriting {
    private mutating func apply(
        _ planned: [(index: Int, save: Feed.PlannedSave)], to zone: inout ZoneRow, change: inout WrittenZone
    ) throws(ChangeFeedError) {
        // Records of one type follow each other.
        var noted = ""
        for (index, save) in planned {
            let stamp = try feed.nextStamp(in: store)
            let version = RecordVersion(save, tag: stamp.changeTag, date: date, userID: writer.userID)
            try store.putRecord(.live(version), in: zone.key)
            if save.mayHaveLinks {
                try feed.updateLinks(
                    of: save.recordID.recordName, from: save.previousLinks, to: save.links, in: zone.key, store: store)
            }
            zone.position = stamp.position
            zone.byteCount += save.fieldBytes - (save.previous?.fieldBytes ?? 0)
            let answer = save.openedPayload.map { version.with(encryptedPayload: $0) } ?? version
            saves[index] = .success(Record(version: answer))
            if request.requestID != nil { stored[index] = version }
            if !sameBytes(noted, version.recordType) {
                noted = version.recordType
                change.recordTypes.insert(noted)
            }
        }
        if feed.compatibility.touchesParents { try touchParents(of: planned.map(\.save), in: &zone, change: &change) }
    }

    /// Rule R9, where it is asked for: each parent that the request did not save itself is written anew as it is.
    private func touchParents(
        of saves: [Feed.PlannedSave], in zone: inout ZoneRow, change: inout WrittenZone
    ) throws(ChangeFeedError) {
        var done = Set(saves.map { ByteString($0.recordID.recordName) })
        for save in saves {
            guard let name = save.parent?.recordID.recordName, done.insert(ByteString(name)).inserted,
                case .live(let parent) = try store.record(named: name, in: zone.key), let system = parent.system
            else { continue }
            let stamp = try feed.nextStamp(in: store)
            let touched = RecordVersion(
                recordID: parent.recordID,
                recordType: parent.recordType,
                system: RecordSystemFields(
                    changeTag: stamp.changeTag,
                    creationDate: system.creationDate,
                    modificationDate: system.modificationDate,
                    creatorUserID: system.creatorUserID,
                    lastModifiedUserID: system.lastModifiedUserID
                ),
                parent: parent.parent,
                payload: parent.payload,
                encryptedPayload: parent.encryptedPayload
            )
            try store.putRecord(.live(touched), in: zone.key)
            zone.position = stamp.position
            change.recordTypes.insert(touched.recordType)
        }
    }

    private mutating func apply(
        _ cascade: Feed.Cascade, to zone: inout ZoneRow, change: inout WrittenZone
    ) throws(ChangeFeedError) {
        for member in cascade.members {
            let version = member.version
            let position = try feed.nextStamp(in: store).position
            let tombstone = Tombstone(
                recordID: version.recordID,
                recordType: version.recordType,
                position: position,
                changeTag: version.system?.changeTag,
                reason: member.isRequested ? .deleted : .cascaded,
                date: date
            )
            try store.putRecord(.tombstone(tombstone), in: zone.key)
            try feed.updateLinks(
                of: version.recordID.recordName, from: Feed.Links(of: version), to: .none, in: zone.key, store: store)
            zone.position = position
            zone.byteCount -= version.fieldBytes
            tally.quota.add(try tally.assets.replace(version.payload, by: nil, in: store) - version.fieldBytes)
            change.recordTypes.insert(version.recordType)
        }
    }
}

// MARK: - Requests that are repeated

extension RecordWriting {
    /// Answers a zone's items from what the same request was answered before; false if it was not made before.
    fileprivate mutating func repeatOutcome(
        of group: Feed.ZoneGroup, from repeats: RequestRepeats
    ) throws(ChangeFeedError) -> Bool {
        guard let outcome = try repeats.outcome(of: group, in: store) else { return false }
        for (index, result) in zip(group.saves, outcome.saves) {
            switch result {
            case .success(let version): saves[index] = .success(try feed.record(version, of: writer.databaseID.userID))
            case .failure(let error): saves[index] = .failure(error)
            }
        }
        for (index, result) in zip(group.deletions, outcome.deletions) { deletions[index] = result }
        return true
    }

    /// Keeps what a zone's items were answered, if anything was written.
    fileprivate func keepOutcome(
        of group: Feed.ZoneGroup, in repeats: RequestRepeats
    ) throws(ChangeFeedError) {
        guard let zone = try store.zone(group.zoneID, in: writer.databaseID) else { return }
        try repeats.keep(
            saves: group.saves.map { index in
                // As it was stored: with its encrypted fields sealed.
                stored[index].map { .success($0) } ?? (saves[index] ?? .failure(.cancelled)).map(\.base)
            },
            deletions: group.deletions.compactMap { deletions[$0] },
            of: group, in: zone, date: date, to: store)
    }
}

extension RecordVersion {
    fileprivate convenience init(_ save: Feed.PlannedSave, tag: RecordChangeTag, date: Date, userID: String) {
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
            payload: save.payload,
            encryptedPayload: save.encryptedPayload
        )
    }
}
