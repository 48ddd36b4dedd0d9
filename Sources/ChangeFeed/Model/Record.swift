#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A record: an identity, a type, fields by key, and what the server knows of it.
///
/// A record is a value. It holds the version it was fetched or saved with, its *base*, and beside it what has been
/// set since, so copies cost nothing and a later conflict knows its ancestor. Setters never fail: names, keys and
/// values are checked when the record is saved.
///
/// A field is in one of three states: it has a value, it has none, or it was not loaded because the fetch did not
/// ask for it. The last two both read as nil; ``isLoaded(_:)`` tells them apart.
public struct Record: Sendable {
    /// What the record was fetched or saved with; for a new record just its identity.
    package let base: RecordVersion
    /// What has been set or cleared since, in the order of first setting.
    package var edits: [FieldEdit] = []
    /// What has been done to the parent since.
    var parentEdit = ParentEdit.unchanged

    /// A new record. The type cannot be changed later (rule N5).
    public init(recordType: String, recordID: Record.ID = Record.ID()) {
        base = RecordVersion(recordID: recordID, recordType: recordType, system: nil, payload: .empty)
    }

    /// A record as a server or a store holds it, with nothing changed.
    public init(version: RecordVersion) {
        base = version
    }

    /// The record's identity.
    public var recordID: Record.ID { base.recordID }
    /// The record's type.
    public var recordType: String { base.recordType }
}

/// What has been done to one field since the record was fetched or saved.
package struct FieldEdit: Sendable {
    package let key: String
    package let space: KeySpace
    /// Nil clears the field.
    package var value: RecordValue?
}

/// Keys of different spaces are different fields though they may be spelled alike.
package enum KeySpace: UInt8, Sendable, CaseIterable {
    case plain
    /// Sealed before a store sees them (rule R10).
    case encrypted
}

/// What has been done to a record's parent since the record was fetched or saved.
indirect enum ParentEdit: Sendable {
    case unchanged
    case removed
    case set(Record.Reference)
}

// MARK: - Fields

extension Record {
    /// The value of a key; nil if it has none, or if it was not loaded. Setting nil removes the key (rule R2).
    public subscript(key: String) -> RecordValue? {
        get { value(of: key, in: .plain) }
        set { set(newValue, for: key, in: .plain) }
    }

    /// The value of a key as a Swift type; nil also if the type cannot hold the value.
    @inlinable
    public subscript<Value: RecordValueConvertible>(key: String) -> Value? {
        get {
            guard let value: RecordValue = self[key] else { return nil }
            return Value(recordValue: value)
        }
        set { self[key] = newValue?.recordValue as RecordValue? }
    }

    /// The keys that have a value, sorted by their bytes (rule R2).
    public var allKeys: [String] {
        fields.map(\.key)
    }

    /// The keys that were set or removed since the record was fetched or saved, in that order; a key that was set and
    /// then removed is among them (rule R3).
    public var changedKeys: [String] {
        edits.filter { $0.space == .plain }.map(\.key)
    }

    /// Whether the record is known to have or not to have a value for the key: false if the fetch that brought the
    /// record did not ask for it and it has not been set since (rule FZ3).
    public func isLoaded(_ key: String) -> Bool {
        if edits.contains(where: { $0.space == .plain && sameBytes($0.key, key) }) { return true }
        switch base.loadedFields {
        case .all: return true
        case .keys(let keys): return keys.contains { sameBytes($0, key) }
        case .none: return false
        }
    }

    /// The keys that are known, with or without a value; nil if all are.
    public var loadedKeys: Set<String>? {
        switch base.loadedFields {
        case .all: nil
        case .keys(let keys): keys.union(changedKeys)
        case .none: Set(changedKeys)
        }
    }

    /// A field that has a value.
    public struct Field: Sendable, Hashable {
        /// The field's key.
        public let key: String
        /// The field's value.
        public let value: RecordValue
    }

    /// The fields that have a value, sorted by the bytes of their keys.
    public var fields: [Field] { fields(in: .plain) }

