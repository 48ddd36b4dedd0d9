#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The archived form of a record. One form serves ``Record/encodeSystemFields(includingBase:)`` and
/// ``Record/encoded()``; flags tell which parts follow the system fields.
private enum RecordArchive {
    static let magic: [UInt8] = [0x43, 0x46, 0x52]  // "CFR"
    static let version: UInt8 = 1

    struct Parts: OptionSet {
        let rawValue: UInt8
        static let system = Parts(rawValue: 1)
        static let parent = Parts(rawValue: 2)
        static let base = Parts(rawValue: 4)
        static let edits = Parts(rawValue: 8)
        static let encrypted = Parts(rawValue: 16)
        static let parentEdit = Parts(rawValue: 32)
        static let all: Parts = [.system, .parent, .base, .edits, .encrypted, .parentEdit]
    }
}

extension Record {
    /// The record's system fields, without any of the app's keys (rule R7).
    ///
    /// Keep the bytes with the app's own copy of the record: a record made from them with
    /// ``init(systemFields:)`` saves over the version it names. With `includingBase` they also carry the values that
    /// the record was fetched or saved with, which makes them the ancestor of a later conflict. What was set since is
    /// never part. The same record gives the same bytes.
    public func encodeSystemFields(includingBase: Bool = false) -> Data {
        archive(includingBase: includingBase, includingEdits: false)
    }

    /// A record from what ``encodeSystemFields(includingBase:)`` made.
    ///
    /// Unless the bytes carry the base, the record has no fields, and none of its fields is loaded. Whatever is then
    /// set on it counts as changed (rule R7). Total: throws `invalidArguments` for any other bytes.
    /// Of the archive of a whole record, what was changed since it was fetched is left out.
    public init(systemFields: Data) throws(ChangeFeedError) {
        try self.init(archive: systemFields, what: "system fields")
        edits = []
        parentEdit = .unchanged
    }

    /// The whole record: system fields, values, and what was changed since it was fetched or saved.
    public func encoded() -> Data {
        archive(includingBase: true, includingEdits: true)
    }

    /// A record from what ``encoded()`` made. Total: throws `invalidArguments` for any other bytes.
    public init(encoded: Data) throws(ChangeFeedError) {
        try self.init(archive: encoded, what: "archived record")
    }
}

extension Record: Codable {
    /// Decodes what ``encode(to:)`` wrote.
    public init(from decoder: any Decoder) throws {
        try self.init(encoded: decoder.singleValueContainer().decode(Data.self))
    }

    /// Encodes the whole record as the bytes of ``encoded()``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(encoded())
    }
}

// MARK: - Writing

extension Record {
    private func archive(includingBase: Bool, includingEdits: Bool) -> Data {
        var parts: RecordArchive.Parts = []
        if base.system != nil { parts.insert(.system) }
        if base.parent != nil { parts.insert(.parent) }
        if includingBase, base.loadedFields != .none {
            parts.insert(.base)
            if base.encryptedPayload != nil { parts.insert(.encrypted) }
        }
        if includingEdits, !edits.isEmpty { parts.insert(.edits) }
        if includingEdits, isParentChanged { parts.insert(.parentEdit) }

        var writer = ByteWriter(reserving: 256)
        for byte in RecordArchive.magic { writer.byte(byte) }
        writer.byte(RecordArchive.version)
        writer.byte(parts.rawValue)
        writer.write(recordID)
        writer.string(recordType)
        if let system = base.system { writer.write(system) }
        if let parent = base.parent { ValueCodec.encode(.reference(parent), into: &writer) }
        if parts.contains(.base) {
            if case .keys(let keys) = base.loadedFields {
                let keys = keys.sorted(by: precedesByBytes)
                writer.number(UInt64(keys.count) + 1)
                for key in keys { writer.string(key) }
            } else {
                writer.number(0)
            }
            writer.blob(base.payload.encoded)
            if let encrypted = base.encryptedPayload { writer.blob(encrypted.encoded) }
        }
        if parts.contains(.edits) {
            writer.number(UInt64(edits.count))
            for edit in edits {
                writer.byte(edit.space.rawValue)
                writer.string(edit.key)
                writer.byte(edit.value == nil ? 0 : 1)
                if let value = edit.value { ValueCodec.encode(value, into: &writer) }
            }
        }
        if parts.contains(.parentEdit) {
            writer.byte(parent == nil ? 0 : 1)
            if let parent { ValueCodec.encode(.reference(parent), into: &writer) }
        }
        return Data(writer.bytes)
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ recordID: Record.ID) {
        string(recordID.recordName)
        string(recordID.zoneID.zoneName)
        string(recordID.zoneID.ownerName)
    }

    fileprivate mutating func write(_ system: RecordSystemFields) {
        if let epoch = system.changeTag.epoch, let position = system.changeTag.position {
            byte(1)
            word(epoch)
            word(position.high)
            word(position.low)
        } else {
            byte(0)
            string(system.changeTag.text)
        }
        word(system.creationDate.timeIntervalSinceReferenceDate.bitPattern)
        word(system.modificationDate.timeIntervalSinceReferenceDate.bitPattern)
        string(system.creatorUserID)
        string(system.lastModifiedUserID)
    }
}

// MARK: - Reading

