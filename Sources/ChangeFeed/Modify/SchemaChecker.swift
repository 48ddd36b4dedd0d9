/// Holds the records of one request to a schema, one after the other (rule R5).
///
/// Records of one type follow each other and set the same keys, so a field is looked for first where the one before it
/// led to: a record of a known type costs a comparison of each key and no hashing. What is not found there is left to
/// the rules of ``Schema``.
///
/// A value: a copy taken before a zone's items is what to go back to if they fail together.
struct SchemaChecker {
    /// The schema as it stands after the records that were checked.
    private(set) var schema: Schema
    /// Whether the records taught the schema something: then it is to be stored.
    private(set) var hasLearned = false
    private let environment: Schema.Environment
    private var tables: [Table] = []
    private var current = 0

    /// A type's fields in the order in which records set them.
    private struct Table {
        struct Entry {
            let key: String
            let space: KeySpace
            let kind: RecordValue.Kind
            /// The type of a list's elements.
            let elements: RecordValue.Kind?
        }

        let recordType: String
        var entries: [Entry] = []
    }

    // A request with more types or keys than this is checked by the rules alone.
    private static let tableBound = 16
    private static let entryBound = 64

    init(schema: Schema, environment: Schema.Environment) {
        self.schema = schema
        self.environment = environment
    }

    /// Checks what a record sets and clears, and learns from it in development. Names and keys must have been checked.
    /// `includingBase` is for a save that also writes what the record was fetched with.
    mutating func check(_ record: Record, includingBase: Bool = false) throws(ChangeFeedError) {
        try check(record.edits, ofType: record.recordType, recordID: record.recordID)
        if includingBase, record.base.system != nil { try checkBase(of: record) }
    }

    /// Checks fields of a record of the type.
    mutating func check(
        _ edits: [FieldEdit], ofType recordType: String, recordID: Record.ID
    ) throws(ChangeFeedError) {
        if selectTable(for: recordType), isKnown(edits, by: tables[current]) { return }
        let uses = edits.map {
            Schema.Use(key: $0.key, isEncrypted: $0.space == .encrypted, value: $0.value)
        }
        switch environment {
        case .development:
            if let learned = try schema.learning(recordType: recordType, fields: uses, of: recordID) {
                schema = learned
                hasLearned = true
            }
        case .production:
            try schema.check(recordType: recordType, fields: uses, of: recordID)
        }
        remember(edits, ofType: recordType)
    }

    private mutating func checkBase(of record: Record) throws(ChangeFeedError) {
        for space in [KeySpace.plain, .encrypted] {
            let edits = record.fields(in: space).map { FieldEdit(key: $0.key, space: space, value: $0.value) }
            if !edits.isEmpty { try check(edits, ofType: record.recordType, recordID: record.recordID) }
        }
    }

    /// Makes the type's table the current one, if there is one.
    @inline(__always)
    private mutating func selectTable(for recordType: String) -> Bool {
        if current < tables.count, sameBytes(tables[current].recordType, recordType) { return true }
        guard let index = tables.firstIndex(where: { sameBytes($0.recordType, recordType) }) else { return false }
        current = index
        return true
    }

    /// Whether the fields are certainly good. Looks at edits and entries where they are: a copy of either would cost
    /// more than the comparison.
    private func isKnown(_ edits: [FieldEdit], by table: Table) -> Bool {
        edits.withUnsafeBufferPointer { edits in
            table.entries.withUnsafeBufferPointer { entries in
                var next = 0
                for index in edits.indices {
                    // Checked keys are ASCII, so equal strings are equal bytes.
                    if next >= entries.count || entries[next].key != edits[index].key {
                        let found = entries.indices.first {
                            entries[$0].key == edits[index].key && entries[$0].space == edits[index].space
                        }
                        guard let found else { return false }
                        next = found
                    }
                    guard edits[index].space == entries[next].space else { return false }
                    let kind = entries[next].kind
                    // Not by `RecordValue.kind`: a switch that binds nothing copies nothing.
                    switch edits[index].value {
                    case nil: break
                    case .string: guard kind == .string else { return false }
                    case .int64: guard kind == .int64 else { return false }
                    case .double: guard kind == .double else { return false }
                    case .bytes: guard kind == .bytes else { return false }
                    case .date: guard kind == .date else { return false }
                    case .location: guard kind == .location else { return false }
                    case .reference: guard kind == .reference else { return false }
                    case .asset: guard kind == .asset else { return false }
                    case .list:
                        guard kind == .list, SchemaChecker.hasElements(edits[index].value, of: entries[next].elements)
                        else { return false }
                    }
                    next += 1
                }
                return true
            }
        }
    }

    @inline(never)
    private static func hasElements(_ list: RecordValue?, of kind: RecordValue.Kind?) -> Bool {
        guard case .list(let values) = list else { return false }
        return values.isEmpty || values[0].kind == kind
    }

    private mutating func remember(_ edits: [FieldEdit], ofType recordType: String) {
        if !selectTable(for: recordType) {
            guard tables.count < SchemaChecker.tableBound else { return }
            current = tables.count
            tables.append(Table(recordType: recordType))
        }
        for edit in edits {
            guard let value = edit.value, tables[current].entries.count < SchemaChecker.entryBound,
                !tables[current].entries.contains(where: { $0.space == edit.space && sameBytes($0.key, edit.key) })
            else { continue }
            var elements: RecordValue.Kind?
            if case .list(let values) = value {
                guard let first = values.first else { continue }
                elements = first.kind
            }
            tables[current].entries.append(
                .init(key: edit.key, space: edit.space, kind: value.kind, elements: elements))
        }
    }
}
