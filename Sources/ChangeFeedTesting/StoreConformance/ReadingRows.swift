import ChangeFeed

/// What a transaction sees, gathered.
extension StoreReader {
    /// The entries of a zone; tombstones from the same position on if nothing else is said.
    func entries(
        of key: ZoneKey, after position: ChangePosition = .beginning, tombstonesAfter: ChangePosition? = nil
    ) throws(ChangeFeedError) -> [RecordEntry] {
        var entries: [RecordEntry] = []
        try scanRecords(of: key, after: position, tombstonesAfter: tombstonesAfter ?? position) {
            entries.append($0)
            return .next
        }
        return entries
    }

    /// The entries of a zone as text.
    func shownEntries(
        of key: ZoneKey, after position: ChangePosition = .beginning, tombstonesAfter: ChangePosition? = nil
    ) throws(ChangeFeedError) -> [String] {
        try entries(of: key, after: position, tombstonesAfter: tombstonesAfter).map(Shown.entry)
    }

    /// The entry of a name as text.
    func shownRecord(_ name: String, in key: ZoneKey) throws(ChangeFeedError) -> String {
        try record(named: name, in: key).map(Shown.entry) ?? "nothing"
    }

    /// The row of a zone as text.
    func shownZone(_ zoneID: RecordZone.ID, in databaseID: DatabaseID = .specimen) throws(ChangeFeedError) -> String {
        try zone(zoneID, in: databaseID).map(Shown.zone) ?? "nothing"
    }

    /// The zone rows of a database.
    func zoneRows(
        of databaseID: DatabaseID = .specimen, after position: ChangePosition = .beginning
    ) throws(ChangeFeedError) -> [ZoneRow] {
        var rows: [ZoneRow] = []
        try scanZones(of: databaseID, after: position) {
            rows.append($0)
            return .next
        }
        return rows
    }

    /// The tombstones of a zone.
    func tombstones(of key: ZoneKey) throws(ChangeFeedError) -> [Tombstone] {
        var tombstones: [Tombstone] = []
        try scanTombstones(of: key) {
            tombstones.append($0)
            return .next
        }
        return tombstones
    }

    /// The names that have a link to a name, as text and sorted: their order is the store's own.
    func sources(
        of target: String, kind: LinkKind = .parent, in key: ZoneKey
    ) throws(ChangeFeedError) -> [String] {
        var sources: [String] = []
        try scanLinks(to: target, kind: kind, in: key) {
            sources.append(Shown.name($0))
            return .next
        }
        return sources.sorted()
    }

    /// The rows of a table of small things, as text.
    func metaRows(of table: MetaTable, from key: String = "") throws(ChangeFeedError) -> [String] {
        var rows: [String] = []
        try scanMeta(of: table, from: key) {
            rows.append(Shown.metaRow($0, $1))
            return .next
        }
        return rows
    }

    /// Everything that can be seen of the store, as text. Handles of ended lives and targets of links cannot be found
    /// by looking: they are named.
    func content(keys: [ZoneKey] = [], targets: [String] = Ground.targets) throws(ChangeFeedError) -> [String] {
        var lines = ["head \(Shown.position(try head))"]
        lines += try epochs.map(Shown.epoch)
        let databases = try databaseIDs.sorted { Shown.databaseID($0) < Shown.databaseID($1) }
        var keys = keys
        for databaseID in databases {
            let horizons = try horizons(of: databaseID)
            let rows = try zoneRows(of: databaseID)
            lines.append(
                "\(Shown.databaseID(databaseID)) up to \(Shown.position(try head(of: databaseID))), horizons "
                    + "\(Shown.position(horizons.tombstones)) and \(Shown.position(horizons.pastDeletions))")
            for row in rows {
                lines.append(Shown.zone(row))
                keys.append(row.key)
            }
        }
        for key in keys { lines += try content(of: key, targets: targets) }
        for table in MetaTable.allCases { lines += try metaRows(of: table).map { "\(table) \($0)" } }
        return lines
    }

    private func content(of key: ZoneKey, targets: [String]) throws(ChangeFeedError) -> [String] {
        let entries = try entries(of: key)
        var lines = entries.map(Shown.entry)
        for entry in entries { lines.append("by name \(try shownRecord(entry.recordName, in: key))") }
        lines.append("\(try tombstoneCount(of: key)) tombstones")
        lines += try tombstones(of: key).map(Shown.tombstone)
        for target in targets {
            for kind in LinkKind.allCases {
                let count = try linkCount(to: target, kind: kind, in: key)
                let sources = try sources(of: target, kind: kind, in: key)
                if count == 0, sources.isEmpty { continue }
                lines.append("\(count) \(kind) links to \(Shown.name(target)): \(sources.joined(separator: ", "))")
            }
        }
        return lines
    }
}

extension RecordEntry {
    /// The name of the record.
    var recordName: String {
        switch self {
        case .live(let version): version.recordID.recordName
        case .tombstone(let tombstone): tombstone.recordID.recordName
        case .unreadable(let recordID, _, _): recordID.recordName
        }
    }
}
