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
    /// Whether nothing is left: each kind of garbage was looked through from end to end, and there was none.
    public var isComplete = false

    /// A step that did nothing.
    public init() {}

    /// How many things were discarded.
    public var total: Int { recordTombstones + zoneTombstones + requests + assets }
}

/// How far the kinds of garbage have been looked through.
struct CompactionCursor: Sendable {
    enum Kind: Int, CaseIterable, Sendable {
        case recordTombstones
        case zoneTombstones
        case requests
        case assets
    }

    /// Where the look at one kind goes on.
    struct Place: Sendable {
        var databaseIndex = 0
        /// The position of the zone row that was visited last.
        var zone = ChangePosition.beginning
        var asset = AssetCollectionCursor.beginning
        /// Whether something was discarded since the look began anew: then it is to begin anew once more.
        var hasDiscarded = false
        /// Whether a look from end to end found nothing.
        var isDone = false
    }

    let bound: CompactionBound
    var places: [Kind: Place] = [:]
    /// Which kind comes first: each in turn, so that with the smallest budget too none waits for another.
    var turn = 0

    init(bound: CompactionBound = .policy) {
        self.bound = bound
    }
}

/// How history is discarded: in steps of bounded work, each a transaction of its own (section 6.6).
///
/// A horizon moves only with a tombstone that is really discarded, and to its position: a token expires if and only if
/// something after it is gone (section 6.2).
extension Feed {
    func compact(
        from cursor: CompactionCursor, budget: Int, assets: AssetLibrary, in store: any StoreWriter
    ) throws(ChangeFeedError) -> (step: CompactionStep, next: CompactionCursor) {
        let discarding = Discarding(
            bound: cursor.bound, policy: retention, now: now(), assets: assets, store: store,
            databases: try store.databaseIDs.sorted(by: DatabaseID.inOrder))
        var cursor = cursor
        var step = CompactionStep()
        var left = budget
        let kinds = CompactionCursor.Kind.allCases
        while left > 0 {
            let open = kinds.indices.map { kinds[($0 + cursor.turn) % kinds.count] }
                .filter { cursor.places[$0]?.isDone != true }
            guard let kind = open.first else { break }
            cursor.turn += 1
            // A share of what is left for each kind that is not through.
            let share = max(1, left / open.count)
            left -= try discarding.look(
                for: kind, atMost: share, from: &cursor.places[kind, default: .init()], noting: &step)
        }
        step.isComplete = kinds.allSatisfy { cursor.places[$0]?.isDone == true }
        if step.isComplete { cursor = CompactionCursor(bound: cursor.bound) }
        return (step, cursor)
    }
}

private struct Discarding {
    let bound: CompactionBound
    let policy: RetentionPolicy
    let now: Date
    let assets: AssetLibrary
    let store: any StoreWriter
    let databases: [DatabaseID]

    /// Looks for garbage of a kind, discards it, and tells what it cost: at most `limit`.
    func look(
        for kind: CompactionCursor.Kind, atMost limit: Int, from place: inout CompactionCursor.Place,
        noting step: inout CompactionStep
    ) throws(ChangeFeedError) -> Int {
        let discarded: Int
        let cost: Int
        let isAtEnd: Bool
        switch kind {
        case .recordTombstones:
            (discarded, cost, isAtEnd) = try zones(atMost: limit, from: &place, discard: recordTombstones(of:atMost:))
            step.recordTombstones += discarded
        case .zoneTombstones:
            (discarded, cost, isAtEnd) = try zones(atMost: limit, from: &place, discard: zoneTombstones(of:atMost:))
            step.zoneTombstones += discarded
        case .requests:
            discarded = try requests(atMost: limit)
            cost = discarded
            isAtEnd = discarded < limit
            step.requests += discarded
        case .assets:
            // A content is a file, and to remove one takes as long as many rows.
            let weight = 8
            let collected = try assets.collect(at: place.asset, limit: max(1, limit / weight), in: store)
            discarded = collected.removed
            cost = min(limit, collected.visited * weight)
            isAtEnd = collected.next == nil
            place.asset = collected.next ?? .beginning
            step.assets += discarded
            step.assetFailure = step.assetFailure ?? collected.failure
        }
        if discarded > 0 { place.hasDiscarded = true }
        if isAtEnd {
            place.isDone = !place.hasDiscarded
            place.hasDiscarded = false
        }
        return cost
    }

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