extension Record {
    private init(archive: Data, what: String) throws(ChangeFeedError) {
        do throws(MalformedBytes) {
            self = try archive.decode { (reader) throws(MalformedBytes) in
                try Record(archive: &reader)
            }
        } catch {
            throw ChangeFeedError(
                .invalidArguments,
                "These bytes are no \(what): the byte string \(error.reason). Fetch the record again.",
                rule: "R7",
                detail: .damaged
            )
        }
    }

    private init(archive reader: inout ByteReader) throws(MalformedBytes) {
        for byte in RecordArchive.magic where try reader.byte() != byte {
            throw MalformedBytes(reason: "does not begin like a record")
        }
        guard try reader.byte() == RecordArchive.version else {
            throw MalformedBytes(reason: "has an unknown version")
        }
        let parts = RecordArchive.Parts(rawValue: try reader.byte())
        guard RecordArchive.Parts.all.isSuperset(of: parts), !parts.contains(.encrypted) || parts.contains(.base) else {
            throw MalformedBytes(reason: "has unknown parts")
        }
        let recordID = try reader.recordID()
        let recordType = try reader.string()
        let system = parts.contains(.system) ? try reader.systemFields() : nil
        var parent: Record.Reference?
        if parts.contains(.parent) {
            parent = try reader.reference()
        }
        var payload = Payload.empty
        var encryptedPayload: Payload?
        var loaded: LoadedFields = system == nil ? .all : .none
        if parts.contains(.base) {
            loaded = try reader.loadedFields()
            payload = try reader.payload()
            if parts.contains(.encrypted) { encryptedPayload = try reader.payload() }
            if case .keys(let keys) = loaded {
                let held = payload.shape.keys + (encryptedPayload?.shape.keys ?? [])
                guard held.allSatisfy({ key in keys.contains { sameBytes($0, key) } }) else {
                    throw MalformedBytes(reason: "has values that were not loaded")
                }
            }
        }
        base = RecordVersion(
            recordID: recordID,
            recordType: recordType,
            system: system,
            parent: parent,
            payload: payload,
            encryptedPayload: encryptedPayload,
            loadedFields: loaded
        )
        edits = parts.contains(.edits) ? try reader.edits() : []
        if parts.contains(.parentEdit) {
            switch try reader.byte() {
            case 0: parentEdit = .removed
            case 1: parentEdit = .set(try reader.reference())
            default: throw MalformedBytes(reason: "has an unknown kind of change")
            }
        }
        guard reader.isAtEnd else { throw MalformedBytes(reason: "goes on after its end") }
    }
}

extension ByteReader {
    fileprivate mutating func recordID() throws(MalformedBytes) -> Record.ID {
        let recordName = try string()
        let zoneName = try string()
        let ownerName = try string()
        return Record.ID(recordName: recordName, zoneID: RecordZone.ID(zoneName: zoneName, ownerName: ownerName))
    }

    fileprivate mutating func reference() throws(MalformedBytes) -> Record.Reference {
        guard case .reference(let reference) = try ValueCodec.decode(&self) else {
            throw MalformedBytes(reason: "has a parent that is no reference")
        }
        return reference
    }

    fileprivate mutating func systemFields() throws(MalformedBytes) -> RecordSystemFields {
        let tag: RecordChangeTag
        switch try byte() {
        case 0:
            tag = RecordChangeTag(try string())
        case 1:
            let epoch = try word()
            let high = try word()
            let low = try word()
            tag = RecordChangeTag(epoch: epoch, position: ChangePosition(high: high, low: low))
        default:
            throw MalformedBytes(reason: "has an unknown change tag")
        }
        let created = Double(bitPattern: try word())
        let modified = Double(bitPattern: try word())
        let creator = try string()
        let modifier = try string()
        return RecordSystemFields(
            changeTag: tag,
            creationDate: Date(timeIntervalSinceReferenceDate: created),
            modificationDate: Date(timeIntervalSinceReferenceDate: modified),
            creatorUserID: creator,
            lastModifiedUserID: modifier
        )
    }

    fileprivate mutating func payload() throws(MalformedBytes) -> Payload {
        let bytes = try blob()
        do throws(ChangeFeedError) {
            return try Payload(encoded: bytes)
        } catch {
            throw MalformedBytes(reason: "has fields that cannot be read")
        }
    }

    fileprivate mutating func loadedFields() throws(MalformedBytes) -> LoadedFields {
        let count = try number()
        if count == 0 { return .all }
        guard count - 1 <= UInt64(remaining) else { throw MalformedBytes(reason: "names a length past its end") }
        var keys: Set<String> = []
        for _ in 0..<(count - 1) { keys.insert(try string()) }
        return .keys(keys)
    }

    fileprivate mutating func edits() throws(MalformedBytes) -> [FieldEdit] {
        var edits: [FieldEdit] = []
        for _ in 0..<(try count()) {
            guard let space = KeySpace(rawValue: try byte()) else {
                throw MalformedBytes(reason: "has an unknown kind of key")
            }
            let key = try string()
            if edits.contains(where: { $0.space == space && sameBytes($0.key, key) }) {
                throw MalformedBytes(reason: "has a key that was changed twice")
            }
            let value: RecordValue?
            switch try byte() {
            case 0: value = nil
            case 1: value = try ValueCodec.decode(&self)
            default: throw MalformedBytes(reason: "has an unknown kind of change")
            }
            edits.append(FieldEdit(key: key, space: space, value: value))
        }
        return edits
    }
}