    func fields(in space: KeySpace) -> [Field] {
        let payload = (space == .plain ? base.payload : base.encryptedPayload) ?? .empty
        var fields: [Field] = []
        fields.reserveCapacity(payload.shape.keys.count + edits.count)
        for (index, key) in payload.shape.keys.enumerated() {
            if edits.contains(where: { $0.space == space && sameBytes($0.key, key) }) { continue }
            guard let value = payload.value(at: index) else { continue }
            fields.append(Field(key: key, value: base.assets?.bind(value, key: key) ?? value))
        }
        if edits.isEmpty { return fields }
        for edit in edits where edit.space == space {
            if let value = edit.value { fields.append(Field(key: edit.key, value: value)) }
        }
        return fields.sorted { precedesByBytes($0.key, $1.key) }
    }

    @inline(__always)
    package func value(of key: String, in space: KeySpace) -> RecordValue? {
        // By index: a copy of each edit on the way costs more than the comparison.
        for index in edits.indices where edits[index].space == space && sameBytes(edits[index].key, key) {
            return edits[index].value
        }
        switch space {
        case .plain:
            let value = base.payload.value(of: key)
            guard let assets = base.assets else { return value }
            return value.map { assets.bind($0, key: key) }
        case .encrypted: return base.encryptedPayload?.value(of: key)
        }
    }

    @inline(__always)
    package mutating func set(_ value: RecordValue?, for key: String, in space: KeySpace) {
        for index in edits.indices where edits[index].space == space && sameBytes(edits[index].key, key) {
            edits[index].value = value
            return
        }
        if edits.isEmpty { edits.reserveCapacity(8) }
        edits.append(FieldEdit(key: key, space: space, value: value))
    }
}

extension Record: Sequence {
    /// Walks the fields that have a value, sorted by the bytes of their keys.
    public func makeIterator() -> IndexingIterator<[Field]> {
        fields.makeIterator()
    }
}

// MARK: - System fields

extension Record {
    /// The tag of the version the record was fetched or saved with; nil if no server has seen it. A new value at every
    /// save; compare for equality only (rule R8).
    public var recordChangeTag: String? { base.system?.changeTag.text }
    /// When the server first stored this id (rule R6).
    public var creationDate: Date? { base.system?.creationDate }
    /// When the server stored this version (rule R6).
    public var modificationDate: Date? { base.system?.modificationDate }
    /// The user who created the record (rule R6).
    public var creatorUserRecordID: Record.ID? { base.system.map { Record.ID(recordName: $0.creatorUserID) } }
    /// The user who saved this version (rule R6).
    public var lastModifiedUserRecordID: Record.ID? {
        base.system.map { Record.ID(recordName: $0.lastModifiedUserID) }
    }

    /// The record above this one in a hierarchy (rule R13).
    public var parent: Record.Reference? {
        switch parentEdit {
        case .unchanged: base.parent
        case .removed: nil
        case .set(let reference): reference
        }
    }

    /// Puts the record under another of the same zone, or under none (rule R13).
    public mutating func setParent(_ parent: Record.Reference?) {
        parentEdit = parent.map { .set($0) } ?? .removed
    }

    /// Puts the record under another of the same zone (rule R13).
    public mutating func setParent(_ recordID: Record.ID) {
        setParent(Record.Reference(recordID: recordID))
    }

    /// Whether the parent was set or removed since the record was fetched or saved.
    package var isParentChanged: Bool {
        if case .unchanged = parentEdit { false } else { true }
    }
}

extension Record: Equatable {
    /// Whether both are the same version of the same record with the same values and the same keys changed.
    public static func == (left: Record, right: Record) -> Bool {
        left.recordID == right.recordID && sameBytes(left.recordType, right.recordType)
            && left.base.system == right.base.system && left.base.loadedFields == right.base.loadedFields
            && left.parent == right.parent && left.fields == right.fields
            && left.fields(in: .encrypted) == right.fields(in: .encrypted)
            && left.changedKeys.elementsEqual(right.changedKeys, by: sameBytes)
            && left.encryptedValues.changedKeys.elementsEqual(right.encryptedValues.changedKeys, by: sameBytes)
    }
}

extension Record.Field {
    /// Whether key and value are the same bytes.
    public static func == (left: Record.Field, right: Record.Field) -> Bool {
        sameBytes(left.key, right.key) && left.value == right.value
    }
}
