import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The stored form of a ``StateChange``: a tag, then its parts. Reading is total.
enum StateChangeCodec {
    static func encode(_ change: StateChange, into writer: inout ByteWriter) {
        switch change {
        case .store(let name): writer.tag(1, name)
        case .account(let userID): writer.tag(2, userID)
        case .accountParked: writer.byte(3)
        case .accountRestored(let userID): writer.tag(4, userID)
        case .parkedAccountDropped(let userID): writer.tag(5, userID)
        case .parkedSection(let userID): writer.tag(6, userID)
        case .databaseToken(let token):
            writer.byte(7)
            writer.optionalBlob(token?.data)
        case .needsDatabaseFetch(let isSet): writer.tag(8, isSet)
        case .databaseResyncBegan: writer.byte(9)
        case .databaseResyncSaw(let zoneIDs):
            writer.byte(10)
            writer.number(UInt64(zoneIDs.count))
            for zoneID in zoneIDs { writer.zone(zoneID) }
        case .databaseResyncEnded: writer.byte(11)
        case .zoneToken(let zoneID, let token):
            writer.tag(12, zoneID)
            writer.optionalBlob(token?.data)
        case .zoneDirty(let zoneID, let isDirty):
            writer.tag(13, zoneID)
            writer.byte(isDirty ? 1 : 0)
        case .zoneForgotten(let zoneID): writer.tag(14, zoneID)
        case .resyncBegan(let zoneID): writer.tag(15, zoneID)
        case .resyncSaw(let zoneID, let names):
            writer.tag(16, zoneID)
            writer.strings(names)
        case .resyncLost(let zoneID, let names):
            writer.tag(17, zoneID)
            writer.strings(names)
        case .resyncEnded(let zoneID): writer.tag(18, zoneID)
        case .quarantined(let record):
            writer.tag(19, record.recordID)
            writer.optionalString(record.recordChangeTag)
            writer.string(record.reason)
        case .unquarantined(let recordID): writer.tag(20, recordID)
        case .subscribed(let subscriptionID): writer.tag(21, subscriptionID)
        case .recordAdded(let recordID, let part):
            writer.tag(22, recordID)
            writer.part(part)
        case .recordDone(let recordID, let generation):
            writer.tag(23, recordID)
            writer.number(generation)
        case .zoneAdded(let zoneID, let part):
            writer.tag(24, zoneID)
            writer.part(part)
        case .zoneDone(let zoneID, let generation):
            writer.tag(25, zoneID)
            writer.number(generation)
        case .zoneParked(let zoneID): writer.tag(26, zoneID)
        case .parkedRecord(let recordID, let part):
            writer.tag(27, recordID)
            writer.part(part)
        case .zoneUnparked(let zoneID): writer.tag(28, zoneID)
        case .parkedZoneDropped(let zoneID): writer.tag(29, zoneID)
        case .untracked(let isSet): writer.tag(30, isSet)
        case .startedOver: writer.byte(31)
        case .recordTakenBack(let recordID): writer.tag(32, recordID)
        case .zoneTakenBack(let zoneID): writer.tag(33, zoneID)
        case .recordMissing(let recordID): writer.tag(34, recordID)
        }
    }

    static func decode(_ reader: inout ByteReader) throws(MalformedBytes) -> StateChange {
        switch try reader.byte() {
        case 1: return .store(try reader.string())
        case 2: return .account(try reader.optionalString())
        case 3: return .accountParked
        case 4: return .accountRestored(try reader.string())
        case 5: return .parkedAccountDropped(try reader.string())
        case 6: return .parkedSection(try reader.optionalString())
        case 7: return .databaseToken(try reader.databaseToken())
        case 8: return .needsDatabaseFetch(try reader.flag())
        case 9: return .databaseResyncBegan
        case 10: return .databaseResyncSaw(try reader.zones())
        case 11: return .databaseResyncEnded
        case 12:
            let zoneID = try reader.zone()
            return .zoneToken(zoneID, try reader.zoneToken())
        case 13:
            let zoneID = try reader.zone()
            return .zoneDirty(zoneID, try reader.flag())
        case 14: return .zoneForgotten(try reader.zone())
        case 15: return .resyncBegan(try reader.zone())
        case 16:
            let zoneID = try reader.zone()
            return .resyncSaw(zoneID, try reader.strings())
        case 17:
            let zoneID = try reader.zone()
            return .resyncLost(zoneID, try reader.strings())
        case 18: return .resyncEnded(try reader.zone())
        case 19:
            let recordID = try reader.record()
            let tag = try reader.optionalString()
            return .quarantined(.init(recordID: recordID, recordChangeTag: tag, reason: try reader.string()))
        case 20: return .unquarantined(try reader.record())
        case 21: return .subscribed(try reader.string())
        case 22:
            let recordID = try reader.record()
            return .recordAdded(recordID, try reader.part())
        case 23:
            let recordID = try reader.record()
            return .recordDone(recordID, try reader.number())
        case 24:
            let zoneID = try reader.zone()
            return .zoneAdded(zoneID, try reader.part())
        case 25:
            let zoneID = try reader.zone()
            return .zoneDone(zoneID, try reader.number())
        case 26: return .zoneParked(try reader.zone())
        case 27:
            let recordID = try reader.record()
            return .parkedRecord(recordID, try reader.part())
        case 28: return .zoneUnparked(try reader.zone())
        case 29: return .parkedZoneDropped(try reader.zone())
        case 30: return .untracked(try reader.flag())
        case 31: return .startedOver
        case 32: return .recordTakenBack(try reader.record())
        case 33: return .zoneTakenBack(try reader.zone())
        case 34: return .recordMissing(try reader.record())
        default: throw MalformedBytes(reason: "has a step of an unknown kind")
        }
    }
}

