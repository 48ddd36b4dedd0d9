import ChangeFeed
import Foundation

/// Sections 1.2 and 1.9 the slow way.
extension ReferenceLog {
    struct Save {
        let record: Int
        /// The version that the client has; nil for a record that no server has seen.
        var base: Version?
        /// What it sets or, with nil, clears.
        var edits: [String: Value?] = [:]
        /// The parent it sets, or with nil inside takes away; nil if it does not touch it.
        var parent: Int??
        var isMalformed = false
    }

    struct Deletion {
        let record: Int
        /// The version that the client knows, if it names one.
        var known: Int?
    }

    struct Request {
        var saves: [(zone: Zone, save: Save)] = []
        var deletions: [(zone: Zone, deletion: Deletion)] = []
        var policy = RecordSavePolicy.ifServerRecordUnchanged
        var isAtomic = true
        var marker: String?
    }

    /// What becomes of an item. Where the rules leave open which error it is, any of those named will do.
    enum Outcome: Equatable {
        case saved(Version)
        case deleted
        case refused(Set<ChangeFeedError.Code>)

        var isRefused: Bool { if case .refused = self { true } else { false } }
    }

    /// Carries out a request: one outcome for each save and for each deletion, in the order of the request.
    ///
    /// The rules do not say in which order the records of a cascade go, so that is asked for.
    mutating func modify(
        _ request: Request, date: Date, cascadeOrder: (Zone, Set<Int>) throws -> [Int]
    ) rethrows -> (saves: [Outcome], deletions: [Outcome]) {
        var saves = [Outcome?](repeating: nil, count: request.saves.count)
        var deletions = [Outcome?](repeating: nil, count: request.deletions.count)
        var zones: [Zone] = []
        for zone in request.saves.map(\.zone) + request.deletions.map(\.zone) where !zones.contains(zone) {
            zones.append(zone)
        }
        for zone in zones {
            let saving = request.saves.indices.filter { request.saves[$0].zone == zone }
            let deleting = request.deletions.indices.filter { request.deletions[$0].zone == zone }
            let outcomes = try modify(
                zone, saving: saving.map { request.saves[$0].save },
                deleting: deleting.map { request.deletions[$0].deletion }, request, date, cascadeOrder)
            for (index, outcome) in zip(saving, outcomes.saves) { saves[index] = outcome }
            for (index, outcome) in zip(deleting, outcomes.deletions) { deletions[index] = outcome }
        }
        return (saves.compactMap { $0 }, deletions.compactMap { $0 })
    }

    private mutating func modify(
        _ zone: Zone, saving: [Save], deleting: [Deletion], _ request: Request, _ date: Date,
        _ cascadeOrder: (Zone, Set<Int>) throws -> [Int]
    ) rethrows -> (saves: [Outcome], deletions: [Outcome]) {
        func all(_ codes: Set<ChangeFeedError.Code>) -> (saves: [Outcome], deletions: [Outcome]) {
            (saving.map { _ in .refused(codes) }, deleting.map { _ in .refused(codes) })
        }
        if zone.isDefault, state(of: zone).lastPosition == 0 { append(.zoneCreated, in: zone, date: date) }
        if let absence = absence(of: state(of: zone)) { return all([absence.code]) }
        let isAtomic = request.isAtomic && !zone.isDefault && flaw != .atomicBatchesAreNot

        // M12: a malformed record fails the others of its zone too
        if saving.contains(where: \.isMalformed) {
            var outcomes = all([.batchRequestFailed, .serverRecordChanged, .unknownItem, .referenceViolation])
            for (index, save) in saving.enumerated() where save.isMalformed {
                outcomes.saves[index] = .refused([.invalidArguments])
            }
            return outcomes
        }

        // M3 to M7, then R13 until nothing more falls
        var outcomes = (
            saves: saving.map { outcome(of: $0, in: zone, policy: request.policy, date: date) },
            deletions: deleting.map { outcome(of: $0, in: zone) }
        )
        refuseOrphans(&outcomes.saves, saving, in: zone)
        if isAtomic, (outcomes.saves + outcomes.deletions).contains(where: \.isRefused) {
            return refusedAsOne(outcomes)
        }

        let before = self
        for (save, outcome) in zip(saving, outcomes.saves) {
            guard case .saved(let version) = outcome else { continue }
            append(.saved(record: save.record, version), in: zone, date: date)
        }
        let isHeldBack = refuseParents(&outcomes.deletions, deleting, in: zone)
        if isAtomic, isHeldBack {
            self = before
            for index in outcomes.deletions.indices {
                outcomes.deletions[index] = .refused([.batchRequestFailed, .referenceViolation])
            }
            return refusedAsOne(outcomes)
        }
        try remove(deleting, outcomes.deletions, in: zone, date: date, cascadeOrder)
        if (outcomes.saves + outcomes.deletions).contains(where: { !$0.isRefused }) { markers[zone] = request.marker }
        return outcomes
    }

