/// What is asked of the targets of references when records are saved (rules R11 to R15).
extension Feed {
    /// The links by which a record is found from those it refers to, without the kinds that nothing follows.
    struct Links: Equatable {
        var parent: String?
        var deleteSelf: Set<ByteString> = []

        static let none = Links()

        init() {}

        init(of version: RecordVersion) {
            self.init(parent: version.parent, payload: version.payload)
        }

        init(parent: Record.Reference?, payload: Payload) {
            self.parent = parent?.recordID.recordName
            payload.forEachReference { reference in
                if reference.action == .deleteSelf { deleteSelf.insert(ByteString(reference.recordID.recordName)) }
            }
        }
    }

    /// What checks of one zone's saves have to keep in mind: what the request itself adds.
    struct ReferenceChecks {
        let zone: ZoneKey
        let limits: Limits
        let store: any StoreReader
        private let saves: [PlannedSave]
        /// The records that the request saves into the zone; made when a target is not on the server.
        private lazy var saved = Set(saves.map { ByteString($0.recordID.recordName) })
        /// The target that was found on the server last: children of one parent follow each other.
        private var found: String?
        /// How many `deleteSelf` references the request has added to a target so far.
        private var added: [ByteString: Int] = [:]

        init(zone: ZoneKey, limits: Limits, store: any StoreReader, saves: [PlannedSave]) {
            self.zone = zone
            self.limits = limits
            self.store = store
            self.saves = saves
        }

        /// A reference whose target has to exist.
        struct Checked {
            let reference: Record.Reference
            let key: String
            let rule: String

            func violation(of recordID: Record.ID) -> ChangeFeedError {
                ChangeFeedError(
                    .referenceViolation,
                    "The \"\(key)\" of the record \"\(recordID)\" refers to \"\(reference.recordID)\", "
                        + "which the server does not have: save that record first, or in the same request.",
                    recordID: recordID, rule: rule)
            }
        }

        /// The checked references of a save whose targets are not stored but saved by the same request: the save
        /// fails with them. Throws `referenceViolation` for a target that is neither.
        mutating func targetsSavedAlong(
            with save: PlannedSave, edits: [FieldEdit]
        ) throws(ChangeFeedError) -> [Checked] {
            var references: [Checked] = []
            if let parent = save.parent, !isFound(parent), parent != save.previous?.parent {
                references.append(Checked(reference: parent, key: "parent", rule: "R13"))
            }
            for index in edits.indices where edits[index].mayLink && edits[index].space == .plain {
                for reference in edits[index].value?.references ?? [] where reference.action == .validate {
                    references.append(Checked(reference: reference, key: edits[index].key, rule: "R15"))
                }
            }
            var along: [Checked] = []
            for checked in references where !isFound(checked.reference) {
                let name = checked.reference.recordID.recordName
                if case .live = try store.record(named: name, in: zone) {
                    found = name
                    continue
                }
                guard saved.contains(ByteString(name)) else { throw checked.violation(of: save.recordID) }
                along.append(checked)
            }
            return along
        }

        private func isFound(_ reference: Record.Reference) -> Bool {
            found.map { sameBytes($0, reference.recordID.recordName) } == true
        }

        /// Rule R12: so many records may be deleted with one, counted by the records that refer to it. What earlier
        /// saves of the request took away makes room.
        mutating func checkOwners(_ links: Links, before: Links, of recordID: Record.ID) throws(ChangeFeedError) {
            if links.deleteSelf.isEmpty && before.deleteSelf.isEmpty { return }
            let new = links.deleteSelf.subtracting(before.deleteSelf)
            for target in new.sorted(by: { precedesByBytes($0.string, $1.string) }) {
                let count =
                    try store.linkCount(to: target.string, kind: .deleteSelf, in: zone)
                    + added[target, default: 0] + 1
                guard count <= limits.deleteSelfReferences else {
                    throw ChangeFeedError(
                        .limitExceeded,
                        "The record \"\(recordID)\" would be number \(count) to be deleted with the record "
                            + "\"\(target.string)\", more than the \(limits.deleteSelfReferences) allowed.",
                        recordID: recordID, rule: "R12",
                        limit: .init(
                            name: "deleteSelfReferences", allowed: limits.deleteSelfReferences, found: count))
                }
            }
            for target in new { added[target, default: 0] += 1 }
            for target in before.deleteSelf.subtracting(links.deleteSelf) { added[target, default: 0] -= 1 }
        }
    }

    /// Brings the index of links from what a record had to what it has.
    func updateLinks(
        of recordName: String, from before: Links, to after: Links, in zone: ZoneKey, store: any StoreWriter
    ) throws(ChangeFeedError) {
        if before == after { return }
        if before.parent != after.parent {
            if let parent = before.parent {
                try store.removeLink(from: recordName, to: parent, kind: .parent, in: zone)
            }
            if let parent = after.parent {
                try store.putLink(from: recordName, to: parent, kind: .parent, in: zone)
            }
        }
        for target in before.deleteSelf where !after.deleteSelf.contains(target) {
            try store.removeLink(from: recordName, to: target.string, kind: .deleteSelf, in: zone)
        }
        for target in after.deleteSelf where !before.deleteSelf.contains(target) {
            try store.putLink(from: recordName, to: target.string, kind: .deleteSelf, in: zone)
        }
    }
}

extension FieldEdit {
    /// Whether the value can be or hold a reference or an asset.
    var mayLink: Bool {
        switch value {
        case .reference, .asset, .list: true
        default: false
        }
    }
}

extension [FieldEdit] {
    /// Whether a value can be or hold a reference or an asset.
    var mayLink: Bool {
        // By index: a copy of each edit costs more than the question.
        for index in indices where self[index].mayLink { return true }
        return false
    }
}

extension RecordValue {
    /// The references that the value is or has.
    var references: [Record.Reference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let values): values.flatMap(\.references)
        default: []
        }
    }
}

extension Payload {
    /// Every reference in a field or in a list.
    func forEachReference(_ body: (Record.Reference) -> Void) {
        guard mayLink else { return }
        forEachValue { _, bytes in
            // Most values are neither: told by their first byte.
            guard ValueCodec.mayHaveReference(bytes) else { return }
            var reader = ByteReader(bytes, isChecked: true)
            if let value = try? ValueCodec.decode(&reader) { value.references.forEach(body) }
        }
    }
}
