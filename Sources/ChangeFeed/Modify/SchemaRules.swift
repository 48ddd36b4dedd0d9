/// The rules of rule R5 as pure functions: what a record's fields teach a schema, and what they may not be.
extension Schema {
    /// A field as a record uses it.
    struct Use {
        let key: String
        let isEncrypted: Bool
        /// Nil if the record clears the field.
        let value: RecordValue?
    }

    /// What a schema in development is after a record of the type was saved; nil if the record teaches nothing new.
    ///
    /// A value of another type than the first, or in the clear where that was encrypted, is an error. What has no
    /// type of its own, a cleared field or an empty list, teaches nothing.
    func learning(
        recordType: String, fields: some Sequence<Use>, of recordID: Record.ID? = nil
    ) throws(ChangeFeedError) -> Schema? {
        let known = recordTypes[recordType]
        var learned: [String: Field] = [:]
        for use in fields {
            if let field = known?.fields[use.key] ?? learned[use.key] {
                try check(use, against: field, recordType: recordType, recordID: recordID)
            } else if let type = try use.value.flatMap({ (value) throws(ChangeFeedError) in
                try ValueType(of: value, key: use.key, recordID: recordID)
            }) {
                guard !use.isEncrypted || type.canBeEncrypted else {
                    throw ChangeFeedError(
                        .invalidArguments,
                        "The key \"\(use.key)\" of \"\(recordType)\" cannot be encrypted: "
                            + "it has a value of the type \(type.rawValue).", recordID: recordID, rule: "R10")
                }
                learned[use.key] = Field(type, isEncrypted: use.isEncrypted)
            }
        }
        if known != nil, learned.isEmpty { return nil }
        var schema = self
        schema.recordTypes[recordType, default: RecordType()].fields.merge(learned) { known, _ in known }
        try schema.checkSize()
        return schema
    }

    /// What production refuses: a type or a key that the schema does not have, set or cleared, and everything that
    /// development refuses.
    func check(
        recordType: String, fields: some Sequence<Use>, of recordID: Record.ID? = nil
    ) throws(ChangeFeedError) {
        guard let known = recordTypes[recordType] else {
            throw ChangeFeedError(
                .invalidArguments,
                "The record type \"\(shown(recordType))\" is not in the schema: deploy it, or correct the name.",
                recordID: recordID, rule: "R5")
        }
        for use in fields {
            guard let field = known.fields[use.key] else {
                throw ChangeFeedError(
                    .invalidArguments,
                    "The key \"\(shown(use.key))\" of \"\(recordType)\" is not in the schema: "
                        + "deploy it, or correct the name.", recordID: recordID, rule: "R5")
            }
            try check(use, against: field, recordType: recordType, recordID: recordID)
        }
    }

    private func check(
        _ use: Use, against field: Field, recordType: String, recordID: Record.ID?
    ) throws(ChangeFeedError) {
        guard use.isEncrypted == field.isEncrypted else {
            throw ChangeFeedError(
                .invalidArguments,
                field.isEncrypted
                    ? "The key \"\(use.key)\" of \"\(recordType)\" is encrypted: set it among the encrypted values."
                    : "The key \"\(use.key)\" of \"\(recordType)\" is not encrypted and cannot become so: "
                        + "choose a new key.", recordID: recordID, rule: "R10")
        }
        guard let value = use.value else { return }
        let type = try ValueType(of: value, key: use.key, recordID: recordID)
        guard type == field.type || type == nil && field.type.isList else {
            throw ChangeFeedError(
                .invalidArguments,
                "The key \"\(use.key)\" of \"\(recordType)\" has the type \(field.type.rawValue), and the record gives "
                    + "it \(type?.rawValue ?? "an empty list"): keep the type, or choose another key.",
                recordID: recordID, rule: "R5")
        }
    }

    /// This schema with all that another has beside it. Types and keys are added, none is removed or changed: a key
    /// that is something else in the other is an `invalidArguments` error.
    func merging(_ other: Schema) throws(ChangeFeedError) -> Schema {
        var merged = self
        for (name, type) in other.recordTypes.sorted(by: { precedesByBytes($0.key, $1.key) }) {
            guard let known = recordTypes[name] else {
                merged.recordTypes[name] = type
                continue
            }
            for (key, field) in type.fields.sorted(by: { precedesByBytes($0.key, $1.key) }) {
                if let present = known.fields[key], present != field {
                    throw ChangeFeedError(
                        .invalidArguments,
                        "The schema cannot be deployed: the key \"\(key)\" of \"\(name)\" is \(present.words) and "
                            + "cannot become \(field.words). Choose another key.",
                        rule: present.type == field.type ? "R10" : "R5")
                }
                merged.recordTypes[name, default: known].fields[key] = field
            }
        }
        try merged.checkSize()
        return merged
    }
}

extension Schema.Field {
    fileprivate var words: String { isEncrypted ? "encrypted \(type.rawValue)" : type.rawValue }
}

extension Schema.ValueType {
    /// The type of a value; nil for an empty list, which is of every list type. A list has the type of its first
    /// element: that it is homogeneous is checked before (rule R1).
    init?(of value: RecordValue, key: String, recordID: Record.ID?) throws(ChangeFeedError) {
        let type: Schema.ValueType?
        if case .list(let values) = value {
            guard let first = values.first else { return nil }
            type = Schema.ValueType(first.kind)?.list
        } else {
            type = Schema.ValueType(value.kind)
        }
        guard let type else {
            throw ChangeFeedError(
                .invalidArguments, "The value of \"\(key)\" is a list of lists.", recordID: recordID, rule: "R1")
        }
        self = type
    }

    /// The type of one value; nil for a list.
    init?(_ kind: RecordValue.Kind) {
        switch kind {
        case .string: self = .string
        case .int64: self = .int64
        case .double: self = .double
        case .bytes: self = .bytes
        case .date: self = .timestamp
        case .location: self = .location
        case .reference: self = .reference
        case .asset: self = .asset
        case .list: return nil
        }
    }

    /// The type of a list of values of this type; nil if they are lists.
    var list: Schema.ValueType? {
        switch self {
        case .string: .stringList
        case .int64: .int64List
        case .double: .doubleList
        case .bytes: .bytesList
        case .timestamp: .timestampList
        case .location: .locationList
        case .reference: .referenceList
        case .asset: .assetList
        case .stringList, .int64List, .doubleList, .bytesList, .timestampList, .locationList, .referenceList,
            .assetList:
            nil
        }
    }
}