    /// M11: the guilty carry their own errors, the others that of the batch.
    private func refusedAsOne(
        _ outcomes: (saves: [Outcome], deletions: [Outcome])
    ) -> (saves: [Outcome], deletions: [Outcome]) {
        (
            outcomes.saves.map { $0.isRefused ? $0 : .refused([.batchRequestFailed]) },
            // Whether children would have held it back need not have been looked at any more
            outcomes.deletions.map { $0.isRefused ? $0 : .refused([.batchRequestFailed, .referenceViolation]) }
        )
    }

    private func outcome(of save: Save, in zone: Zone, policy: RecordSavePolicy, date: Date) -> Outcome {
        let previous = version(of: save.record, in: state(of: zone))
        if previous == nil, save.base != nil { return .refused([.unknownItem]) }
        if let previous, policy == .ifServerRecordUnchanged, previous.serial != save.base?.serial,
            flaw != .staleTagsAreAccepted
        {
            return .refused([.serverRecordChanged])
        }
        var fields = previous?.fields ?? [:]
        var parent = previous?.parent
        if policy == .allKeys, let base = save.base {
            fields.merge(base.fields) { _, mine in mine }
            parent = base.parent ?? parent
        }
        for (key, value) in save.edits { fields[key] = value }
        if let changed = save.parent { parent = changed }
        var creationDate = previous?.creationDate ?? date
        if flaw == .creationDatesStay {
            let first = entries.first { entry in
                if case .saved(save.record, _) = entry.event { entry.zone == zone } else { false }
            }
            if let first { creationDate = first.date }
        }
        return .saved(Version(serial: serials.next(), creationDate: creationDate, fields: fields, parent: parent))
    }

    private func outcome(of deletion: Deletion, in zone: Zone) -> Outcome {
        guard let version = version(of: deletion.record, in: state(of: zone)), let known = deletion.known else {
            return .deleted
        }
        return known == version.serial || flaw == .staleTagsAreAccepted ? .deleted : .refused([.serverRecordChanged])
    }

    /// R13: a new parent exists, or is saved by the same request and does not fail itself.
    private func refuseOrphans(_ outcomes: inout [Outcome], _ saving: [Save], in zone: Zone) {
        if flaw == .parentsAreNotChecked { return }
        let state = state(of: zone)
        var isDone = false
        while !isDone {
            isDone = true
            for (index, save) in saving.enumerated() {
                guard case .saved(let version) = outcomes[index], let parent = version.parent,
                    parent != self.version(of: save.record, in: state)?.parent,
                    self.version(of: parent, in: state) == nil
                else { continue }
                let isSavedAlong = saving.indices.contains { saving[$0].record == parent && !outcomes[$0].isRefused }
                if isSavedAlong { continue }
                let isAlong = saving.contains { $0.record == parent }
                outcomes[index] = .refused(
                    isAlong ? [.referenceViolation, .batchRequestFailed] : [.referenceViolation])
                isDone = false
            }
        }
    }

    /// Everything that goes with some records, these included (R11).
    private func cascade(of records: Set<Int>, among living: [Int: Version]) -> Set<Int> {
        var going = records.filter { living[$0] != nil }
        while true {
            let owned = living.filter { !going.contains($0.key) && !$0.value.owners.isDisjoint(with: going) }
            if owned.isEmpty { return going }
            going.formUnion(owned.keys)
            if flaw == .cascadesStopAfterOneLevel { return going }
        }
    }

    /// R14: whatever would leave a child behind stays. Says whether anything does.
    private func refuseParents(_ outcomes: inout [Outcome], _ deleting: [Deletion], in zone: Zone) -> Bool {
        if flaw == .childrenHoldNothingBack { return false }
        let living = living(in: state(of: zone))
        var isAnyRefused = false
        var isDone = false
        while !isDone {
            isDone = true
            let accepted = deleting.indices.filter { !outcomes[$0].isRefused }
            let going = cascade(of: Set(accepted.map { deleting[$0].record }), among: living)
            for index in accepted {
                let own = cascade(of: [deleting[index].record], among: living)
                let leavesAChild = living.contains { child, version in
                    !going.contains(child) && version.parent.map(own.contains) == true
                }
                if leavesAChild {
                    outcomes[index] = .refused([.referenceViolation])
                    isAnyRefused = true
                    isDone = false
                }
            }
        }
        return isAnyRefused
    }

    private mutating func remove(
        _ deleting: [Deletion], _ outcomes: [Outcome], in zone: Zone, date: Date,
        _ cascadeOrder: (Zone, Set<Int>) throws -> [Int]
    ) rethrows {
        let living = living(in: state(of: zone))
        let asked = zip(deleting, outcomes).filter { !$0.1.isRefused }.map(\.0.record).filter { living[$0] != nil }
        let cascaded = cascade(of: Set(asked), among: living).subtracting(asked)
        let order = cascaded.count < 2 ? Array(cascaded) : try cascadeOrder(zone, cascaded)
        for (record, isCascaded) in asked.map({ ($0, false) }) + order.map({ ($0, true) }) {
            guard let last = living[record] else { continue }
            append(.deleted(record: record, last: last, isCascaded: isCascaded), in: zone, date: date)
        }
    }
}
