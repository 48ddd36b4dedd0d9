import ChangeFeed
import SyncEngineCore

/// What an app keeps of its records, and what it does about what an engine tells: a value, without an engine.
struct LocalRecords: Sendable {
    /// What is decided about what was changed on both sides.
    struct Rules: Sendable {
        var conflicts = TestDevice.ConflictRule.clientWins
        var deletions = TestDevice.DeletionRule.drop
        var recreatesZones = true
        var uploadsAgainAfterReset = false
        /// Changes a record that is created again after the server's was deleted.
        var willRecreate: (@Sendable (inout Record) -> Void)?
        /// Hears of records whose local changes are given up.
        var willDrop: (@Sendable (Record) -> Void)?
    }

    /// What is to be done about the engine's pending changes.
    enum Reaction: Sendable {
        case save(Record.ID)
        case saveZone(RecordZone.ID)
        case delete(Record.ID, tag: String?)
        case takeBack(SyncEngine.PendingRecordZoneChange)
        case dropParked(RecordZone.ID)
    }

    /// What belongs to one user.
    struct Account: Sendable {
        /// The records, each as the server gave it with what was changed since.
        var records: [Record.ID: Record] = [:]
        /// What was deleted here and may still be on the server, with the tag of the version that was deleted.
        var deletions: [Record.ID: String?] = [:]
    }

    /// The user whose records these are; nil before anybody has signed in, and after a sign-out.
    private(set) var userID: String?
    private(set) var present = Account()
    private var others: [String: Account] = [:]

    var records: [Record.ID: Record] {
        get { present.records }
        set { present.records = newValue }
    }

    /// What is not on the server as far as the app knows.
    var unsent: [Reaction] {
        let saves = records.values.filter(\.isChanged).map(\.recordID).sorted()
        let deletions = present.deletions.keys.sorted()
        return saves.map { .save($0) }
            + deletions.map { .delete($0, tag: present.deletions[$0] ?? nil) }
    }

    // MARK: What a user does

    mutating func edit(_ recordID: Record.ID, type: String, _ body: (inout Record) -> Void) {
        var record = records[recordID] ?? Record(recordType: type, recordID: recordID)
        body(&record)
        present.deletions[recordID] = nil
        records[recordID] = record
    }

    /// Gives the tag of the version that is deleted.
    mutating func delete(_ recordID: Record.ID) -> String? {
        let tag = records.removeValue(forKey: recordID)?.recordChangeTag
        present.deletions.updateValue(tag, forKey: recordID)
        return tag
    }

    // MARK: What the engine tells

    /// Everything of one user gives way to that of another. Told twice it does nothing the second time.
    mutating func switchAccount(to user: String?) -> [Reaction] {
        if let user, user == userID { return [] }
        if let userID {
            others[userID] = present
            present = Account()
        }
        userID = user
        guard let user else { return [] }
        if let kept = others.removeValue(forKey: user) {
            // What was made while nobody was signed in is this user's now.
            present.records.merge(kept.records) { mine, _ in mine }
            present.deletions.merge(kept.deletions) { mine, _ in mine }
        }
        return unsent
    }

    mutating func take(_ changes: SyncEngine.FetchedDatabaseChanges, pendingZoneIDs: Set<RecordZone.ID>, _ rules: Rules)
        -> [Reaction]
    {
        var reactions: [Reaction] = []
        for deletion in changes.deletions {
            if deletion.reason == .encryptedDataReset, rules.uploadsAgainAfterReset {
                reactions += uploadAgain(deletion.zoneID, rules)
            } else {
                drop(rules) { $0.zoneID == deletion.zoneID }
            }
        }
        if let live = changes.resyncedZoneIDs {
            // A zone that is still to be created may have what no server has seen, and nothing else.
            let unseen = Set(records.values.filter { $0.recordChangeTag == nil }.map(\.recordID))
            drop(rules) { recordID in
                !live.contains(recordID.zoneID)
                    && !(pendingZoneIDs.contains(recordID.zoneID) && unseen.contains(recordID))
            }
        }
        return reactions
    }