    // MARK: Zone by zone

    /// Visits zones in turn. `discard` is given a row and how much it may discard, and tells how much it did.
    private func zones(
        atMost limit: Int, from place: inout CompactionCursor.Place,
        discard: (ZoneRow, Int) throws(ChangeFeedError) -> Int
    ) throws(ChangeFeedError) -> (discarded: Int, cost: Int, isAtEnd: Bool) {
        // Looking costs too, or many zones without garbage would make a step long.
        let looksAllowed = limit * 16
        var looks = 0
        var discarded = 0
        while place.databaseIndex < databases.count, discarded < limit, looks < looksAllowed {
            var rows: [ZoneRow] = []
            try store.scanZones(of: databases[place.databaseIndex], after: place.zone) { zone in
                rows.append(zone)
                return rows.count < looksAllowed - looks ? .next : .stop
            }
            if rows.isEmpty {
                place.databaseIndex += 1
                place.zone = .beginning
            }
            for zone in rows where discarded < limit {
                looks += 1
                discarded += try discard(zone, limit - discarded)
                // Where the budget ended the work, the zone may not be through.
                if discarded < limit { place.zone = zone.position }
            }
        }
        let isAtEnd = place.databaseIndex >= databases.count
        if isAtEnd {
            place.databaseIndex = 0
            place.zone = .beginning
        }
        return (discarded, max(discarded, looks / 16), isAtEnd)
    }

    /// The row of a deleted zone, or the deletion that a living zone has in its past.
    private func zoneTombstones(of zone: ZoneRow, atMost limit: Int) throws(ChangeFeedError) -> Int {
        switch zone.life {
        case .deleted(_, let date):
            guard covers(zone.position, date) else { return 0 }
            try store.discardZone(zone.zoneID, in: zone.databaseID)
        case .live:
            guard let past = zone.pastDeletion, covers(past.position, past.date) else { return 0 }
            var row = zone
            row.pastDeletion = nil
            try store.putZone(row)
            try store.raisePastDeletionHorizon(of: zone.databaseID, to: past.position)
        }
        return 1
    }

    /// The oldest tombstones of a zone, and with them its horizon.
    private func recordTombstones(of zone: ZoneRow, atMost limit: Int) throws(ChangeFeedError) -> Int {
        guard case .live = zone.life else { return 0 }
        var surplus = 0
        if case .policy = bound, let maximum = policy.maximumTombstonesPerZone {
            surplus = max(0, try store.tombstoneCount(of: zone.key) - max(0, maximum))
        }
        var found: [Tombstone] = []
        try store.scanTombstones(of: zone.key) { tombstone in
            guard found.count < limit else { return .stop }
            guard found.count < surplus || covers(tombstone.position, tombstone.date) else { return .stop }
            found.append(tombstone)
            return .next
        }
        guard let last = found.last else { return 0 }
        for tombstone in found {
            try store.discardTombstone(named: tombstone.recordID.recordName, in: zone.key)
        }
        var row = zone
        row.horizon = max(row.horizon, last.position)
        try store.putZone(row)
        return found.count
    }

    // MARK: Requests

    /// Outcomes of requests, oldest first.
    private func requests(atMost limit: Int) throws(ChangeFeedError) -> Int {
        var found: [(ageKey: String, key: String?)] = []
        try store.scanMeta(of: .requestAges, from: "") { ageKey, bytes in
            guard found.count < limit else { return .stop }
            // What cannot be read can only be discarded.
            guard let age = RequestRepeats.age(bytes), let position = RequestRepeats.position(ofAgeKey: ageKey) else {
                found.append((ageKey, nil))
                return .next
            }
            guard covers(position, age.date) else { return .stop }
            found.append((ageKey, age.key))
            return .next
        }
        for (ageKey, key) in found {
            try store.setMetaValue(nil, for: ageKey, of: .requestAges)
            if let key { try store.setMetaValue(nil, for: key, of: .requests) }
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
