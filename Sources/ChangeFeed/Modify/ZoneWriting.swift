#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How zones are saved and deleted (rules Z1 to Z5, N9).
extension Feed {
    package func modifyRecordZones(
        _ request: RecordZoneModifyRequest, in databaseID: DatabaseID, to store: any StoreWriter
    ) throws(ChangeFeedError) -> Written<RecordZoneModifyResults> {
        try checkZoneRequest(request)
        let date = now()
        var changes: [WrittenZone] = []
        var saves: [RecordZoneModifyResults.Save] = []
        for zone in request.saving {
            let savepoint = try store.savepoint()
            do throws(ChangeFeedError) {
                let before = try store.head
                let row = try save(zone.zoneID, in: databaseID, date: date, to: store)
                if try store.head != before { changes.append(.init(zoneID: zone.zoneID)) }
                saves.append(.init(zoneID: zone.zoneID, result: .success(RecordZone(row))))
            } catch {
                // A store may fail half-way.
                try store.rollBack(to: savepoint)
                saves.append(.init(zoneID: zone.zoneID, result: .failure(error)))
            }
        }
        var deletions: [RecordZoneModifyResults.Deletion] = []
        for zoneID in request.deleting {
            let savepoint = try store.savepoint()
            do throws(ChangeFeedError) {
                try delete(zoneID, because: .deleted, in: databaseID, date: date, from: store)
                changes.append(.init(zoneID: zoneID))
                deletions.append(.init(zoneID: zoneID, result: .success(())))
            } catch {
                try store.rollBack(to: savepoint)
                deletions.append(.init(zoneID: zoneID, result: .failure(error)))
            }
        }
        return Written(results: RecordZoneModifyResults(saves: saves, deletions: deletions), changes: changes)
    }

    private func checkZoneRequest(_ request: RecordZoneModifyRequest) throws(ChangeFeedError) {
        let zoneIDs = request.saving.map(\.zoneID) + request.deleting
        guard !zoneIDs.isEmpty else {
            throw ChangeFeedError(
                .invalidArguments, "The request is empty: give at least one zone to save or delete.", rule: "M1")
        }
        try checkItemCount(zoneIDs.count)
        var seen: Set<RecordZone.ID> = []
        for zoneID in zoneIDs where !seen.insert(zoneID).inserted {
            throw ChangeFeedError(
                .invalidArguments, "The zone \"\(zoneID)\" is in the request twice: one entry for each zone.",
                zoneID: zoneID, rule: "M1")
        }
    }

    private func save(
        _ zoneID: RecordZone.ID, in databaseID: DatabaseID, date: Date, to store: any StoreWriter
    ) throws(ChangeFeedError) -> ZoneRow {
        if let fault = names.fault(inZoneID: zoneID) {
            throw ChangeFeedError(
                .invalidArguments, "The zone name \"\(shown(zoneID.zoneName))\" \(fault).",
                zoneID: zoneID, rule: "N2")
        }
        if zoneID.isDefault { return try zoneForWriting(zoneID, in: databaseID, date: date, to: store) }
        if databaseID.scope == .public {
            throw ChangeFeedError(
                .badDatabase, "The public database has the default zone and no other.", zoneID: zoneID, rule: "N9")
        }
        guard zoneID.ownerName == RecordZone.ID.currentUserName else {
            throw ChangeFeedError(
                .invalidArguments,
                "A zone of one's own has the owner name \"\(RecordZone.ID.currentUserName)\", "
                    + "not \"\(shown(zoneID.ownerName))\".",
                zoneID: zoneID, rule: "N3")
        }
        let previous = try store.zone(zoneID, in: databaseID)
        if let previous, case .live = previous.life { return previous }
        return try create(zoneID, after: previous, in: databaseID, date: date, to: store)
    }

    private func create(
        _ zoneID: RecordZone.ID, after previous: ZoneRow?, in databaseID: DatabaseID, date: Date,
        to store: any StoreWriter
    ) throws(ChangeFeedError) -> ZoneRow {
        var past: ZoneRow.PastDeletion?
        if let previous, case .deleted(let reason, let date) = previous.life {
            past = .init(position: previous.position, reason: reason, date: date)
        }
        let row = ZoneRow(
            databaseID: databaseID,
            zoneID: zoneID,
            key: try store.allocateZoneKey(),
            incarnation: try nextStamp(in: store).position,
            creationDate: date,
            pastDeletion: past
        )
        try store.putZone(row)
        return row
    }

    /// Deletes a zone with all its records, leaving a tombstone with the reason.
    package func delete(
        _ zoneID: RecordZone.ID, because reason: DatabaseChanges.Deletion.Reason, in databaseID: DatabaseID,
        date: Date, from store: any StoreWriter
    ) throws(ChangeFeedError) {
        if zoneID.isDefault {
            throw ChangeFeedError(
                .invalidArguments, "The default zone cannot be deleted.", zoneID: zoneID, rule: "Z2")
        }
        var row = try liveZone(zoneID, in: databaseID, from: store)
        var usage = try QuotaRules(databaseID: databaseID, quota: quota, store: store)
        var assets = AssetReferences(databaseID: databaseID)
        usage.add(try assets.release(recordsOf: row, in: store) - row.byteCount)
        try usage.save(to: store)
        try assets.save(to: store)
        try store.eraseRecords(of: row.key)
        row.byteCount = 0
        row.life = .deleted(reason, date)
        row.position = try nextStamp(in: store).position
        row.clientChangeTokenData = nil
        try store.putZone(row)
    }

    /// The zone that records are written to. The default zone is there from the first write to it (rule Z2).
    func zoneForWriting(
        _ zoneID: RecordZone.ID, in databaseID: DatabaseID, date: Date, to store: any StoreWriter
    ) throws(ChangeFeedError) -> ZoneRow {
        if zoneID == .default, try store.zone(zoneID, in: databaseID) == nil {
            return try create(zoneID, after: nil, in: databaseID, date: date, to: store)
        }
        return try liveZone(zoneID, in: databaseID, for: .writing, from: store)
    }
}

extension ZoneRow {
    /// What the zone can do (rules Z1, Z2).
    var capabilities: RecordZone.Capabilities {
        zoneID.isDefault ? [] : [.fetchChanges, .atomic]
    }
}

extension RecordZone {
    init(_ row: ZoneRow) {
        self.init(zoneID: row.zoneID, capabilities: row.capabilities, creationDate: row.creationDate)
    }
}
