/// How a page of database changes is made (sections 6.2 to 6.5).
extension Feed {
    package func databaseChanges(
        _ request: DatabaseChangesRequest, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> DatabaseChanges {
        try checkTracksChanges(databaseID, zoneID: nil)
        let limit = try pageLimit(request.resultsLimit, zoneID: nil)
        let feedDigest = TokenContent.feedDigest(of: databaseID)
        var since: TokenContent?
        if let token = request.since {
            let content = try content(
                of: token.bytes, kind: .database, feedDigest: feedDigest, zoneID: nil, in: store)
            let horizons = try store.horizons(of: databaseID)
            try checkHistory(content, from: content.reach, horizon: horizons.tombstones, zoneID: nil, in: store)
            // The deletion of a zone that lives again may be told by any page of a read that began before it.
            try checkHistory(
                content, from: content.start ?? content.position, horizon: horizons.pastDeletions, zoneID: nil,
                in: store)
            since = content
        }

        let after = since?.position ?? .beginning
        let head = try store.head(of: databaseID)
        // Where the read began. Its unfinished tokens keep this, for what was deleted since is told wherever in the
        // feed the zone's present life has got to.
        let start = since.map { $0.start ?? $0.position } ?? head
        let isFirstRead = since == nil || start > after
        let told = isFirstRead && compatibility.firstReadReportsDeletedZones ? .beginning : start

        var changes: [DatabaseChanges.Change] = []
        var count = 0
        var last = after
        var moreComing = false
        try store.scanZones(of: databaseID, after: after) { (zone) throws(ChangeFeedError) in
            let items = entries(of: zone, after: told)
            if items.isEmpty { return .next }
            if count == limit {
                moreComing = true
                return .stop
            }
            changes += items
            count += 1
            last = zone.position
            return .next
        }

        let position = moreComing ? last : max(head, after)
        let content = TokenContent(
            kind: .database,
            storeID: store.storeID,
            feedDigest: feedDigest,
            epoch: try epochNonce(of: max(position, head), in: store),
            position: position,
            incarnation: .beginning,
            start: moreComing ? start : nil,
            head: position < head ? head : nil
        )
        return DatabaseChanges(
            changes: changes, changeToken: DatabaseChangeToken(content), moreComing: moreComing)
    }

    /// What a zone's row says to a reader who knows of every deletion up to a position, or never held what it took. A
    /// zone deleted and created again is one item with two entries (rule 6.5).
    private func entries(of zone: ZoneRow, after known: ChangePosition) -> [DatabaseChanges.Change] {
        // It tracks no changes, so it is never reported (rule Z2).
        if zone.zoneID.isDefault { return [] }
        switch zone.life {
        case .deleted(let reason, _):
            guard zone.position > known else { return [] }
            return [.deleted(.init(zoneID: zone.zoneID, reason: reason))]
        case .live:
            if let past = zone.pastDeletion, past.position > known {
                return [
                    .deleted(.init(zoneID: zone.zoneID, reason: past.reason)),
                    .modified(zone.zoneID),
                ]
            }
            return [.modified(zone.zoneID)]
        }
    }
}
