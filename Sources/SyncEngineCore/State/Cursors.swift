import ChangeFeed

/// How far fetching has come in a database and in each of its zones.
struct Cursors: Sendable {
    var databaseToken: DatabaseChangeToken?
    /// Whether something is known to have happened in the database since it was last asked: a hint came, or a request
    /// was refused in a way that a fetch explains. Only the `.cloudKit` policy goes by it.
    var needsDatabaseFetch = false
    /// While the database is read from the beginning again, the zones that were seen.
    var databaseResync: [RecordZone.ID]?
    private(set) var zones: [RecordZone.ID: Zone] = [:]
    private var nextPlace = 0

    struct Zone: Sendable {
        /// The order in which zones were first heard of.
        let place: Int
        var token: ZoneChangeToken?
        /// Whether it was reported and has not been read to its end since.
        var isDirty = false
        /// While the zone is read from the beginning again, the names of the records that were seen.
        var resync: Set<ByteString>?
    }

    subscript(zoneID: RecordZone.ID) -> Zone? { zones[zoneID] }

    /// The zones that have something to be fetched, in the order in which they were first heard of.
    var dirtyZoneIDs: [RecordZone.ID] {
        zones.filter(\.value.isDirty).sorted { $0.value.place < $1.value.place }.map(\.key)
    }

    var zoneIDs: [RecordZone.ID] { zones.sorted { $0.value.place < $1.value.place }.map(\.key) }

    /// What has to be known before the first read of what the app has something of already, because it wrote it or asked
    /// for a zone by name: what goes before that read is not in it (section 6.4), so it has to end with what lives.
    ///
    /// - Parameter zoneIDs: The zones of which the app has records from now on.
    func hadBeforeRead(_ zoneIDs: some Sequence<RecordZone.ID>) -> [StateChange] {
        var changes: [StateChange] = []
        if databaseToken == nil, databaseResync == nil { changes.append(.databaseResyncBegan) }
        var seen: Set<RecordZone.ID> = []
        for zoneID in zoneIDs where seen.insert(zoneID).inserted {
            let zone = zones[zoneID]
            guard zone?.token == nil, zone?.resync == nil else { continue }
            changes += [.resyncBegan(zoneID), .zoneDirty(zoneID, zone?.isDirty ?? false)]
        }
        return changes
    }

    mutating func apply(_ change: StateChange) {
        switch change {
        case .databaseToken(let token): databaseToken = token
        case .needsDatabaseFetch(let isSet): needsDatabaseFetch = isSet
        case .databaseResyncBegan:
            databaseToken = nil
            databaseResync = []
        case .databaseResyncSaw(let zoneIDs): databaseResync?.append(contentsOf: zoneIDs)
        case .databaseResyncEnded: databaseResync = nil
        case .zoneToken(let zoneID, let token): with(zoneID) { $0.token = token }
        case .zoneDirty(let zoneID, let isDirty): with(zoneID) { $0.isDirty = isDirty }
        case .zoneForgotten(let zoneID): zones[zoneID] = nil
        case .resyncBegan(let zoneID):
            with(zoneID) { zone in
                zone.token = nil
                zone.isDirty = true
                zone.resync = []
            }
        case .resyncSaw(let zoneID, let names):
            with(zoneID) { zone in for name in names { zone.resync?.insert(ByteString(name)) } }
        case .resyncLost(let zoneID, let names):
            with(zoneID) { zone in for name in names { zone.resync?.remove(ByteString(name)) } }
        case .resyncEnded(let zoneID): with(zoneID) { $0.resync = nil }
        default: return
        }
    }

    private mutating func with(_ zoneID: RecordZone.ID, _ body: (inout Zone) -> Void) {
        if zones[zoneID] == nil { nextPlace += 1 }
        body(&zones[zoneID, default: Zone(place: nextPlace - 1)])
    }

    func forEachStep(_ body: (StateChange) -> Void) {
        if let databaseResync {
            body(.databaseResyncBegan)
            body(.databaseResyncSaw(databaseResync))
        }
        if let databaseToken { body(.databaseToken(databaseToken)) }
        if needsDatabaseFetch { body(.needsDatabaseFetch(true)) }
        for zoneID in zoneIDs {
            guard let zone = zones[zoneID] else { continue }
            if let resync = zone.resync {
                body(.resyncBegan(zoneID))
                let names = resync.map(\.string).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                body(.resyncSaw(zoneID, names))
            }
            body(.zoneToken(zoneID, zone.token))
            body(.zoneDirty(zoneID, zone.isDirty))
        }
    }
}
