/// How a page of zone changes is made (sections 6.2 to 6.5).
extension Feed {
    package func zoneChanges(
        _ request: ZoneChangesRequest, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> ZoneChanges {
        let zoneID = request.zoneID
        try checkTracksChanges(databaseID, zoneID: zoneID)
        let limit = try pageLimit(request.resultsLimit, zoneID: zoneID)
        let zone: ZoneRow
        let since: TokenContent?
        if let token = request.since {
            (since, zone) = try content(of: token, for: zoneID, in: databaseID, from: store)
        } else {
            (since, zone) = (nil, try liveZone(zoneID, in: databaseID, from: store))
        }

        let after = since?.position ?? .beginning
        let start = since == nil ? zone.position : since?.start
        let page = try recordPage(
            of: zone, after: after, tombstonesAfter: max(after, start ?? after), limit: limit,
            desiredKeys: request.desiredKeys, from: store)

        // Exhausted, the token may name the zone's latest event, old tombstones that were left out included.
        let position = page.moreComing ? page.last : max(zone.position, after)
        let content = TokenContent(
            kind: .zone,
            storeID: store.storeID,
            feedDigest: TokenContent.feedDigest(of: databaseID, zone: zoneID),
            epoch: try epochNonce(of: max(position, zone.position), in: store),
            position: position,
            incarnation: zone.incarnation,
            start: start.flatMap { position < $0 ? $0 : nil },
            head: position < zone.position ? zone.position : nil
        )
        return ZoneChanges(
            changes: page.changes,
            changeToken: ZoneChangeToken(content),
            clientChangeTokenData: zone.clientChangeTokenData,
            moreComing: page.moreComing
        )
    }

    /// What a token says of a zone that exists, once all of the table in section 6.2 is found to hold.
    func content(
        of token: ZoneChangeToken, for zoneID: RecordZone.ID, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> (TokenContent, ZoneRow) {
        let content = try content(
            of: token.bytes, kind: .zone, feedDigest: TokenContent.feedDigest(of: databaseID, zone: zoneID),
            zoneID: zoneID, in: store)
        let zone = try liveZone(zoneID, in: databaseID, from: store)
        guard content.incarnation == zone.incarnation else {
            // A zone that was created in a history that is no more has not been created anew.
            try checkHistory(content, from: content.reach, horizon: .beginning, zoneID: zoneID, in: store)
            throw expired(.zoneRecreated, "the zone was deleted and created again", zoneID: zoneID, rule: "6.2")
        }
        try checkHistory(content, from: content.reach, horizon: zone.horizon, zoneID: zoneID, in: store)
        return (content, zone)
    }

    private struct RecordPage {
        var changes: [ZoneChanges.Change] = []
        var last = ChangePosition.beginning
        var bytes = 0
        var moreComing = false
    }

    private func recordPage(
        of zone: ZoneRow, after: ChangePosition, tombstonesAfter: ChangePosition, limit: Int, desiredKeys: [String]?,
        from store: any StoreReader
    ) throws(ChangeFeedError) -> RecordPage {
        var page = RecordPage()
        var filter = desiredKeys.map { KeyFilter(desiredKeys: $0, shapes: shapes) }
        let byteLimit = limits.bytesPerPage
        try store.scanRecords(of: zone.key, after: after, tombstonesAfter: tombstonesAfter) {
            (entry) throws(ChangeFeedError) in
            if page.changes.count == limit {
                page.moreComing = true
                return .stop
            }
            let change: ZoneChanges.Change
            let bytes: Int
            switch entry {
            case .live(let version):
                let version = filter?.apply(to: version) ?? version
                change = self.change(version, of: zone.databaseID.userID)
                bytes = version.byteCount
            case .tombstone(let tombstone):
                change = .deleted(ZoneChanges.Deletion(tombstone))
                bytes = 128
            case .unreadable(let recordID, _, let error):
                change = .failed(recordID, error)
                bytes = 128
            }
            // An item larger than the bound travels alone (rule 6.3.4).
            if page.bytes + bytes > byteLimit, !page.changes.isEmpty {
                page.moreComing = true
                return .stop
            }
            if page.changes.isEmpty { page.changes.reserveCapacity(min(limit, 16)) }
            page.changes.append(change)
            page.bytes += bytes
            page.last = entry.position
            return .next
        }
        return page
    }

    /// A record that cannot be opened fails alone (rule FZ10).
    private func change(_ version: RecordVersion, of userID: String) -> ZoneChanges.Change {
        do throws(ChangeFeedError) {
            return .modified(try record(version, of: userID))
        } catch {
            return .failed(version.recordID, error)
        }
    }

    /// What a zone is looked up for: what is missing is put right in another way.
    enum Purpose {
        case reading
        case writing
    }

    /// The row of a zone that exists; otherwise the error that says what became of it (section 6.2, rule E3).
    func liveZone(
        _ zoneID: RecordZone.ID, in databaseID: DatabaseID, for purpose: Purpose = .reading, from store: any StoreReader
    ) throws(ChangeFeedError) -> ZoneRow {
        let row = try store.zone(zoneID, in: databaseID)
        switch row?.life {
        case .live:
            if let row { return row }
        case .deleted(.purged, _):
            throw ChangeFeedError(
                .userDeletedZone,
                "The user removed the zone \"\(zoneID)\" in the system's settings. "
                    + "Delete what is kept of it; create it again only if the user wants it.",
                zoneID: zoneID, rule: "FD4"
            )
        case .deleted(.encryptedDataReset, _):
            throw ChangeFeedError(
                .zoneNotFound,
                "The zone \"\(zoneID)\" went when the user reset the encrypted data. "
                    + "Ask whether to create it again and upload what is kept of it.",
                zoneID: zoneID, rule: "E3", detail: .encryptedDataReset
            )
        case .deleted, nil:
            break
        }
        throw ChangeFeedError(
            .zoneNotFound,
            "There is no zone \"\(zoneID)\". "
                + (purpose == .writing
                    ? "Save the zone first."
                    : "If it was there before, fetch the database's changes to learn what became of it."),
            zoneID: zoneID, rule: purpose == .writing ? "M8" : "FD8")
    }

    /// Fetches need a zone that tracks changes, in a database that does (rules Z2, N9, FZ1).
    func checkTracksChanges(_ databaseID: DatabaseID, zoneID: RecordZone.ID?) throws(ChangeFeedError) {
        if databaseID.scope == .public {
            throw ChangeFeedError(
                .badDatabase, "The public database does not track changes: fetch its records by id.",
                zoneID: zoneID, rule: "FZ1")
        }
        if let zoneID, zoneID.isDefault {
            throw ChangeFeedError(
                .invalidArguments,
                "The default zone does not track changes: keep records that are to be synced in a zone of your own.",
                zoneID: zoneID, rule: "Z2")
        }
    }

    /// The number of items a page may have (rule 6.3.3).
    func pageLimit(_ resultsLimit: Int?, zoneID: RecordZone.ID?) throws(ChangeFeedError) -> Int {
        guard let resultsLimit, resultsLimit != 0 else { return limits.resultsPerPage }
        guard resultsLimit > 0 else {
            throw ChangeFeedError(
                .invalidArguments, "A limit of \(resultsLimit) results is negative: give a positive one, or none.",
                zoneID: zoneID, rule: "6.3.3")
        }
        return min(resultsLimit, limits.resultsPerPage)
    }
}

extension ZoneChanges.Deletion {
    init(_ tombstone: Tombstone) {
        self.init(
            recordID: tombstone.recordID,
            recordType: tombstone.recordType,
            recordChangeTag: tombstone.changeTag?.text,
            reason: tombstone.reason
        )
    }
}

/// Cuts versions down to the keys that a fetch asked for (rule FZ3).
struct KeyFilter {
    private let keys: Set<String>
    private let shapes: FieldShapes
    /// What the filter makes of the shape that it saw last: records of one type follow each other.
    private var known: (from: FieldShape, to: FieldShape)?

    init(desiredKeys: [String], shapes: FieldShapes) {
        keys = Set(desiredKeys)
        self.shapes = shapes
    }

    mutating func apply(to version: RecordVersion) -> RecordVersion {
        RecordVersion(
            recordID: version.recordID,
            recordType: version.recordType,
            system: version.system,
            parent: version.parent,
            payload: keys.isEmpty ? .empty : filtered(version.payload),
            encryptedPayload: keys.isEmpty ? nil : version.encryptedPayload.map { filtered($0) },
            loadedFields: .keys(keys)
        )
    }

    private mutating func filtered(_ payload: Payload) -> Payload {
        let wanted: FieldShape
        if let known, known.from === payload.shape {
            wanted = known.to
        } else {
            wanted = shapes.shape(ofSorted: payload.shape.keys.filter(keys.contains))
            known = (payload.shape, wanted)
        }
        if wanted.keys.count == payload.shape.keys.count { return payload }
        var writer = ByteWriter()
        payload.forEachValue { key, value in
            if wanted.index(of: key) != nil { writer.raw(value) }
        }
        return Payload(shape: wanted, values: writer.bytes, mayLink: payload.mayLink)
    }
}
