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
    /// A value of another type than the first is an error. What has no
    /// type of its own, a cleared field or an empty list, teaches nothing.
    func learning(
        recordType: String, fields: some Sequence<Use>, of recordID: Record.ID? = nil
    ) throws(ChangeFeedError) -> Schema? {
        let known = recordTypes[recordType]
        var learned = RecordType()
        for use in fields {
            let present = known?[use.key, isEncrypted: use.isEncrypted]
            if let field = present ?? learned[use.key, isEncrypted: use.isEncrypted] {
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
                learned[use.key, isEncrypted: use.isEncrypted] = Field(type)
            }
        }
        if known != nil, learned == RecordType() { return nil }
        var schema = self
        for (key, isEncrypted, field) in learned.all {
            schema.recordTypes[recordType, default: RecordType()][key, isEncrypted: isEncrypted] = field
        }
        if known == nil, schema.recordTypes[recordType] == nil { schema.recordTypes[recordType] = RecordType() }
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
            guard let field = known[use.key, isEncrypted: use.isEncrypted] else {
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
            for (key, isEncrypted, field) in type.all {
                if let present = known[key, isEncrypted: isEncrypted], present != field {
                    throw ChangeFeedError(
                        .invalidArguments,
                        "The schema cannot be deployed: the \(isEncrypted ? "encrypted key" : "key") \"\(key)\" of "
                            + "\"\(name)\" is \(present.type.rawValue) and cannot become \(field.type.rawValue). "
                            + "Choose another key.",
                        rule: "R5")
                }
                merged.recordTypes[name, default: known][key, isEncrypted: isEncrypted] = field
            }
        }
        try merged.checkSize()
        return merged
    }
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