    private mutating func uploadAgain(_ zoneID: RecordZone.ID, _ rules: Rules) -> [Reaction] {
        let kept = records.values.filter { $0.recordID.zoneID == zoneID }.map(\.recordID).sorted()
        for recordID in kept { recreate(recordID, rules) }
        for recordID in present.deletions.keys where recordID.zoneID == zoneID { present.deletions[recordID] = nil }
        return [.dropParked(zoneID), .saveZone(zoneID)] + kept.map { .save($0) }
    }

    private mutating func recreate(_ recordID: Record.ID, _ rules: Rules) {
        guard var record = records[recordID]?.recreated else { return }
        rules.willRecreate?(&record)
        records[recordID] = record
    }

    private mutating func drop(_ rules: Rules, where isGone: (Record.ID) -> Bool) {
        for (recordID, record) in records where isGone(recordID) {
            if record.isChanged { rules.willDrop?(record) }
            records[recordID] = nil
        }
        for recordID in present.deletions.keys where isGone(recordID) { present.deletions[recordID] = nil }
    }

    mutating func take(_ changes: SyncEngine.FetchedRecordZoneChanges, _ rules: Rules) -> [Reaction] {
        var reactions: [Reaction] = []
        for record in changes.modifications {
            let recordID = record.recordID
            if let tag = present.deletions[recordID] {
                // Somebody has changed what was deleted here: the deletion yields.
                if sameTag(tag, record.recordChangeTag) { continue }
                present.deletions[recordID] = nil
                reactions.append(.takeBack(.deleteRecord(recordID)))
            }
            if let local = records[recordID], local.isChanged {
                if !sameTag(local.recordChangeTag, record.recordChangeTag) { resolve(local, record, rules) }
            } else {
                records[recordID] = record
            }
        }
        for deletion in changes.deletions {
            present.deletions[deletion.recordID] = nil
            guard let local = records[deletion.recordID] else { continue }
            if !local.isChanged {
                records[deletion.recordID] = nil
            } else if local.recordChangeTag != nil {
                reactions += gone(local, rules)
            }
        }
        return reactions
    }

    mutating func take(_ sent: SyncEngine.SentDatabaseChanges, _ rules: Rules) {
        let missing = sent.failedZoneDeletes.filter {
            $0.value.code == .zoneNotFound || $0.value.code == .userDeletedZone
        }
        let gone = Set(sent.deletedZoneIDs).union(missing.keys)
        if !gone.isEmpty { drop(rules) { gone.contains($0.zoneID) } }
    }

    /// The end of a resync: what is not there any more goes.
    mutating func sweep(_ zoneID: RecordZone.ID, keeping live: SyncEngine.LiveRecordIDs, _ rules: Rules) {
        drop(rules) { $0.zoneID == zoneID && !live.contains($0) }
    }

    mutating func take(_ sent: SyncEngine.SentRecordZoneChanges, _ rules: Rules) -> [Reaction] {
        var reactions: [Reaction] = []
        for record in sent.savedRecords {
            if let local = records[record.recordID] {
                // What was set since it was sent stays on top of what was saved; a fetch in between may have put it on
                // another version.
                if case .merge(let merge) = rules.conflicts {
                    records[record.recordID] = merge(local, record, local.ancestor)
                } else {
                    records[record.recordID] = local.onTop(of: record)
                }
            } else if present.deletions[record.recordID] != nil {
                // It was deleted here while it was on its way.
                present.deletions.updateValue(record.recordChangeTag, forKey: record.recordID)
                reactions.append(.delete(record.recordID, tag: record.recordChangeTag))
            }
        }
        for failure in sent.failedRecordSaves { reactions += take(failure, rules) }
        for recordID in sent.deletedRecordIDs where present.deletions.removeValue(forKey: recordID) != nil {
            records[recordID] = nil
        }
        for (recordID, error) in sent.failedRecordDeletes {
            switch error.code {
            case .serverRecordChanged:
                guard let server = error.serverRecord, present.deletions.removeValue(forKey: recordID) != nil else {
                    continue
                }
                records[recordID] = server
            case .unknownItem, .zoneNotFound, .userDeletedZone:
                // What is not there need not be deleted.
                present.deletions[recordID] = nil
                reactions.append(.takeBack(.deleteRecord(recordID)))
            default: continue
            }
        }
        return reactions
    }

