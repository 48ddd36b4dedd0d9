extension Record {
    /// Fields that are sealed before a store sees them (rule R10).
    ///
    /// A key space of its own, for values of any type but references and assets, in private databases, and only where
    /// the container was given a ``FieldEncryption``. An archive of the record holds them in clear.
    public struct EncryptedValues: Sendable {
        fileprivate var record: Record

        /// The value of a key; nil if it has none, or if it was not loaded. Setting nil removes the key.
        public subscript(key: String) -> RecordValue? {
            get { record.value(of: key, in: .encrypted) }
            set { record.set(newValue, for: key, in: .encrypted) }
        }

        /// The value of a key as a Swift type; nil also if the type cannot hold the value.
        public subscript<Value: RecordValueConvertible>(key: String) -> Value? {
            get { self[key].flatMap(Value.init(recordValue:)) }
            set { self[key] = newValue?.recordValue }
        }

        /// The keys that have a value, sorted by their bytes.
        public var allKeys: [String] { record.fields(in: .encrypted).map(\.key) }

        /// The keys that were set or removed since the record was fetched or saved, in that order.
        public var changedKeys: [String] { record.edits.filter { $0.space == .encrypted }.map(\.key) }
    }

    /// The record's encrypted fields.
    public var encryptedValues: EncryptedValues {
        get { EncryptedValues(record: self) }
        set { self = newValue.record }
    }
}
