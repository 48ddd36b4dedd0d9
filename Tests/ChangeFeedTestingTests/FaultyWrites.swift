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
        if let repeated = memory.withLock({ $0.repeated }) { return repeated }
        let position = try writer.allocatePosition()
        allocated += 1
        lastPosition = position
        return position
    }

    func beginEpoch(nonce: UInt64) throws(ChangeFeedError) {
        try writer.beginEpoch(nonce: nonce)
        if fault == .rollsEpochsNotBack { kept.append(.epoch(nonce)) }
    }

    func savepoint() throws(ChangeFeedError) -> StoreSavepoint {
        let savepoint = try writer.savepoint()
        latestSavepoint = savepoint
        return savepoint
    }

    func rollBack(to savepoint: StoreSavepoint) throws(ChangeFeedError) {
        if fault == .rollsNothingBack { return }
        let latest = fault == .goesBackToTheLatestSavepoint ? latestSavepoint : nil
        try writer.rollBack(to: latest ?? savepoint)
        for kept in kept { try kept.redo(writer) }
    }

    func allocateZoneKey() throws(ChangeFeedError) -> ZoneKey {
        let key = try writer.allocateZoneKey()
        guard fault == .repeatsKeys else { return key }
        return ZoneKey(rawValue: key.rawValue / 2)
    }

    func putZone(_ row: ZoneRow) throws(ChangeFeedError) {
        memory.withLock { _ = $0.databases.insert(row.databaseID) }
        if fault == .confusesOwners, row.zoneID.ownerName == "ben" { return }
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
        if fault == .erasesNothing { return }
        try writer.eraseRecords(of: fault == .cutsKeys ? ZoneKey(rawValue: zone.rawValue & 0xFFFF) : zone)
    }

    func putRecord(_ entry: RecordEntry, in zone: ZoneKey) throws(ChangeFeedError) {
        if case .tombstone = entry { memory.withLock { $0.tombstones += 1 } }
        if case .tombstone(let tombstone) = entry, fault == .removesLinksWithRecords {
            let name = tombstone.recordID.recordName
            for target in ["a", "b", "t"] {
                try writer.removeLink(from: name, to: target, kind: .parent, in: zone)
            }
        }
        try writer.putRecord(stored(entry), in: zone)
    }

    func discardTombstone(named name: String, in zone: ZoneKey) throws(ChangeFeedError) {
        if fault == .discardsNoTombstone { return }
        if fault == .discardsLivingRecords, case .live(let version) = try reader.record(named: name, in: zone) {
            try writer.putRecord(
                .tombstone(
                    Tombstone(
                        recordID: version.recordID, recordType: version.recordType,
                        position: try writer.allocatePosition(), changeTag: nil, reason: .deleted, date: Date())),
                in: zone)
        }
        try writer.discardTombstone(named: name, in: zone)
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
        if fault == .rollsHorizonsNotBack { kept.append(.horizon(databaseID, position)) }
        try writer.raisePastDeletionHorizon(of: databaseID, to: position)
    }

    func putLink(from source: String, to target: String, kind: LinkKind, in zone: ZoneKey) throws(ChangeFeedError) {
        let kind = stored(kind)
        let target = storedTarget(target)
        let isThere = try reader.linkCount(to: target, kind: kind, in: zone) > 0
        if isThere { memory.withLock { $0.links += 1 } }
        try writer.putLink(from: source, to: target, kind: kind, in: zone)
        guard fault == .rollsLinksNotBack else { return }
        kept.append(.link(source: source, target: target, kind, zone))
    }

    func removeLink(
        from source: String, to target: String, kind: LinkKind, in zone: ZoneKey
    ) throws(ChangeFeedError) {
        try writer.removeLink(from: source, to: storedTarget(target), kind: stored(kind), in: zone)
        guard fault == .rollsRemovedLinksNotBack else { return }
        kept.append(.removedLink(source: source, target: target, kind, zone))
    }

    func setMetaValue(_ value: [UInt8]?, for key: String, of table: MetaTable) throws(ChangeFeedError) {
        if fault == .removesNoKey, value == nil { return }
        let table = stored(table)
        if fault == .tearsWrites || fault == .doesHalfWhenCancelled && Task.isCancelled, key != "first" {
            torn.append(.meta(value, key: key, table))
            return
        }
        let value = fault == .cutsLargeValues ? value.map { Array($0.prefix(65_536)) } : value
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

    func storedTarget(_ name: String) -> String {
        fault == .normalisesTargets ? name.precomposedStringWithCanonicalMapping : name
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
                changeTag: stored(system.changeTag, at: RecordEntry.live(version).position),
                creationDate: stored(system.creationDate),
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

    private func stored(_ tag: RecordChangeTag, at position: ChangePosition) -> RecordChangeTag {
        guard fault == .cutsEpochsOfTags, let epoch = tag.epoch else { return tag }
        return RecordChangeTag(epoch: epoch & .max >> 1, position: position)
    }

    private func stored(_ date: Date) -> Date {
        if fault == .losesSignsOfZero { return date.addingTimeInterval(0) }
        guard fault == .roundsDates else { return date }
        return Date(timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate * 1000).rounded() / 1000)
    }
}

extension FaultyTransaction.Kept {
    /// Does once more what was done.
    func redo(_ writer: any StoreWriter) throws(ChangeFeedError) {
        switch self {
        case .link(let source, let target, let kind, let zone):
            try writer.putLink(from: source, to: target, kind: kind, in: zone)
        case .removedLink(let source, let target, let kind, let zone):
            try writer.removeLink(from: source, to: target, kind: kind, in: zone)
        case .meta(let value, let key, let table): try writer.setMetaValue(value, for: key, of: table)
        case .epoch(let nonce): try writer.beginEpoch(nonce: nonce)
        case .horizon(let databaseID, let position): try writer.raisePastDeletionHorizon(of: databaseID, to: position)
        }
    }
}