    private mutating func take(
        _ failure: SyncEngine.SentRecordZoneChanges.FailedRecordSave, _ rules: Rules
    ) -> [Reaction] {
        let recordID = failure.record.recordID
        guard let local = records[recordID] else { return [] }
        switch failure.error.code {
        case .serverRecordChanged:
            guard let server = failure.error.serverRecord else { return [] }
            resolve(local, server, rules)
            if case .serverWins = rules.conflicts { return [] }
            return [.save(recordID)]
        case .zoneNotFound, .userDeletedZone:
            guard rules.recreatesZones else { return [] }
            recreate(recordID, rules)
            return [.saveZone(recordID.zoneID), .save(recordID)]
        case .unknownItem: return gone(local, rules)
        default: return []
        }
    }

    /// A record that was changed here is gone from the server.
    private mutating func gone(_ local: Record, _ rules: Rules) -> [Reaction] {
        switch rules.deletions {
        case .drop:
            rules.willDrop?(local)
            records[local.recordID] = nil
            return [.takeBack(.saveRecord(local.recordID))]
        case .keep:
            recreate(local.recordID, rules)
            return [.save(local.recordID)]
        }
    }

    private mutating func resolve(_ local: Record, _ server: Record, _ rules: Rules) {
        switch rules.conflicts {
        case .serverWins:
            rules.willDrop?(local)
            records[local.recordID] = server
        case .clientWins: records[local.recordID] = local.onTop(of: server)
        case .merge(let merge): records[local.recordID] = merge(local, server, local.ancestor)
        case .ignored: break
        }
    }

    private func sameTag(_ left: String?, _ right: String?) -> Bool {
        switch (left, right) {
        case (let left?, let right?): sameBytes(left, right)
        case (nil, nil): true
        default: false
        }
    }
}

extension Record {
    /// Whether anything was set on it that the server may not have.
    fileprivate var isChanged: Bool {
        recordChangeTag == nil || !changedKeys.isEmpty || !encryptedValues.changedKeys.isEmpty || isParentChanged
    }

    /// The version that was changed; nil for a record that no server has seen.
    fileprivate var ancestor: Record? { base.system == nil ? nil : Record(version: base) }

    /// What was set on this record and differs, set on another version of it.
    fileprivate func onTop(of server: Record) -> Record {
        var record = server
        for key in changedKeys where self[key] as RecordValue? != record[key] {
            record[key] = self[key] as RecordValue?
        }
        for key in encryptedValues.changedKeys
        where encryptedValues[key] as RecordValue? != record.encryptedValues[key] {
            record.encryptedValues[key] = encryptedValues[key] as RecordValue?
        }
        if isParentChanged, parent != server.parent { record.setParent(parent) }
        return record
    }

    /// The same fields in a record that no server has seen.
    fileprivate var recreated: Record {
        var record = Record(recordType: recordType, recordID: recordID)
        for field in fields {
            if case .asset(let asset) = field.value {
                // The server may not have the content any more: what is here is what can be saved.
                record[field.key] = (try? asset.data()).map { Asset(data: $0) }
            } else {
                record[field.key] = field.value as RecordValue?
            }
        }
        for key in encryptedValues.allKeys { record.encryptedValues[key] = encryptedValues[key] as RecordValue? }
        if let parent { record.setParent(parent) }
        return record
    }
}

extension Sequence<Record.ID> {
    /// In the order of their names' bytes, so that the same records always come in the same order.
    func sorted() -> [Record.ID] { sorted { $0.sortKey.lexicographicallyPrecedes($1.sortKey) } }
}

extension Sequence<RecordZone.ID> {
    /// In the order of their names' bytes.
    func sorted() -> [RecordZone.ID] { sorted { $0.sortKey.lexicographicallyPrecedes($1.sortKey) } }
}

extension RecordZone.ID {
    fileprivate var sortKey: [UInt8] { Array(zoneName.utf8) + [0] + Array(ownerName.utf8) }
}

extension Record.ID {
    fileprivate var sortKey: [UInt8] { zoneID.sortKey + [0] + Array(recordName.utf8) }
}