extension ByteWriter {
    fileprivate mutating func tag(_ tag: UInt8, _ string: String) {
        byte(tag)
        self.string(string)
    }

    fileprivate mutating func tag(_ tag: UInt8, _ string: String?) {
        byte(tag)
        optionalString(string)
    }

    fileprivate mutating func tag(_ tag: UInt8, _ flag: Bool) {
        byte(tag)
        byte(flag ? 1 : 0)
    }

    fileprivate mutating func tag(_ tag: UInt8, _ zoneID: RecordZone.ID) {
        byte(tag)
        zone(zoneID)
    }

    fileprivate mutating func tag(_ tag: UInt8, _ recordID: Record.ID) {
        byte(tag)
        zone(recordID.zoneID)
        string(recordID.recordName)
    }

    fileprivate mutating func zone(_ zoneID: RecordZone.ID) {
        string(zoneID.zoneName)
        string(zoneID.ownerName)
    }

    fileprivate mutating func optionalString(_ string: String?) {
        byte(string == nil ? 0 : 1)
        if let string { self.string(string) }
    }

    fileprivate mutating func optionalBlob(_ data: Data?) {
        byte(data == nil ? 0 : 1)
        if let data { blob(data) }
    }

    fileprivate mutating func strings(_ strings: [String]) {
        number(UInt64(strings.count))
        for string in strings { self.string(string) }
    }

    fileprivate mutating func part<ID>(_ part: Outbox<ID>.Part) {
        byte(part.intent.rawValue)
        number(part.generation)
        optionalString(part.tag)
    }
}

extension ByteReader {
    fileprivate mutating func flag() throws(MalformedBytes) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        default: throw MalformedBytes(reason: "has a malformed flag")
        }
    }

    fileprivate mutating func zone() throws(MalformedBytes) -> RecordZone.ID {
        let zoneName = try string()
        return RecordZone.ID(zoneName: zoneName, ownerName: try string())
    }

    fileprivate mutating func record() throws(MalformedBytes) -> Record.ID {
        let zoneID = try zone()
        return Record.ID(recordName: try string(), zoneID: zoneID)
    }

    fileprivate mutating func optionalString() throws(MalformedBytes) -> String? {
        try flag() ? try string() : nil
    }

    fileprivate mutating func strings() throws(MalformedBytes) -> [String] {
        var strings: [String] = []
        for _ in 0..<(try count()) { strings.append(try string()) }
        return strings
    }

    fileprivate mutating func zones() throws(MalformedBytes) -> [RecordZone.ID] {
        var zoneIDs: [RecordZone.ID] = []
        for _ in 0..<(try count()) { zoneIDs.append(try zone()) }
        return zoneIDs
    }

    fileprivate mutating func part<ID>() throws(MalformedBytes) -> Outbox<ID>.Part {
        guard let intent = Intent(rawValue: try byte()) else {
            throw MalformedBytes(reason: "has a pending change of an unknown kind")
        }
        let generation = try number()
        return Outbox<ID>.Part(intent: intent, generation: generation, tag: try optionalString())
    }

    fileprivate mutating func databaseToken() throws(MalformedBytes) -> DatabaseChangeToken? {
        guard try flag() else { return nil }
        let bytes = try blob()
        do {
            return try DatabaseChangeToken(data: Data(bytes))
        } catch {
            throw MalformedBytes(reason: "has a damaged token")
        }
    }

    fileprivate mutating func zoneToken() throws(MalformedBytes) -> ZoneChangeToken? {
        guard try flag() else { return nil }
        let bytes = try blob()
        do {
            return try ZoneChangeToken(data: Data(bytes))
        } catch {
            throw MalformedBytes(reason: "has a damaged token")
        }
    }
}
