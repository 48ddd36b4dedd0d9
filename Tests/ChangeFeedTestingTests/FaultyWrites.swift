import ChangeFeed
import Foundation

/// What writes of a ``FaultyStore`` do.
extension FaultyTransaction: StoreWriter {
    private var writer: any StoreWriter {
        get throws(ChangeFeedError) {
            guard let optionalWriter else { throw ChangeFeedError(.internalError, "This is a read.") }
            return optionalWriter
        }
    }

    func allocatePosition() throws(ChangeFeedError) -> ChangePosition {
        if fault == .repeatsPositions, let lastPosition { return lastPosition }
        let position = try writer.allocatePosition()
        lastPosition = position
        return position
    }

    func beginEpoch(nonce: UInt64) throws(ChangeFeedError) {
        try writer.beginEpoch(nonce: nonce)
    }

    func savepoint() throws(ChangeFeedError) -> StoreSavepoint {
        try writer.savepoint()
    }

    func rollBack(to savepoint: StoreSavepoint) throws(ChangeFeedError) {
        if fault == .rollsNothingBack { return }
        try writer.rollBack(to: savepoint)
        for kept in kept {
            switch kept {
            case .link(let source, let target, let kind, let zone):
                try writer.putLink(from: source, to: target, kind: kind, in: zone)
            case .meta(let value, let key, let table): try writer.setMetaValue(value, for: key, of: table)
            }
        }
    }

    func allocateZoneKey() throws(ChangeFeedError) -> ZoneKey {
        try writer.allocateZoneKey()
    }

    func putZone(_ row: ZoneRow) throws(ChangeFeedError) {
        if fault == .keepsTheEarlierLife, let previous = try reader.zone(row.zoneID, in: row.databaseID) {
            var entries: [RecordEntry] = []
            try reader.scanRecords(of: previous.key, after: .beginning, tombstonesAfter: .beginning) {
                entries.append($0)
                return .next
            }
            if previous.key != row.key { memory.withLock { $0.earlierLives[previous.key] = entries } }
        }
        try writer.putZone(row)
    }

    func eraseRecords(of zone: ZoneKey) throws(ChangeFeedError) {
        if fault != .erasesNothing { try writer.eraseRecords(of: zone) }
    }

    func putRecord(_ entry: RecordEntry, in zone: ZoneKey) throws(ChangeFeedError) {
        if case .tombstone = entry { memory.withLock { $0.tombstones += 1 } }
        try writer.putRecord(stored(entry), in: zone)
    }

    func discardTombstone(named name: String, in zone: ZoneKey) throws(ChangeFeedError) {
        if fault != .discardsNoTombstone { try writer.discardTombstone(named: name, in: zone) }
    }

    func discardZone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID) throws(ChangeFeedError) {
        if fault == .discardsLivingZones, var row = try reader.zone(zoneID, in: databaseID) {
            row.life = .deleted(.deleted, row.creationDate)
            try writer.putZone(row)
        }
        try writer.discardZone(zoneID, in: databaseID)
    }

    func raisePastDeletionHorizon(
        of databaseID: DatabaseID, to position: ChangePosition
    ) throws(ChangeFeedError) {
        memory.withLock { $0.lowered[databaseID] = position }
        try writer.raisePastDeletionHorizon(of: databaseID, to: position)
    }

    func putLink(from source: String, to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError) {
        let kind = stored(kind)
        let isThere = try reader.linkCount(to: target, kind: kind, in: zone) > 0
        if isThere { memory.withLock { $0.links += 1 } }
        try writer.putLink(from: source, to: target, kind: kind, in: zone)
        guard fault == .rollsLinksNotBack else { return }
        kept.append(.link(source: source, target: target, kind, zone))
    }

    func removeLink(
        from source: String, to target: String, kind: LinkKind, in zone: ZoneKey
    ) throws(ChangeFeedError) {
        try writer.removeLink(from: source, to: target, kind: stored(kind), in: zone)
    }

    func setMetaValue(_ value: [UInt8]?, for key: String, of table: MetaTable) throws(ChangeFeedError) {
        if fault == .removesNoKey, value == nil { return }
        let table = stored(table)
        try writer.setMetaValue(value, for: key, of: table)
        guard fault == .rollsMetaNotBack else { return }
        kept.append(.meta(value, key: key, table))
    }
}

// MARK: - What is stored instead of what was given

extension FaultyTransaction {
    func stored(_ name: String) -> String {
        fault == .normalisesNames ? name.precomposedStringWithCanonicalMapping : name
    }

    func stored(_ kind: LinkKind) -> LinkKind { fault == .mixesKindsOfLinks ? .parent : kind }

    func stored(_ table: MetaTable) -> MetaTable { fault == .mixesTables ? .schema : table }

    private func stored(_ entry: RecordEntry) -> RecordEntry {
        switch entry {
        case .live(let version): .live(stored(version))
        case .tombstone(let tombstone) where fault == .losesTagsOfTombstones:
            .tombstone(
                Tombstone(
                    recordID: tombstone.recordID, recordType: tombstone.recordType, position: tombstone.position,
                    changeTag: nil, reason: tombstone.reason, date: tombstone.date))
        default: entry
        }
    }

    private func stored(_ version: RecordVersion) -> RecordVersion {
        let system = version.system.map { system in
            RecordSystemFields(
                changeTag: system.changeTag, creationDate: stored(system.creationDate),
                modificationDate: system.modificationDate, creatorUserID: system.creatorUserID,
                lastModifiedUserID: fault == .confusesUsers ? system.creatorUserID : system.lastModifiedUserID)
        }
        let isLost = fault == .losesFields && version.payload.byteCount > 70_000
        return RecordVersion(
            recordID: Record.ID(recordName: stored(version.recordID.recordName), zoneID: version.recordID.zoneID),
            recordType: version.recordType, system: system,
            parent: fault == .losesParents ? nil : version.parent, payload: isLost ? .empty : version.payload,
            encryptedPayload: fault == .losesEncryptedFields && version.encryptedPayload == .empty
                ? nil : version.encryptedPayload)
    }

    private func stored(_ date: Date) -> Date {
        guard fault == .roundsDates else { return date }
        return Date(timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate * 1000).rounded() / 1000)
    }
}
