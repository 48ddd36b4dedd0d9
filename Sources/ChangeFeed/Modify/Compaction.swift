#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Up to where history is to be discarded (section 6.6).
public enum CompactionBound: Sendable, Hashable {
    /// What the container's ``RetentionPolicy`` says.
    case policy
    /// Everything that was deleted before a date.
    case date(Date)
    /// Everything that was deleted at or before a position.
    case position(ChangePosition)
}

/// What one step of compaction did.
public struct CompactionStep: Sendable {
    /// How many tombstones of records were discarded.
    public var recordTombstones = 0
    /// How many deletions of zones were discarded.
    public var zoneTombstones = 0
    /// How many outcomes of requests with an id were discarded.
    public var requests = 0
    /// How many contents of assets were removed because no record refers to them.
    public var assets = 0
    /// Why the content of an asset could not be removed; it is tried again another time.
    public var assetFailure: ChangeFeedError?
    /// Whether there is nothing left to discard.
    public var isComplete = false

    /// How many things were discarded.
    public var total: Int { recordTombstones + zoneTombstones + requests + assets }
}

/// Where the next step of compaction goes on: the zones are visited in turn.
struct CompactionCursor: Sendable, Equatable {
    var databaseIndex = 0
    /// The position of the zone row that was visited last.
    var zone = ChangePosition.beginning
    /// Nil once all contents of assets have been looked at.
    var assets: AssetCollectionCursor? = .beginning
}

/// How history is discarded: in steps of bounded work, each a transaction of its own (section 6.6).
///
/// A horizon moves only with a tombstone that is really discarded, and to its position: a token expires if and only if
/// something after it is gone (section 6.2).
extension Feed {
    func compact(
        to bound: CompactionBound, budget: Int, from cursor: CompactionCursor, assets library: AssetLibrary,
        in store: any StoreWriter
    ) throws(ChangeFeedError) -> (step: CompactionStep, next: CompactionCursor) {
        var step = CompactionStep()
        let discarding = Discarding(bound: bound, policy: retention, now: now(), store: store)
        // A share for each kind, so that none waits until another has run dry.
        step.requests = try discarding.requests(atMost: max(1, budget / 4))
        var left = max(1, budget - step.requests)
        var cursor = cursor
        if let assets = cursor.assets {
            let collected = try library.collect(at: assets, limit: max(1, budget / 4), in: store)
            step.assets = collected.removed
            step.assetFailure = collected.failure
            cursor.assets = collected.next
            left = max(1, left - collected.visited)
        }
        let databases = try store.databaseIDs.sorted(by: DatabaseID.inOrder)
        while cursor.databaseIndex < databases.count, left > 0 {
            let databaseID = databases[cursor.databaseIndex]
            var zones: [ZoneRow] = []
            try store.scanZones(of: databaseID, after: cursor.zone) { zone in
                zones.append(zone)
                return zones.count < left ? .next : .stop
            }
            for zone in zones {
                let discarded = try discarding.zone(zone, atMost: left)
                step.recordTombstones += discarded.records
                step.zoneTombstones += discarded.zones
                // Looking at a zone counts too, or many zones without garbage would make a step long.
                left -= max(1, discarded.records + discarded.zones)
                if discarded.hasMore || left <= 0 {
                    if !discarded.hasMore { cursor.zone = zone.position }
                    return (step, cursor)
                }
                cursor.zone = zone.position
            }
            if left > 0 {
                cursor.databaseIndex += 1
                cursor.zone = .beginning
            }
        }
        if cursor.databaseIndex >= databases.count, cursor.assets == nil {
            step.isComplete = try discarding.requests(atMost: 0, isAnyLeft: true) == 0
            cursor = CompactionCursor()
        }
        return (step, cursor)
    }
}

private struct Discarding {
    let bound: CompactionBound
    let policy: RetentionPolicy
    let now: Date
    let store: any StoreWriter

    /// Whether what was deleted at a position and a date is to be discarded.
    private func covers(_ position: ChangePosition, _ date: Date) -> Bool {
        switch bound {
        case .policy:
            guard let age = policy.maximumAge else { return false }
            return date.addingTimeInterval(age.seconds) < now
        case .date(let limit): return date < limit
        case .position(let limit): return position <= limit
        }
    }

    func zone(
        _ zone: ZoneRow, atMost limit: Int
    ) throws(ChangeFeedError) -> (records: Int, zones: Int, hasMore: Bool) {
        if case .deleted(_, let date) = zone.life {
            guard covers(zone.position, date) else { return (0, 0, false) }
            if limit < 1 { return (0, 0, true) }
            try store.discardZone(zone.zoneID, in: zone.databaseID)
            return (0, 1, false)
        }
        var row = zone
        var zones = 0
        if let past = zone.pastDeletion, covers(past.position, past.date) {
            if limit < 1 { return (0, 0, true) }
            row.pastDeletion = nil
            zones = 1
            try store.raiseHorizon(of: zone.databaseID, to: past.position)
        }
        let (tombstones, hasMore) = try recordTombstones(of: zone, atMost: limit - zones)
        for tombstone in tombstones {
            try store.discardTombstone(named: tombstone.recordID.recordName, in: zone.key)
        }
        if let last = tombstones.last { row.horizon = max(row.horizon, last.position) }
        if zones > 0 || !tombstones.isEmpty { try store.putZone(row) }
        return (tombstones.count, zones, hasMore)
    }

    /// The oldest tombstones of a zone that are to be discarded.
    private func recordTombstones(
        of zone: ZoneRow, atMost limit: Int
    ) throws(ChangeFeedError) -> (found: [Tombstone], hasMore: Bool) {
        var surplus = 0
        if case .policy = bound, let maximum = policy.maximumTombstonesPerZone {
            surplus = max(0, try store.tombstoneCount(of: zone.key) - max(0, maximum))
        }
        var found: [Tombstone] = []
        var hasMore = false
        try store.scanTombstones(of: zone.key) { tombstone in
            guard found.count < surplus || covers(tombstone.position, tombstone.date) else { return .stop }
            if found.count >= limit {
                hasMore = true
                return .stop
            }
            found.append(tombstone)
            return .next
        }
        return (found, hasMore)
    }

    /// Discards outcomes of requests, oldest first; or tells whether there is one to discard.
    func requests(atMost limit: Int, isAnyLeft: Bool = false) throws(ChangeFeedError) -> Int {
        var found: [(ageKey: String, key: String)] = []
        var left = 0
        try store.scanMeta(of: .requestAges, from: "") { ageKey, bytes in
            guard let age = RequestRepeats.age(bytes) else {
                found.append((ageKey, ""))
                return .next
            }
            let position = RequestRepeats.position(ofAgeKey: ageKey) ?? .beginning
            guard covers(position, age.date) else { return .stop }
            if found.count >= limit {
                left = 1
                return .stop
            }
            found.append((ageKey, age.key))
            return .next
        }
        if isAnyLeft { return left }
        for (ageKey, key) in found {
            try store.setMetaValue(nil, for: ageKey, of: .requestAges)
            try store.setMetaValue(nil, for: key, of: .requests)
        }
        return found.count
    }
}

extension DatabaseID {
    fileprivate static func inOrder(_ left: DatabaseID, _ right: DatabaseID) -> Bool {
        left.scope == right.scope
            ? precedesByBytes(left.userID, right.userID) : left.scope.rawValue < right.scope.rawValue
    }
}

extension Duration {
    /// In seconds, as dates count them.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
