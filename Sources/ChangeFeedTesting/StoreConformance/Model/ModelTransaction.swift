import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A transaction of random operations, done to a store and to its model alike.
struct ModelTransaction: Sendable {
    static let databaseIDs: [DatabaseID] = [.specimen, .other, .public, .private("nobody's")]
    static let zoneNames = ["first", "second", "\u{E9}", "e\u{301}"]
    static let names = ["a", "b", "c", "d", "e", "\u{E9}", "e\u{301}", "a\u{0}", "f", "g"]
    static let tables: [MetaTable] = [.usage, .requests]

    var model: ModelStore
    var random: SeededGenerator
    let payloads: SpecimenPayloads
    private(set) var log: [String] = []
    private var savepoints: [(point: StoreSavepoint, model: ModelStore)] = []

    init(model: ModelStore, random: SeededGenerator, payloads: SpecimenPayloads) {
        self.model = model
        self.random = random
        self.payloads = payloads
    }

    /// Does one operation.
    mutating func step(_ writer: any StoreWriter) throws {
        switch random.below(100) {
        case 0..<3: _ = try allocate(writer, "allocate")
        case 3..<5: try beginEpoch(writer)
        case 5..<14: try makeZone(writer)
        case 14..<20: try changeZone(writer)
        case 20..<23: try deleteZone(writer)
        case 23..<26: try discardZone(writer)
        case 26..<28: try raiseHorizon(writer)
        case 28..<52: try save(writer)
        case 52..<64: try delete(writer)
        case 64..<70: try discardTombstone(writer)
        case 70..<78: try link(writer)
        case 78..<86: try setMeta(writer)
        case 86..<93:
            savepoints.append((try writer.savepoint(), model))
            log.append("savepoint \(savepoints.count)")
        default: try rollBack(writer)
        }
    }

    private mutating func allocate(_ writer: any StoreWriter, _ what: String) throws -> ChangePosition {
        let position = try writer.allocatePosition()
        log.append("\(what) \(Shown.position(position))")
        try expect("allocating", position > model.head, "a position after the head", found: Shown.position(position))
        model.head = position
        if let nonce = model.pendingEpoch {
            model.epochs.append(Epoch(nonce: nonce, firstPosition: position))
            model.pendingEpoch = nil
        }
        return position
    }

    private mutating func beginEpoch(_ writer: any StoreWriter) throws {
        guard model.pendingEpoch == nil else { return }
        let nonce = random.next()
        log.append("begin epoch \(nonce)")
        try writer.beginEpoch(nonce: nonce)
        model.pendingEpoch = nonce
    }

    private mutating func rollBack(_ writer: any StoreWriter) throws {
        guard !savepoints.isEmpty else { return }
        let index = random.below(savepoints.count)
        log.append("roll back to savepoint \(index + 1)")
        try writer.rollBack(to: savepoints[index].point)
        model = savepoints[index].model
        savepoints.removeSubrange((index + 1)...)
        try model.compare(with: writer, &random)
    }

    // MARK: Zones

    private mutating func makeZone(_ writer: any StoreWriter) throws {
        let databaseID = random.element(of: ModelTransaction.databaseIDs.dropLast())
        let zoneID = RecordZone.ID(zoneName: random.element(of: ModelTransaction.zoneNames))
        let key = try writer.allocateZoneKey()
        let position = try allocate(writer, "zone \(Shown.zoneID(zoneID)) with handle \(key.rawValue) at")
        let isUsed = model.lives[key] != nil || model.rows.contains { $0.key == key }
        try expect("asking for a handle", !isUsed, "a new one", found: "\(key.rawValue)")
        let row = ZoneRow(
            databaseID: databaseID, zoneID: zoneID, key: key, incarnation: position, creationDate: date(),
            pastDeletion: random.once(in: 3)
                ? .init(position: position, reason: .encryptedDataReset, date: date()) : nil)
        try writer.putZone(row)
        model.put(row)
        model.lives[key] = ModelStore.Life()
        model.endedKeys.remove(key)
    }

    private mutating func changeZone(_ writer: any StoreWriter) throws {
        guard var row = anyRow(where: { _ in true }) else { return }
        if random.once(in: 2) { row.position = try allocate(writer, "move the zone \(row.key.rawValue) to") }
        row.byteCount = random.below(1 << 40)
        row.horizon = random.once(in: 2) ? row.position : row.horizon
        row.clientChangeTokenData = random.once(in: 2) ? nil : Data([UInt8(random.below(256))])
        log.append("put \(Shown.zone(row))")
        try writer.putZone(row)
        model.put(row)
    }

    private mutating func deleteZone(_ writer: any StoreWriter) throws {
        guard var row = anyRow(where: { $0.life == .live }) else { return }
        row.position = try allocate(writer, "delete the zone \(row.key.rawValue) at")
        row.life = .deleted(random.element(of: DatabaseChanges.Deletion.Reason.allCases), date())
        try writer.eraseRecords(of: row.key)
        try writer.putZone(row)
        model.put(row)
        model.end(row.key)
    }

