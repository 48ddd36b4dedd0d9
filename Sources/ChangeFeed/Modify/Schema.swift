/// Which record types there are, and which fields each has (rule R5).
///
/// A container in development learns its schema from what is saved; one in production refuses what its schema does
/// not have. A schema travels from one to the other as readable JSON: see ``json``.
///
/// ```swift
/// let schema = try Schema(recordTypes: [
///     "Note": .init(fields: ["title": .init(.string), "tags": .init(.stringList)])
/// ])
/// ```
public struct Schema: Sendable, Hashable {
    /// What happens to a record type or a key that the schema does not have.
    public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
        /// It is learned from the first record that has it.
        case development
        /// It is an error.
        case production
    }

    /// The type of a field, by its name in CloudKit's web services.
    public enum ValueType: String, Sendable, Hashable, Codable, CaseIterable {
        /// Text.
        case string = "STRING"
        /// A whole number.
        case int64 = "INT64"
        /// A floating-point number.
        case double = "DOUBLE"
        /// Raw bytes.
        case bytes = "BYTES"
        /// A moment.
        case timestamp = "TIMESTAMP"
        /// A place.
        case location = "LOCATION"
        /// A link to another record.
        case reference = "REFERENCE"
        /// A file.
        case asset = "ASSET"
        /// A list of texts.
        case stringList = "STRING_LIST"
        /// A list of whole numbers.
        case int64List = "INT64_LIST"
        /// A list of floating-point numbers.
        case doubleList = "DOUBLE_LIST"
        /// A list of raw bytes.
        case bytesList = "BYTES_LIST"
        /// A list of moments.
        case timestampList = "TIMESTAMP_LIST"
        /// A list of places.
        case locationList = "LOCATION_LIST"
        /// A list of links.
        case referenceList = "REFERENCE_LIST"
        /// A list of files.
        case assetList = "ASSET_LIST"

        /// Whether values of the type are lists.
        public var isList: Bool {
            switch self {
            case .string, .int64, .double, .bytes, .timestamp, .location, .reference, .asset: false
            case .stringList, .int64List, .doubleList, .bytesList, .timestampList, .locationList, .referenceList,
                .assetList:
                true
            }
        }

        /// Whether values of the type may be encrypted: references and assets may not (rule R10).
        public var canBeEncrypted: Bool {
            switch self {
            case .reference, .asset, .referenceList, .assetList: false
            case .string, .int64, .double, .bytes, .timestamp, .location, .stringList, .int64List, .doubleList,
                .bytesList, .timestampList, .locationList:
                true
            }
        }
    }

    /// What is known of a key of a record type.
    public struct Field: Sendable, Hashable, Codable {
        /// The type of its values.
        public let type: ValueType

        /// A field of a type.
        public init(_ type: ValueType) {
            self.type = type
        }
    }

    /// What is known of a record type.
    public struct RecordType: Sendable, Hashable {
        /// The fields in clear by their keys.
        public internal(set) var fields: [String: Field]
        /// The encrypted fields by their keys, which are a key space of their own (rule R10).
        public internal(set) var encryptedFields: [String: Field]

        /// A record type from its fields.
        public init(fields: [String: Field] = [:], encryptedFields: [String: Field] = [:]) {
            self.fields = fields
            self.encryptedFields = encryptedFields
        }

        /// The field of a key in one of the two key spaces.
        subscript(key: String, isEncrypted isEncrypted: Bool) -> Field? {
            get { isEncrypted ? encryptedFields[key] : fields[key] }
            set {
                if isEncrypted { encryptedFields[key] = newValue } else { fields[key] = newValue }
            }
        }

        /// All fields, those in clear first, each in the order of the keys' bytes.
        var all: [(key: String, isEncrypted: Bool, field: Field)] {
            [(fields, false), (encryptedFields, true)].flatMap { fields, isEncrypted in
                fields.sorted { precedesByBytes($0.key, $1.key) }.map { ($0.key, isEncrypted, $0.value) }
            }
        }
    }

    /// The record types by their names.
    public internal(set) var recordTypes: [String: RecordType]

    /// A schema without any type.
    public init() {
        recordTypes = [:]
    }

    /// A schema from its record types. Throws `invalidArguments` if a name or key breaks the grammar (rules N5, N6) or
    /// if a reference or an asset is to be encrypted (rule R10), `limitExceeded` if it is larger than ``maximumBytes``.
    public init(recordTypes: [String: RecordType], limits: Limits = .cloudKit) throws(ChangeFeedError) {
        self.recordTypes = recordTypes
        try check(NameRules(limits: limits))
    }

    /// The most bytes that a schema may have as JSON.
    public static let maximumBytes = 1 << 20
}

// MARK: - What every schema keeps to

extension Schema {
    func check(_ names: NameRules) throws(ChangeFeedError) {
        for (name, type) in recordTypes.sorted(by: { precedesByBytes($0.key, $1.key) }) {
            if let fault = names.fault(inIdentifier: name) {
                throw Schema.malformed("the record type \"\(shown(name))\" \(fault)", rule: "N5")
            }
            for (key, isEncrypted, field) in type.all {
                if let fault = names.fault(inIdentifier: key) {
                    throw Schema.malformed("the key \"\(shown(key))\" of \"\(name)\" \(fault)", rule: "N6")
                }
                guard !isEncrypted || field.type.canBeEncrypted else {
                    throw Schema.malformed(
                        "the key \"\(key)\" of \"\(name)\" is encrypted and has the type \(field.type.rawValue), "
                            + "which cannot be", rule: "R10")
                }
            }
        }
        try checkSize()
    }

    /// Keeps what is stored within what is read back: a client that invents keys without end is stopped here.
    func checkSize() throws(ChangeFeedError) {
        let bytes = recordTypes.reduce(128) { bytes, type in
            type.value.all.reduce(bytes + type.key.utf8.count + 128) { $0 + $1.key.utf8.count + 72 }
        }
        guard bytes <= Schema.maximumBytes else {
            throw ChangeFeedError(
                .limitExceeded,
                "The schema has too many record types and keys: more than fit \(Schema.maximumBytes) bytes.",
                rule: "R5", limit: .init(name: "schemaBytes", allowed: Schema.maximumBytes, found: bytes))
        }
    }

    static func malformed(_ what: String, rule: String = "R5") -> ChangeFeedError {
        ChangeFeedError(.invalidArguments, "The schema cannot be used: \(what).", rule: rule)
    }
}
