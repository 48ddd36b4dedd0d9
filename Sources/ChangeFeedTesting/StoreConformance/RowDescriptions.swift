import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Rows as text that differs wherever the rows differ in a stored byte: what checks compare, and what failures show.
enum Shown {
    /// A string by its bytes: printable ASCII as it is, all else in hexadecimal; long ones by length and digest.
    static func name(_ string: String) -> String {
        var text = "'"
        for byte in string.utf8.prefix(48) {
            if byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "'") {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += byte < 16 ? "\\0" : "\\"
                text += String(byte, radix: 16)
            }
        }
        guard string.utf8.count > 48 else { return text + "'" }
        return text + "…' (\(string.utf8.count) bytes, digest \(digest(Array(string.utf8))))"
    }

    /// Bytes: few as they are, many by length and digest.
    static func bytes(_ bytes: [UInt8]) -> String {
        if bytes.count > 24 { return "\(bytes.count) bytes, digest \(digest(bytes))" }
        return "[" + bytes.map { String($0, radix: 16) }.joined(separator: " ") + "]"
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        // Fowler, Noll and Vo's FNV-1a, by words: fast without the optimiser too.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let isWord = offset + 8 <= bytes.count
                let next =
                    isWord ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) : UInt64(bytes[offset])
                hash = (hash ^ next) &* 0x0000_0100_0000_01B3
                hash ^= hash >> 29
                offset += isWord ? 8 : 1
            }
        }
        return String(hash, radix: 16)
    }

    static func data(_ data: Data?) -> String { data.map { bytes([UInt8]($0)) } ?? "none" }

    /// A moment, exactly.
    static func date(_ date: Date) -> String { "\(date.timeIntervalSinceReferenceDate)s" }

    static func position(_ position: ChangePosition) -> String {
        position.high == 0 ? "@\(position.low)" : "@\(position.high).\(position.low)"
    }

    static func zoneID(_ zoneID: RecordZone.ID) -> String { "\(name(zoneID.zoneName)) of \(name(zoneID.ownerName))" }

    static func databaseID(_ databaseID: DatabaseID) -> String { "\(databaseID.scope) \(name(databaseID.userID))" }

    static func epoch(_ epoch: Epoch) -> String {
        "epoch \(String(epoch.nonce, radix: 16)) from \(position(epoch.firstPosition))"
    }

    static func tag(_ tag: RecordChangeTag?) -> String { tag.map { name($0.text) } ?? "none" }

    static func zone(_ row: ZoneRow) -> String {
        let life =
            switch row.life {
            case .live: "live"
            case .deleted(let reason, let date): "deleted (\(reason)) at \(Shown.date(date))"
            }
        let past = row.pastDeletion.map { "\(position($0.position)) (\($0.reason)) at \(date($0.date))" } ?? "none"
        return "\(position(row.position)) zone \(zoneID(row.zoneID)) in \(databaseID(row.databaseID)), "
            + "key \(row.key.rawValue), \(life), incarnation \(position(row.incarnation)), "
            + "created \(date(row.creationDate)), horizon \(position(row.horizon)), \(row.byteCount) bytes, "
            + "past deletion \(past), marker \(data(row.clientChangeTokenData))"
    }

    static func entry(_ entry: RecordEntry) -> String {
        switch entry {
        case .live(let version): "\(position(entry.position)) record \(Shown.version(version))"
        case .tombstone(let tombstone): Shown.tombstone(tombstone)
        case .unreadable(let recordID, let place, let error):
            "\(position(place)) unreadable \(name(recordID.recordName)) because \(error)"
        }
    }

    static func tombstone(_ tombstone: Tombstone) -> String {
        "\(position(tombstone.position)) tombstone \(name(tombstone.recordID.recordName)) in "
            + "\(zoneID(tombstone.recordID.zoneID)), type \(name(tombstone.recordType)), "
            + "tag \(tag(tombstone.changeTag)), \(tombstone.reason) at \(date(tombstone.date))"
    }

    private static func version(_ version: RecordVersion) -> String {
        let system = version.system.map { system in
            "tag \(tag(system.changeTag)), created \(date(system.creationDate)) by \(name(system.creatorUserID)), "
                + "modified \(date(system.modificationDate)) by \(name(system.lastModifiedUserID))"
        }
        let parent = version.parent.map { parent in
            "\(name(parent.recordID.recordName)) in \(zoneID(parent.recordID.zoneID)) (\(parent.action))"
        }
        return "\(name(version.recordID.recordName)) in \(zoneID(version.recordID.zoneID)), "
            + "type \(name(version.recordType)), \(system ?? "no system fields"), parent \(parent ?? "none"), "
            + "fields \(bytes(version.payload.encoded)), "
            + "encrypted \(version.encryptedPayload.map { bytes($0.encoded) } ?? "none"), "
            + "loaded \(version.loadedFields == .all ? "all" : "\(version.loadedFields)")"
    }

    static func metaRow(_ key: String, _ value: [UInt8]) -> String { "\(name(key)) = \(bytes(value))" }
}

/// Whether two entries are the same, byte for byte.
func isSame(_ left: RecordEntry, _ right: RecordEntry) -> Bool {
    switch (left, right) {
    case (.live(let left), .live(let right)) where left === right: true
    case (.tombstone(let left), .tombstone(let right)) where left === right: true
    default: Shown.entry(left) == Shown.entry(right)
    }
}
