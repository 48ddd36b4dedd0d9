import ChangeFeed

/// How records and tombstones are written.
extension SQLiteWriter {
    func putRecord(_ entry: RecordEntry, in zone: ZoneKey) throws(ChangeFeedError) {
        guard isGiven(zone) else { return }
        let name: String
        switch entry {
        case .live(let version): name = version.recordID.recordName
        case .tombstone(let tombstone): name = tombstone.recordID.recordName
        case .unreadable: return
        }
        let key = indexKey(of: name, in: zone)
        let previous = try place(of: name, key: key, in: zone)
        if let previous { try removeRow(at: previous, of: zone) }

        let id = zone.id(at: entry.position)
        let isLive: Bool
        switch entry {
        case .live(let version):
            try rows.insert(version, id: id, with: statements.insertRecord)
            isLive = true
        case .tombstone(let tombstone):
            try tombstone.insert(id: id, with: statements.insertTombstone, rows: rows)
            try countTombstones(of: zone, adding: 1)
            isLive = false
        case .unreadable: return
        }
        let place: RecordPlace
        if let previous {
            place = RecordPlace(number: previous.number, id: id, isLive: isLive)
            statements.updateEntry.bind(place.number, at: 1)
            statements.updateEntry.bind(id, at: 2)
            statements.updateEntry.bind(isLive ? 1 : 0, at: 3)
            try statements.updateEntry.run()
        } else {
            place = RecordPlace(number: newEntry(), id: id, isLive: isLive)
            statements.insertEntry.bind(place.number, at: 1)
            statements.insertEntry.bind(id, at: 2)
            statements.insertEntry.bind(isLive ? 1 : 0, at: 3)
            try statements.insertEntry.run()
            statements.insertName.bind(key, at: 1)
            statements.insertName.bind(place.number, at: 2)
            try statements.insertName.run()
        }
        note(place, of: name, key: key, in: zone)
    }

    private func newEntry() -> Int64 {
        var next = state
        next.entries += 1
        setState(next, epochs: epochs)
        return next.entries
    }

    private func removeRow(at place: RecordPlace, of zone: ZoneKey) throws(ChangeFeedError) {
        if place.isLive {
            statements.deleteRecord.bind(place.id, at: 1)
            try statements.deleteRecord.run()
        } else {
            statements.deleteTombstone.bind(place.id, at: 1)
            try statements.deleteTombstone.run()
            try countTombstones(of: zone, adding: -1)
        }
    }

    func countTombstones(of zone: ZoneKey, adding difference: Int) throws(ChangeFeedError) {
        guard difference != 0 else { return }
        statements.countTombstones.bind(zone.rawValue, at: 1)
        statements.countTombstones.bind(difference, at: 2)
        try statements.countTombstones.run()
    }

    func discardTombstone(named name: String, in zone: ZoneKey) throws(ChangeFeedError) {
        let key = indexKey(of: name, in: zone)
        guard let place = try place(of: name, key: key, in: zone), !place.isLive else { return }
        try removeRow(at: place, of: zone)
        try eraseEntry(place.number, key: key)
        note(nil, of: name, key: key, in: zone)
    }
}

// MARK: - Links and small things

extension SQLiteWriter {
    func putLink(
        from source: String, to target: String, kind: LinkKind, in zone: ZoneKey
    ) throws(ChangeFeedError) {
        guard isGiven(zone) else { return }
        try run(statements.insertLink, source, target, kind, zone)
    }

    func removeLink(
        from source: String, to target: String, kind: LinkKind, in zone: ZoneKey
    ) throws(ChangeFeedError) {
        try run(statements.deleteLink, source, target, kind, zone)
    }

    private func run(
        _ statement: SQLiteStatement, _ source: String, _ target: String, _ kind: LinkKind, _ zone: ZoneKey
    ) throws(ChangeFeedError) {
        statement.bind(zone.rawValue, at: 1)
        statement.bind(kind.rawValue, at: 2)
        statement.bind(target, at: 3)
        statement.bind(source, at: 4)
        try statement.run()
    }

    func setMetaValue(_ value: [UInt8]?, for key: String, of table: MetaTable) throws(ChangeFeedError) {
        let statement = value == nil ? statements.deleteMeta : statements.insertMeta
        statement.bind(table.rawValue, at: 1)
        statement.bind(key, at: 2)
        if let value { statement.bind(value, at: 3) }
        try statement.run()
    }
}
