/// What can be told of a record without looking at the server: names, keys, values, links (rules N1 to N6, R1, R11,
/// R13). A record that fails here fails all items of its zone (rule M12).
struct RecordChecks {
    let names: NameRules
    /// The type that was found good last: records of one type follow each other.
    private var knownType: String?
    /// The keys that were found good last, in the order in which they were set.
    private var knownKeys: [String] = []

    init(names: NameRules) {
        self.names = names
    }

    /// `policy` tells which fields are written: with all keys, those that were not touched are checked too.
    mutating func fault(in record: Record, policy: RecordSavePolicy) -> ChangeFeedError? {
        let recordID = record.recordID
        if let fault = names.fault(inRecordName: recordID.recordName) {
            return malformed(recordID, "The record name \"\(shown(recordID.recordName))\" \(fault).", rule: "N1")
        }
        if knownType.map({ sameBytes($0, record.recordType) }) != true {
            if let fault = names.fault(inIdentifier: record.recordType) {
                return malformed(recordID, "The record type \"\(shown(record.recordType))\" \(fault).", rule: "N5")
            }
            knownType = record.recordType
        }
        if record.isParentChanged || policy == .allKeys, let parent = record.parent {
            guard parent.action == .none else {
                return malformed(
                    recordID, "The parent is set with the action \(parent.action): use none.", rule: "R13")
            }
            if let error = fault(in: parent, key: "parent", of: recordID) { return error }
        }
        if policy == .allKeys {
            let all = KeySpace.allCases.flatMap { record.edits(in: $0, allKeys: true) }
            return fault(in: all, of: record.recordID)
        }
        return fault(in: record.edits, of: record.recordID)
    }

    private mutating func fault(in edits: [FieldEdit], of recordID: Record.ID) -> ChangeFeedError? {
        // By index: a copy of each edit costs more than the check.
        for index in edits.indices {
            if let error = fault(inKeyOf: index, of: edits, recordID) { return error }
            switch edits[index].value {
            case .string, .int64, .double, .bytes, .date, .location, nil: continue
            case .reference, .asset, .list:
                if let error = fault(in: edits[index], of: recordID) { return error }
            }
        }
        return nil
    }

    func fault(inDeletionOf recordID: Record.ID) -> ChangeFeedError? {
        names.fault(inRecordName: recordID.recordName).map { fault in
            malformed(recordID, "The record name \"\(shown(recordID.recordName))\" \(fault).", rule: "N1")
        }
    }

    @inline(__always)
    private mutating func fault(
        inKeyOf index: Int, of edits: [FieldEdit], _ recordID: Record.ID
    ) -> ChangeFeedError? {
        if index < knownKeys.count, sameBytes(knownKeys[index], edits[index].key) { return nil }
        let key = edits[index].key
        if let fault = names.fault(inIdentifier: key) {
            return malformed(recordID, "The key \"\(shown(key))\" \(fault).", rule: "N6")
        }
        if index < knownKeys.count {
            knownKeys[index] = key
        } else if index == knownKeys.count, index < 64 {
            knownKeys.append(key)
        }
        return nil
    }

    private func fault(in edit: FieldEdit, of recordID: Record.ID) -> ChangeFeedError? {
        guard let value = edit.value else { return nil }
        if edit.space == .encrypted, value.isNotForEncryption {
            return malformed(
                recordID, "The value of \"\(edit.key)\" cannot be encrypted: it is a reference or an asset.",
                rule: "R10")
        }
        switch value {
        case .reference(let reference):
            return fault(in: reference, key: edit.key, of: recordID)
        case .list(let values): return fault(in: values, key: edit.key, of: recordID)
        case .string, .int64, .double, .bytes, .date, .location, .asset: return nil
        }
    }

    private func fault(in values: [RecordValue], key: String, of recordID: Record.ID) -> ChangeFeedError? {
        guard let first = values.first else { return nil }
        for value in values {
            if value.kind == .list {
                return malformed(recordID, "The value of \"\(key)\" is a list of lists.", rule: "R1")
            }
            if value.kind != first.kind {
                return malformed(
                    recordID,
                    "The value of \"\(key)\" is a list of mixed types, \(first.kind) and \(value.kind).", rule: "R1")
            }
            if case .reference(let reference) = value, let error = fault(in: reference, key: key, of: recordID) {
                return error
            }
        }
        return nil
    }

    private func fault(in reference: Record.Reference, key: String, of recordID: Record.ID) -> ChangeFeedError? {
        if reference.recordID.zoneID != recordID.zoneID {
            return malformed(
                recordID,
                "The value of \"\(key)\" refers to a record of the zone \"\(reference.recordID.zoneID)\": "
                    + "references stay within a zone.", rule: "R11")
        }
        if let fault = names.fault(inRecordName: reference.recordID.recordName) {
            return malformed(
                recordID,
                "The value of \"\(key)\" refers to the record name \"\(shown(reference.recordID.recordName))\", "
                    + "which \(fault).", rule: "N1")
        }
        return nil
    }

    private func malformed(_ recordID: Record.ID, _ message: String, rule: String) -> ChangeFeedError {
        ChangeFeedError(.invalidArguments, message, recordID: recordID, rule: rule)
    }
}

extension RecordValue {
    /// A server has to read references, and assets are encrypted by themselves (rule R10).
    fileprivate var isNotForEncryption: Bool {
        switch self {
        case .reference, .asset: true
        case .list(let values): values.contains { $0.isNotForEncryption }
        case .string, .int64, .double, .bytes, .date, .location: false
        }
    }
}
