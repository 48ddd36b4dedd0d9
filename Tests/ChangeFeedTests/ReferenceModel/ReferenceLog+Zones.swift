import ChangeFeed
import Foundation

/// Section 1.4 the slow way.
extension ReferenceLog {
    /// Whether it was created; saving a zone that exists changes nothing (Z3).
    mutating func create(_ zone: Zone, date: Date) {
        guard state(of: zone).incarnation == nil else { return }
        append(.zoneCreated, in: zone, date: date)
        markers[zone] = nil
    }

    /// Nil if it went; otherwise why not.
    mutating func end(_ zone: Zone, _ reason: DatabaseChanges.Deletion.Reason, date: Date) -> Refusal? {
        if let absence = absence(of: state(of: zone)) { return absence }
        append(.zoneEnded(reason), in: zone, date: date)
        markers[zone] = nil
        return nil
    }
}

/// Section 6.6 the slow way.
extension ReferenceLog {
    /// The tombstones that are still told and that a bound or a policy covers, by the serials of their entries.
    func discardable(
        _ bound: CompactionBound, policy: RetentionPolicy, now: Date
    ) -> (records: Set<Int>, zones: Set<Int>) {
        func covers(_ entry: Entry) -> Bool {
            switch bound {
            case .date(let date): return entry.date < date
            case .position: return true
            case .policy:
                guard let age = policy.maximumAge else { return false }
                return entry.date.addingTimeInterval(TimeInterval(age.components.seconds)) < now
            }
        }
        var records: Set<Int> = []
        var zones: Set<Int> = []
        for zone in self.zones {
            let state = state(of: zone)
            if let end = toldEnd(of: state), covers(entry(at: end)) { zones.insert(entry(at: end).serial) }
            let tombstones = tombstones(in: state)
            var surplus = 0
            if case .policy = bound, let most = policy.maximumTombstonesPerZone { surplus = tombstones.count - most }
            for (index, position) in tombstones.enumerated() where index < surplus || covers(entry(at: position)) {
                records.insert(entry(at: position).serial)
            }
        }
        return (records, zones)
    }
}
