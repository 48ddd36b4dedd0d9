import ChangeFeed
import Foundation

/// Random compactions. Which tombstones a step takes first is the feed's own affair; that it takes none it may not,
/// and in the end all it should, is looked at here.
extension ReferenceRun {
    /// What the store still has of what was deleted.
    struct Tombstones {
        /// The records, in ascending order of position.
        var records: [Zone: [Int]] = [:]
        /// The zones with a deletion that is still told.
        var zones: Set<Zone> = []
    }

    func tombstones() async throws -> Tombstones {
        var result = Tombstones()
        for zone in ReferenceRun.zones {
            let (zoneID, databaseID) = (zoneID(zone), database(of: zone.user).databaseID)
            let found = try await feed.store.read { store throws(ChangeFeedError) -> (names: [String], isTold: Bool) in
                guard let row = try store.zone(zoneID, in: databaseID) else { return ([], false) }
                var names: [String] = []
                try store.scanTombstones(of: row.key) { tombstone in
                    names.append(tombstone.recordID.recordName)
                    return .next
                }
                return (names, row.life == .live ? row.pastDeletion != nil : true)
            }
            result.records[zone] = found.names.map { Int($0.dropFirst()) ?? -1 }
            if found.isTold { result.zones.insert(zone) }
        }
        return result
    }

    func compact(steps: Int) async throws {
        let bound = randomBound()
        for _ in 1...steps {
            let budget = Int.random(in: 2...6, using: &random)
            note("compact \(bound) with \(budget).")
            _ = try await compactOnce(bound, budget: budget)
        }
    }

    func compactToTheEnd() async throws {
        let bound = randomBound()
        let budget = Int.random(in: 2...20, using: &random)
        note("compact \(bound) to the end.")
        for _ in 0..<500 {
            guard try await compactOnce(bound, budget: budget) else { continue }
            // A step that ends a round may have begun in its middle: one whole round more
            while try await !compactOnce(bound, budget: budget) {}
            let left = log.discardable(bound, policy: settings.retention, now: feed.clock.now)
            try expect(left.records.isEmpty && left.zones.isEmpty, "\(left) are left after compaction to the end")
            return
        }
        throw Disagreement(description: "compaction does not come to an end")
    }

    private func randomBound() -> CompactionBound {
        if chance(50) { return .policy }
        return .date(feed.clock.now.addingTimeInterval(-Double(Int.random(in: 0...2_000, using: &random))))
    }

    private func compactOnce(_ bound: CompactionBound, budget: Int) async throws -> Bool {
        let allowed = log.discardable(bound, policy: settings.retention, now: feed.clock.now)
        let step = try await feed.container.compact(before: bound, stepBudget: budget)
        try expect(step.total <= budget, "\(step) with a budget of \(budget)")

        let left = try await tombstones()
        var records: Set<Int> = []
        var zones: Set<Int> = []
        for zone in ReferenceRun.zones {
            let state = log.state(of: zone)
            let stored = left.records[zone] ?? []
            for position in log.tombstones(in: state) {
                guard case .deleted(let record, _, _) = log.entry(at: position).event else { continue }
                if !stored.contains(record) { records.insert(log.entry(at: position).serial) }
            }
            try expect(
                stored.count <= log.tombstones(in: state).count, "the store has tombstones that nothing left, \(stored)"
            )
            if let end = log.toldEnd(of: state), !left.zones.contains(zone) { zones.insert(log.entry(at: end).serial) }
        }
        count("compacted \(!records.isEmpty) \(!zones.isEmpty)")
        try expect(records.isSubset(of: allowed.records), "\(records) were discarded, allowed are \(allowed.records)")
        try expect(zones.isSubset(of: allowed.zones), "zones \(zones) were discarded, allowed are \(allowed.zones)")
        try expect(
            step.recordTombstones == records.count && step.zoneTombstones == zones.count,
            "\(step), but \(records.count) and \(zones.count) are gone")
        log.discarded.formUnion(records)
        log.discarded.formUnion(zones)
        return step.isComplete
    }
}