    private mutating func discardZone(_ writer: any StoreWriter) throws {
        guard let row = anyRow(where: { _ in true }) else { return }
        log.append("discard the zone \(row.key.rawValue)")
        try writer.discardZone(row.zoneID, in: row.databaseID)
        if row.life != .live { model.discard(row) }
    }

    private mutating func raiseHorizon(_ writer: any StoreWriter) throws {
        guard let row = anyRow(where: { _ in true }) else { return }
        log.append("raise the horizon of \(Shown.databaseID(row.databaseID)) to \(Shown.position(row.position))")
        try writer.raisePastDeletionHorizon(of: row.databaseID, to: row.position)
        let before = model.horizons[row.databaseID]?.pastDeletions ?? .beginning
        model.horizons[row.databaseID]?.pastDeletions = max(before, row.position)
    }

    private mutating func anyRow(where condition: (ZoneRow) -> Bool) -> ZoneRow? {
        let rows = model.rows.filter(condition)
        return rows.isEmpty ? nil : random.element(of: rows)
    }

    private mutating func date() -> Date { .specimen(Double(random.below(1 << 30)) / 1024) }
}

// MARK: - Records and small things

extension ModelTransaction {
    private mutating func save(_ writer: any StoreWriter) throws {
        guard let row = anyRow(where: { $0.life == .live }) else { return }
        let name = random.element(of: ModelTransaction.names)
        var traits = VersionTraits(recordType: "Type \(random.below(3))", creationDate: date())
        traits.epoch = random.once(in: 2) ? 1 : random.next()
        traits.lastModifiedUserID = "user \(random.below(3))"
        if random.once(in: 4) {
            let parent = Record.ID(recordName: random.element(of: ModelTransaction.names), zoneID: row.zoneID)
            traits.parent = Record.Reference(recordID: parent, action: .none)
        }
        if random.once(in: 4) { traits.encryptedPayload = payloads[random.below(100)] }
        let position = try allocate(writer, "save \(Shown.name(name)) in \(row.key.rawValue) at")
        let recordID = Record.ID(recordName: name, zoneID: row.zoneID)
        let version = traits.version(recordID, at: position, payload: payloads[random.below(100)])
        try writer.putRecord(.live(version), in: row.key)
        model.lives[row.key]?.entries[.init(name)] = .live(version)
    }

    private mutating func delete(_ writer: any StoreWriter) throws {
        guard let row = anyRow(where: { $0.life == .live }) else { return }
        let name = random.element(of: ModelTransaction.names)
        let position = try allocate(writer, "delete \(Shown.name(name)) in \(row.key.rawValue) at")
        let tombstone = Tombstone(
            recordID: Record.ID(recordName: name, zoneID: row.zoneID), recordType: "Type \(random.below(3))",
            position: position, changeTag: random.once(in: 2) ? nil : RecordChangeTag(epoch: 1, position: position),
            reason: random.element(of: ZoneChanges.Deletion.Reason.allCases), date: date())
        try writer.putRecord(.tombstone(tombstone), in: row.key)
        model.lives[row.key]?.entries[.init(name)] = .tombstone(tombstone)
    }

    private mutating func discardTombstone(_ writer: any StoreWriter) throws {
        guard let row = anyRow(where: { $0.life == .live }) else { return }
        let name = random.element(of: ModelTransaction.names)
        log.append("discard the tombstone \(Shown.name(name)) of \(row.key.rawValue)")
        try writer.discardTombstone(named: name, in: row.key)
        if case .tombstone = model.lives[row.key]?.entries[.init(name)] {
            model.lives[row.key]?.entries[.init(name)] = nil
        }
    }

    private mutating func link(_ writer: any StoreWriter) throws {
        guard let row = anyRow(where: { $0.life == .live }) else { return }
        let (source, target) = (random.element(of: ModelTransaction.names), random.element(of: ModelTransaction.names))
        let kind = random.element(of: LinkKind.allCases)
        let link = ModelStore.Link(source: .init(source), target: .init(target), kind: kind)
        let isRemoved = random.once(in: 3)
        log.append(
            "\(isRemoved ? "remove" : "put") the \(kind) link of \(row.key.rawValue) from \(Shown.name(source)) to "
                + Shown.name(target))
        if isRemoved {
            try writer.removeLink(from: source, to: target, kind: kind, in: row.key)
            model.lives[row.key]?.links.remove(link)
        } else {
            try writer.putLink(from: source, to: target, kind: kind, in: row.key)
            model.lives[row.key]?.links.insert(link)
        }
    }

    private mutating func setMeta(_ writer: any StoreWriter) throws {
        let key = random.element(of: ModelTransaction.names)
        let table = random.element(of: ModelTransaction.tables)
        let value = random.once(in: 3) ? nil : [UInt8](repeating: 7, count: random.below(40))
        log.append("set \(Shown.name(key)) of \(table) to \(value.map(Shown.bytes) ?? "nothing")")
        try writer.setMetaValue(value, for: key, of: table)
        model.meta[table, default: [:]][.init(key)] = value
    }
}
