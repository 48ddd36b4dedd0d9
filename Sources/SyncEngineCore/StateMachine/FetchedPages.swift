import ChangeFeed

extension SyncEngine {
    /// A page of changes of the database with what it means for the state.
    struct FetchedDatabasePage: Sendable {
        let page: DatabaseChanges
        let deletions: [FetchedDatabaseChanges.Deletion]
        let resyncedZoneIDs: Set<RecordZone.ID>?
        /// What the page says of zones, and its token.
        private(set) var changes: [StateChange] = []
        /// Only its token.
        let tokenChanges: [StateChange]

        init(_ page: DatabaseChanges, cursors: Cursors, session: DurableState.Session) {
            self.page = page
            for change in page.changes {
                switch change {
                case .modified(let zoneID):
                    changes.append(.zoneDirty(zoneID, true))
                case .deleted(let deletion):
                    changes += session.changesForgetting(deletion.zoneID)
                }
            }
            deletions = page.deletions.map {
                FetchedDatabaseChanges.Deletion(
                    zoneID: $0.zoneID, reason: $0.reason, parkedChanges: session.pendingChanges(of: $0.zoneID))
            }
            var tokenChanges: [StateChange] = [.databaseToken(page.changeToken)]
            var live: Set<RecordZone.ID>?
            if let seen = cursors.databaseResync {
                changes.append(.databaseResyncSaw(page.modifications))
                if !page.moreComing {
                    let all = Set(seen + page.modifications)
                    for zoneID in cursors.zoneIDs where !all.contains(zoneID) {
                        changes += session.changesForgetting(zoneID)
                    }
                    changes.append(.databaseResyncEnded)
                    live = all
                }
            }
            resyncedZoneIDs = live
            if !page.moreComing, cursors.needsDatabaseFetch { tokenChanges.append(.needsDatabaseFetch(false)) }
            self.tokenChanges = tokenChanges
            changes += tokenChanges
        }

        func event(checkpoint: Checkpoint) -> Event {
            .fetchedDatabaseChanges(
                FetchedDatabaseChanges(
                    modifications: page.modifications, deletions: deletions, resyncedZoneIDs: resyncedZoneIDs,
                    checkpoint: checkpoint))
        }
    }
}

extension DurableState.Session {
    /// A zone is gone: its cursor is forgotten, and what was to be sent to it is set aside.
    fileprivate func changesForgetting(_ zoneID: RecordZone.ID) -> [StateChange] {
        quarantineOrder.filter { $0.zoneID == zoneID }.map { .unquarantined($0) }
            + [.zoneParked(zoneID), .zoneForgotten(zoneID)]
    }

    /// The pending changes of the records of a zone.
    func pendingChanges(of zoneID: RecordZone.ID) -> [SyncEngine.PendingRecordZoneChange] {
        records.isEmpty ? [] : records.all.filter { $0.id.zoneID == zoneID }.compactMap(\.unsentChange)
    }

    func liveRecordIDs(of zoneID: RecordZone.ID) -> SyncEngine.LiveRecordIDs {
        let pending = records.all.filter { $0.id.zoneID == zoneID && $0.unsent?.intent == .save }.map(\.id)
        return SyncEngine.LiveRecordIDs(
            zoneID: zoneID, names: cursors[zoneID]?.resync ?? [], pending: Set(pending))
    }
}

extension Outbox<Record.ID>.Entry {
    var unsentChange: SyncEngine.PendingRecordZoneChange? {
        unsent.map { $0.intent == .save ? .saveRecord(id) : .deleteRecord(id) }
    }
}

extension ZoneChanges {
    /// What in a page is of another zone; nil if nothing is.
    func firstForeign(to zoneID: RecordZone.ID, since token: ZoneChangeToken?, _ cursors: Cursors) -> String? {
        if let token {
            if !changeToken.isOfSameZone(as: token) { return "the token" }
        } else if cursors.zones.contains(where: { other, zone in
            other != zoneID && zone.token.map(changeToken.isOfSameZone) == true
        }) {
            return "the token"
        }
        for change in changes {
            switch change {
            case .modified(let record) where record.recordID.zoneID != zoneID: return "a record"
            case .deleted(let deletion) where deletion.recordID.zoneID != zoneID: return "a deletion"
            case .failed(let recordID, _) where recordID.zoneID != zoneID: return "a record"
            default: continue
            }
        }
        return nil
    }

    /// Which records a page of a resync has shown, and which it has shown to be gone.
    func resyncChanges(of zoneID: RecordZone.ID) -> [StateChange] {
        var steps: [StateChange] = []
        var seen: [String] = []
        var lost: [String] = []
        for change in changes {
            switch change {
            case .modified(let record): seen.append(record.recordID.recordName)
            case .failed(let recordID, _): seen.append(recordID.recordName)
            case .deleted(let deletion): lost.append(deletion.recordID.recordName)
            }
        }
        if !seen.isEmpty { steps.append(.resyncSaw(zoneID, seen)) }
        if !lost.isEmpty { steps.append(.resyncLost(zoneID, lost)) }
        return steps
    }

    /// Records that the server could not give are set aside; those that came after all are no longer.
    func quarantineChanges(known: [Record.ID: SyncEngine.QuarantinedRecord]) -> [StateChange] {
        var steps: [StateChange] = []
        for change in changes {
            switch change {
            case .failed(let recordID, let error):
                steps.append(.quarantined(.init(recordID: recordID, recordChangeTag: nil, reason: error.message)))
            case .modified(let record) where known[record.recordID] != nil:
                steps.append(.unquarantined(record.recordID))
            case .deleted(let deletion) where known[deletion.recordID] != nil:
                steps.append(.unquarantined(deletion.recordID))
            default: continue
            }
        }
        return steps
    }
}
