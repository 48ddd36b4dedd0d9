import ChangeFeed
import Foundation

/// What the feed promises, written the slow way: every accepted write is appended for ever, and whatever is asked is
/// found by reading the log from its beginning. It shares no code and no idea of efficiency with the feed.
struct ReferenceLog {
    /// A zone of a user, by number; the zone 0 is the default zone.
    struct Zone: Hashable {
        let user: Int
        let name: Int

        var isDefault: Bool { name == 0 }
    }

    /// The value of a field.
    enum Value: Hashable {
        case text(String)
        /// A reference with the action `deleteSelf` to a record, by number.
        case owner(Int)
        /// A reference with the action `none`.
        case link(Int)
    }

    /// One version of a record.
    struct Version: Equatable {
        /// Given to one version and never again, in whatever history: what the change tag is to the feed.
        let serial: Int
        let creationDate: Date
        var fields: [String: Value]
        var parent: Int?

        var owners: Set<Int> {
            Set(fields.values.compactMap { if case .owner(let record) = $0 { record } else { nil } })
        }
    }

    enum Event {
        case zoneCreated
        case zoneEnded(DatabaseChanges.Deletion.Reason)
        case saved(record: Int, Version)
        case deleted(record: Int, last: Version, isCascaded: Bool)
    }

    struct Entry {
        /// As of a version: never given twice.
        let serial: Int
        let zone: Zone
        let event: Event
        let date: Date
    }

    /// Deliberate mistakes, for the test that looks whether mistakes are noticed.
    enum Flaw: CaseIterable {
        case staleTagsAreAccepted, parentsAreNotChecked, cascadesStopAfterOneLevel, childrenHoldNothingBack
        case atomicBatchesAreNot, firstReadsTellOldDeletions, tokensNeverExpire, restoresAreForgotten
        case recreatedZonesAreTheSame, creationDatesStay
    }

    /// Numbers for all histories of one run; copies of a log share them.
    final class Serials {
        private var last = 0

        func next() -> Int {
            last += 1
            return last
        }
    }

    let serials = Serials()
    var flaw: Flaw?
    /// A position is a place in this list, counted from 1.
    private(set) var entries: [Entry] = []
    /// The serials of tombstones that compaction has discarded. The entries stay: what is gone is only not told.
    var discarded: Set<Int> = []
    /// What the most recent modify request on a zone carried.
    var markers: [Zone: String] = [:]

    mutating func append(_ event: Event, in zone: Zone, date: Date) {
        entries.append(Entry(serial: serials.next(), zone: zone, event: event, date: date))
    }
}

// MARK: - What the log says

extension ReferenceLog {
    /// What the log says of one zone.
    struct ZoneState {
        /// The serial of the creation of the zone's present life; nil if it does not live.
        var incarnation: Int?
        /// The place of the zone's latest event.
        var lastPosition = 0
        /// The place of the latest end of a life, if there was one.
        var endPosition: Int?
        /// The place of the latest event of each record of the present life.
        var records: [Int: Int] = [:]
    }

    func state(of zone: Zone) -> ZoneState {
        var state = ZoneState(incarnation: zone.isDefault ? 0 : nil)
        for (index, entry) in entries.enumerated() where entry.zone == zone {
            state.lastPosition = index + 1
            switch entry.event {
            case .zoneCreated:
                state.incarnation = entry.serial
                state.records = [:]
            case .zoneEnded:
                state.incarnation = nil
                state.endPosition = index + 1
                state.records = [:]
            case .saved(let record, _), .deleted(let record, _, _):
                state.records[record] = index + 1
            }
        }
        return state
    }

    func entry(at position: Int) -> Entry { entries[position - 1] }

    /// The version of a record that lives.
    func version(of record: Int, in state: ZoneState) -> Version? {
        guard let position = state.records[record], case .saved(_, let version) = entry(at: position).event else {
            return nil
        }
        return version
    }

    /// All records that live.
    func living(in state: ZoneState) -> [Int: Version] {
        state.records.compactMapValues { position in
            if case .saved(_, let version) = entry(at: position).event { version } else { nil }
        }
    }

    /// The deletions of records that are still told, by their positions in ascending order.
    func tombstones(in state: ZoneState) -> [Int] {
        state.records.values.filter { position in
            guard case .deleted = entry(at: position).event else { return false }
            return !discarded.contains(entry(at: position).serial)
        }.sorted()
    }

    /// The place of the zone's latest end, if it is still told.
    func toldEnd(of state: ZoneState) -> Int? {
        state.endPosition.flatMap { discarded.contains(entry(at: $0).serial) ? nil : $0 }
    }

    /// All zones that the log names.
    var zones: Set<Zone> { Set(entries.map(\.zone)) }
}
