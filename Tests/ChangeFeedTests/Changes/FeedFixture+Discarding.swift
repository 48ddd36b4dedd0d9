import ChangeFeed

/// What retention does to a store, whatever its policy says.
extension FeedFixture {
    /// Discards every record tombstone of a zone.
    func discardRecordTombstones(of zoneID: RecordZone.ID) async throws {
        let databaseID = database.databaseID
        try await store.write { store throws(ChangeFeedError) in
            guard var row = try store.zone(zoneID, in: databaseID) else { return }
            var names: [String] = []
            try store.scanTombstones(of: row.key) { tombstone in
                names.append(tombstone.recordID.recordName)
                row.horizon = max(row.horizon, tombstone.position)
                return .next
            }
            for name in names { try store.discardTombstone(named: name, in: row.key) }
            try store.putZone(row)
        }
    }

    /// Discards every zone tombstone, and the deletions that living zones have in their past.
    func discardZoneTombstones() async throws {
        let databaseID = database.databaseID
        try await store.write { store throws(ChangeFeedError) in
            var rows: [ZoneRow] = []
            try store.scanZones(of: databaseID, after: .beginning) { row in
                rows.append(row)
                return .next
            }
            for var row in rows {
                if case .deleted = row.life {
                    try store.discardZone(row.zoneID, in: databaseID)
                } else if let past = row.pastDeletion {
                    try store.raisePastDeletionHorizon(of: databaseID, to: past.position)
                    row.pastDeletion = nil
                    try store.putZone(row)
                }
            }
        }
    }
}
