/// Records and zones by id.
extension Feed {
    package func records(
        _ request: RecordsRequest, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        try checkItemCount(request.recordIDs.count, first: { request.recordIDs[$0] })
        var filter = request.desiredKeys.map { KeyFilter(desiredKeys: $0, shapes: shapes) }
        var results: [Record.ID: Result<Record, ChangeFeedError>] = [:]
        for recordID in request.recordIDs where results[recordID] == nil {
            do throws(ChangeFeedError) {
                let version = try version(of: recordID, in: databaseID, from: store)
                results[recordID] = .success(try record(filter?.apply(to: version) ?? version, of: databaseID.userID))
            } catch {
                results[recordID] = .failure(error)
            }
        }
        return results
    }

    private func version(
        of recordID: Record.ID, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> RecordVersion {
        if try !isUntouchedDefault(recordID.zoneID, in: databaseID, of: store) {
            let zone = try liveZone(recordID.zoneID, in: databaseID, from: store)
            switch try store.record(named: recordID.recordName, in: zone.key) {
            case .live(let version): return version
            case .unreadable(_, _, let error): throw error
            case .tombstone, nil: break
            }
        }
        throw ChangeFeedError(
            .unknownItem, "There is no record \"\(recordID)\".", recordID: recordID, rule: "M7")
    }

    package func recordZones(
        _ request: RecordZonesRequest, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        let defaultZone = RecordZone(zoneID: .default)
        var results: [RecordZone.ID: Result<RecordZone, ChangeFeedError>] = [:]
        if let zoneIDs = request.zoneIDs {
            try checkItemCount(zoneIDs.count)
            for zoneID in zoneIDs {
                do throws(ChangeFeedError) {
                    if try isUntouchedDefault(zoneID, in: databaseID, of: store) {
                        results[zoneID] = .success(defaultZone)
                    } else {
                        results[zoneID] = .success(RecordZone(try liveZone(zoneID, in: databaseID, from: store)))
                    }
                } catch {
                    results[zoneID] = .failure(error)
                }
            }
            return results
        }
        results[.default] = .success(defaultZone)
        try store.scanZones(of: databaseID, after: .beginning) { row in
            if case .live = row.life { results[row.zoneID] = .success(RecordZone(row)) }
            return .next
        }
        return results
    }

    /// The default zone is there before the first write to it, and empty.
    private func isUntouchedDefault(
        _ zoneID: RecordZone.ID, in databaseID: DatabaseID, of store: any StoreReader
    ) throws(ChangeFeedError) -> Bool {
        guard zoneID == .default else { return false }
        return try store.zone(zoneID, in: databaseID) == nil
    }
}
