#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The schema as text.
extension Schema {
    static let formatVersion = 1

    /// The schema as JSON that people can read, compare and keep under version control: keys sorted, a field a line,
    /// the same schema always the same bytes.
    ///
    /// ```json
    /// {
    ///   "formatVersion": 1,
    ///   "recordTypes": {
    ///     "Note": {
    ///       "encryptedFields": {
    ///         "diary": { "type": "STRING" }
    ///       },
    ///       "fields": {
    ///         "tags": { "type": "STRING_LIST" }
    ///       }
    ///     }
    ///   }
    /// }
    /// ```
    public var json: String {
        // Names are letters, digits and "_", so nothing is to be escaped.
        let types = recordTypes.sorted { precedesByBytes($0.key, $1.key) }.map { name, type in
            let encrypted = "      \"encryptedFields\": \(Schema.fields(type.encryptedFields)),\n"
            return "    \"\(name)\": {\n\(type.encryptedFields.isEmpty ? "" : encrypted)"
                + "      \"fields\": \(Schema.fields(type.fields))\n    }"
        }
        return "{\n  \"formatVersion\": \(Schema.formatVersion),\n"
            + "  \"recordTypes\": \(Schema.object(types, indent: "  "))\n}\n"
    }

    private static func fields(_ fields: [String: Field]) -> String {
        let members = fields.sorted { precedesByBytes($0.key, $1.key) }.map { key, field in
            "        \"\(key)\": { \"type\": \"\(field.type.rawValue)\" }"
        }
        return object(members, indent: "      ")
    }

    private static func object(_ members: [String], indent: String) -> String {
        members.isEmpty ? "{}" : "{\n" + members.joined(separator: ",\n") + "\n\(indent)}"
    }

    /// A schema from JSON of the form of ``json``; order and white space are free. Total: for anything else an
    /// `invalidArguments` error says what is wrong and in which line. A member that occurs twice, or that this version
    /// does not know, is wrong too: a misspelt `encryptedFields` must not make a field readable.
    public init(json: String, limits: Limits = .cloudKit) throws(ChangeFeedError) {
        try self.init(json: Data(json.utf8), limits: limits)
    }

    /// A schema from JSON as UTF-8, in the same way.
    public init(json: Data, limits: Limits = .cloudKit) throws(ChangeFeedError) {
        try self.init(bytes: [UInt8](json), names: NameRules(limits: limits))
    }

    private init(bytes: [UInt8], names: NameRules) throws(ChangeFeedError) {
        guard bytes.count <= Schema.maximumBytes else {
            throw ChangeFeedError(
                .limitExceeded, "The schema has \(bytes.count) bytes, more than the \(Schema.maximumBytes) allowed.",
                rule: "R5", limit: .init(name: "schemaBytes", allowed: Schema.maximumBytes, found: bytes.count))
        }
        do throws(SchemaReader.Fault) {
            var reader = SchemaReader(bytes)
            recordTypes = try reader.document()
        } catch {
            throw Schema.malformed("line \(error.line) \(error.reason)")
        }
        try check(names)
    }
}

/// The schema as a store keeps it.
extension Schema {
    /// The bytes of ``json``.
    package var encoded: [UInt8] { [UInt8](json.utf8) }

    /// A schema from what ``encoded`` made. Total: other bytes are an `internalError` with the detail `damaged`.
    package init(encoded: [UInt8]) throws(ChangeFeedError) {
        // The names were held to the limits of their time.
        var limits = Limits.relaxed
        limits.nameCharacters = .max
        do throws(ChangeFeedError) {
            try self.init(bytes: encoded, names: NameRules(limits: limits))
        } catch {
            throw ChangeFeedError(
                .internalError, "The stored schema cannot be read. \(error.message)", rule: "R5", detail: .damaged)
        }
    }
}

/// Keeps the schema that was read last beside its bytes: it changes seldom and is needed by every save.
package final class SchemaCache: Sendable {
    private let last = Locked<(bytes: [UInt8], schema: Schema)?>(nil)

    package init() {}

    /// The schema of stored bytes; the empty one if none are stored.
    package func schema(of bytes: [UInt8]?) throws(ChangeFeedError) -> Schema {
        guard let bytes else { return Schema() }
        if let known = last.withLock({ $0 }), known.bytes == bytes { return known.schema }
        let schema = try Schema(encoded: bytes)
        last.withLock { $0 = (bytes, schema) }
        return schema
    }
}

// MARK: - With any coder

extension Schema: Codable {
    private enum CodingKeys: String, CodingKey {
        case formatVersion
        case recordTypes
    }

    /// Decodes the form of ``json`` and checks it as ``init(recordTypes:limits:)`` does.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .formatVersion)
        guard version == Schema.formatVersion else { throw Schema.malformed(SchemaReader.unknown(version: version)) }
        try self.init(recordTypes: container.decode([String: RecordType].self, forKey: .recordTypes))
    }

    /// Encodes the form of ``json``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Schema.formatVersion, forKey: .formatVersion)
        try container.encode(recordTypes, forKey: .recordTypes)
    }
}

extension Schema.RecordType: Codable {
    private enum CodingKeys: String, CodingKey {
        case encryptedFields
        case fields
    }

    /// Decodes a record type; `encryptedFields` may be missing for none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        fields = try container.decode([String: Schema.Field].self, forKey: .fields)
        encryptedFields = try container.decodeIfPresent([String: Schema.Field].self, forKey: .encryptedFields) ?? [:]
    }

    /// Encodes a record type; `encryptedFields` only if there are any.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !encryptedFields.isEmpty { try container.encode(encryptedFields, forKey: .encryptedFields) }
        try container.encode(fields, forKey: .fields)
    }
}
