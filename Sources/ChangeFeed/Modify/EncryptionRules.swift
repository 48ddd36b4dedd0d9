#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How encrypted fields are sealed before a store sees them and opened after (rule R10).
///
/// The feed knows no cipher: give it two functions. Whatever they throw becomes an error of the record. Where there is
/// CryptoKit, with `key` a `SymmetricKey` that the host keeps:
///
/// ```swift
/// let encryption = FieldEncryption(
///     seal: { plain, field in
///         let box = try AES.GCM.seal(plain, using: key, authenticating: field.authenticatedData)
///         guard let combined = box.combined else { throw CryptoKitError.incorrectParameterSize }
///         return combined
///     },
///     open: { sealed, field in
///         try AES.GCM.open(.init(combined: sealed), using: key, authenticating: field.authenticatedData)
///     }
/// )
/// ```
///
/// Where there is none, a test can use a cipher that only looks like one: see `TestCipher` in the package's tests,
/// which hides nothing from anybody and must not be used for anything else.
public struct FieldEncryption: Sendable {
    /// Which field is sealed or opened.
    public struct Field: Sendable, Hashable {
        /// The user whose database the record is in.
        public let userID: String
        /// The record.
        public let recordID: Record.ID
        /// The field's key.
        public let key: String

        /// Bytes that name the field, for a cipher that authenticates: a sealed value moved to another field, record
        /// or user does not open.
        public var authenticatedData: Data {
            var writer = ByteWriter()
            for part in [userID, recordID.zoneID.zoneName, recordID.zoneID.ownerName, recordID.recordName, key] {
                writer.string(part)
            }
            return Data(writer.bytes)
        }
    }

    /// Turns what is to be kept secret into what may be stored.
    public let seal: @Sendable (Data, Field) throws -> Data
    /// Turns what was stored back into what was sealed.
    public let open: @Sendable (Data, Field) throws -> Data

    /// An encryption from its two functions.
    public init(
        seal: @escaping @Sendable (Data, Field) throws -> Data,
        open: @escaping @Sendable (Data, Field) throws -> Data
    ) {
        self.seal = seal
        self.open = open
    }
}

extension Feed {
    /// A record as it leaves the feed: its encrypted fields open.
    func record(_ version: RecordVersion, of userID: String) throws(ChangeFeedError) -> Record {
        guard let sealed = version.encryptedPayload else { return Record(version: version) }
        let opened = try opened(sealed, of: version.recordID, userID: userID)
        return Record(version: version.with(encryptedPayload: opened))
    }

    /// Encrypted fields that were sealed, open.
    func opened(
        _ sealed: Payload, of recordID: Record.ID, userID: String
    ) throws(ChangeFeedError) -> Payload {
        guard let encryption else { throw EncryptionRules.unavailable(recordID) }
        var writer = ByteWriter()
        for (index, key) in sealed.shape.keys.enumerated() {
            guard case .bytes(let bytes) = sealed.value(at: index) else {
                throw EncryptionRules.unopened(recordID, key: key, because: "it is not sealed")
            }
            let field = FieldEncryption.Field(userID: userID, recordID: recordID, key: key)
            do {
                let plain = [UInt8](try encryption.open(bytes, field))
                _ = try plain.decode { (reader) throws(MalformedBytes) in
                    try ValueCodec.check(&reader)
                    guard reader.isAtEnd else { throw MalformedBytes(reason: "goes on after its end") }
                }
                plain.withUnsafeBytes { writer.raw($0) }
            } catch {
                throw EncryptionRules.unopened(recordID, key: key, because: "\(error)")
            }
        }
        return Payload(shape: sealed.shape, values: writer.bytes, mayLink: false)
    }

    /// The edits of a record's encrypted fields with their values sealed.
    func sealed(
        _ edits: [FieldEdit], of recordID: Record.ID, userID: String, scope: DatabaseScope
    ) throws(ChangeFeedError) -> [FieldEdit] {
        guard !edits.isEmpty else { return [] }
        guard scope == .private else { throw EncryptionRules.refused(recordID, "in the public database") }
        guard let encryption else {
            throw EncryptionRules.refused(recordID, "in a container without an encryption")
        }
        var sealed: [FieldEdit] = []
        for edit in edits {
            guard let value = edit.value else {
                sealed.append(edit)
                continue
            }
            var writer = ByteWriter()
            ValueCodec.encode(value, into: &writer)
            let field = FieldEncryption.Field(userID: userID, recordID: recordID, key: edit.key)
            do {
                let bytes = try encryption.seal(Data(writer.bytes), field)
                sealed.append(FieldEdit(key: edit.key, space: .encrypted, value: .bytes(bytes)))
            } catch {
                throw ChangeFeedError(
                    .internalError,
                    "The encrypted value of \"\(edit.key)\" of the record \"\(recordID)\" could not be sealed: \(error).",
                    recordID: recordID, rule: "R10")
            }
        }
        return sealed
    }
}

private enum EncryptionRules {
    static func unavailable(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(
            .internalError,
            "The record \"\(recordID)\" has encrypted values, and the container was given no encryption to open them.",
            recordID: recordID, rule: "R10")
    }

    static func unopened(_ recordID: Record.ID, key: String, because: String) -> ChangeFeedError {
        ChangeFeedError(
            .internalError,
            "The encrypted value of \"\(key)\" of the record \"\(recordID)\" could not be opened: \(because).",
            recordID: recordID, rule: "R10")
    }

    static func refused(_ recordID: Record.ID, _ place: String) -> ChangeFeedError {
        ChangeFeedError(
            .invalidArguments,
            "The record \"\(recordID)\" has encrypted values, which cannot be kept \(place).",
            recordID: recordID, rule: "R10")
    }
}
