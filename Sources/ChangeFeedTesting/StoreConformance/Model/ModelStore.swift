import ChangeFeed

/// What a store should hold: slow, obvious, and a value, so that taking back is keeping a copy.
struct ModelStore: Sendable {
    /// A name by its bytes.
    struct Name: Hashable, Sendable {
        let bytes: [UInt8]
        let string: String

        init(_ string: String) {
            self.string = string
            bytes = Array(string.utf8)
        }

        static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
        func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
    }

    struct Link: Hashable, Sendable {
        let source: Name
        let target: Name
        let kind: LinkKind
    }

    /// What belongs to one life of a zone.
    struct Life: Sendable {
        var entries: [Name: RecordEntry] = [:]
        var links: Set<Link> = []
    }

    var head = ChangePosition.beginning
    var epochs: [Epoch] = []
    /// The nonce of an epoch for which no position was allocated yet.
    var pendingEpoch: UInt64?
    var rows: [ZoneRow] = []
    var horizons: [DatabaseID: DatabaseHorizons] = [:]
    var lives: [ZoneKey: Life] = [:]
    var endedKeys: Set<ZoneKey> = []
    var meta: [MetaTable: [Name: [UInt8]]] = [:]

    /// Puts a row in the place of the one of the same name.
    mutating func put(_ row: ZoneRow) {
        if let index = rows.firstIndex(where: { $0.databaseID == row.databaseID && $0.zoneID == row.zoneID }) {
            let previous = rows.remove(at: index)
            if previous.key != row.key { end(previous.key) }
        }
        rows.append(row)
        rows.sort { $0.position < $1.position }
        horizons[row.databaseID] = horizons[row.databaseID] ?? DatabaseHorizons()
    }

    mutating func end(_ key: ZoneKey) {
        lives[key] = nil
        endedKeys.insert(key)
    }

    mutating func discard(_ row: ZoneRow) {
        rows.removeAll { $0.key == row.key }
        end(row.key)
        let horizon = horizons[row.databaseID]?.tombstones ?? .beginning
        horizons[row.databaseID]?.tombstones = max(horizon, row.position)
    }

    func rows(of databaseID: DatabaseID) -> [ZoneRow] { rows.filter { $0.databaseID == databaseID } }

    func entries(of key: ZoneKey) -> [RecordEntry] {
        (lives[key]?.entries.values.map { $0 } ?? []).sorted { $0.position < $1.position }
    }
}

// MARK: - Comparing

extension ModelStore {
    /// Throws unless a transaction sees all this and nothing else.
    func compare(with reader: any StoreReader, _ random: inout SeededGenerator) throws {
        try expect("reading the head", try reader.head, is: head)
        let shown = try reader.epochs.map(Shown.epoch)
        // An epoch begins with a position that is not known before it is allocated.
        try expect("reading the epochs", Array(shown.prefix(epochs.count)), is: epochs.map(Shown.epoch))
        try expect("counting the epochs", shown.count, is: epochs.count + (pendingEpoch == nil ? 0 : 1))
        let databases = try reader.databaseIDs.map(Shown.databaseID).sorted()
        try expect("reading the databases", databases, is: horizons.keys.map(Shown.databaseID).sorted())
        for databaseID in ModelTransaction.databaseIDs { try compare(databaseID, with: reader, &random) }
        for row in rows { try compare(row.key, with: reader, &random) }
        for key in endedKeys.sorted(by: { $0.rawValue < $1.rawValue }).suffix(4) {
            try compare(key, with: reader, &random)
        }
        for table in ModelTransaction.tables {
            let start = random.once(in: 2) ? Name("") : Name(random.element(of: ModelTransaction.names))
            let rows = (meta[table] ?? [:]).filter { !$0.key.bytes.lexicographicallyPrecedes(start.bytes) }
            let expected = rows.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
            let step = "scanning \(table) from \(Shown.name(start.string))"
            let found = try reader.metaRows(of: table, from: start.string)
            try expect(step, found, is: expected.map { Shown.metaRow($0.key.string, $0.value) })
            try expect("reading of \(table)", try reader.metaValue(start.string, of: table), is: meta[table]?[start])
        }
    }

    private func compare(
        _ databaseID: DatabaseID, with reader: any StoreReader, _ random: inout SeededGenerator
    ) throws {
        let name = Shown.databaseID(databaseID)
        let rows = rows(of: databaseID)
        try expect(
            "scanning the zones of \(name)", try reader.zoneRows(of: databaseID).map(Shown.zone),
            is: rows.map(Shown.zone))
        if let start = rows.isEmpty ? nil : random.element(of: rows) {
            let later = rows.filter { $0.position > start.position }.map(\.key)
            let found = try reader.zoneRows(of: databaseID, after: start.position).map(\.key)
            try expect("scanning the zones of \(name) after \(Shown.position(start.position))", found, is: later)
            let row = try reader.shownZone(start.zoneID, in: databaseID)
            try expect("reading a zone of \(name)", row, is: Shown.zone(start))
        }
        let horizons = horizons[databaseID] ?? DatabaseHorizons()
        try expect("the horizons of \(name)", try reader.horizons(of: databaseID), is: horizons)
        let head = max(horizons.tombstones, rows.last?.position ?? .beginning)
        try expect("the head of \(name)", try reader.head(of: databaseID), is: head)
    }

    private func compare(_ key: ZoneKey, with reader: any StoreReader, _ random: inout SeededGenerator) throws {
        let entries = entries(of: key)
        let zone = "the zone with the handle \(key.rawValue)"
        try expectSame("scanning \(zone)", try reader.entries(of: key), entries)
        let dead = entries.filter { !$0.isLive }
        try expectSame("scanning tombstones of \(zone)", try reader.tombstones(of: key).map { .tombstone($0) }, dead)
        try expect("counting tombstones of \(zone)", try reader.tombstoneCount(of: key), is: dead.count)
        if !entries.isEmpty {
            let bounds = [random.element(of: entries).position, random.element(of: entries).position].sorted()
            let later = entries.filter { $0.position > bounds[$0.isLive ? 0 : 1] }
            let found = try reader.entries(of: key, after: bounds[0], tombstonesAfter: bounds[1])
            try expectSame("scanning \(zone) after \(bounds.map(Shown.position))", found, later)
        }
        for name in ModelTransaction.names {
            let entry = lives[key]?.entries[Name(name)]
            let found = try reader.record(named: name, in: key)
            try expectSame("reading \(Shown.name(name)) of \(zone)", found.map { [$0] } ?? [], entry.map { [$0] } ?? [])
        }
        for kind in LinkKind.allCases {
            let links = (lives[key]?.links ?? []).filter { $0.kind == kind }
            for target in ModelTransaction.names {
                let sources = links.filter { $0.target == Name(target) }
                let step = "\(kind) links of \(zone) to \(Shown.name(target))"
                try expect("counting \(step)", try reader.linkCount(to: target, kind: kind, in: key), is: sources.count)
                if sources.isEmpty { continue }
                let names = sources.map { Shown.name($0.source.string) }.sorted()
                try expect("visiting \(step)", try reader.sources(of: target, kind: kind, in: key), is: names)
            }
        }
    }

    private func expectSame(_ step: String, _ found: [RecordEntry], _ expected: [RecordEntry]) throws {
        if found.count == expected.count, zip(found, expected).allSatisfy(isSame) { return }
        try expect(step, found.map(Shown.entry), is: expected.map(Shown.entry))
    }
}
