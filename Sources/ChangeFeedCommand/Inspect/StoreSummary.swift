import ChangeFeed
import ChangeFeedSQLite
import Foundation

/// What a store in a file holds, as `changefeed inspect` tells it.
struct StoreSummary: Encodable, Equatable {
    struct Zone: Encodable, Equatable {
        /// The owner of the database; empty for the public one.
        let user: String
        let zone: String
        /// "live", or "deleted".
        let life: String
        /// How many living records.
        let records: Int
        let tombstones: Int
        /// The position of the zone's latest event.
        let position: Int
        /// The highest position of a record tombstone that was discarded.
        let horizon: Int
        /// How many bytes the fields of the living records have.
        let bytes: Int
    }

    struct Table: Encodable, Equatable {
        let table: String
        let rows: Int
        /// How much room it takes in the file; nil where the system's SQLite cannot tell.
        let bytes: Int?
    }

    /// The position that was allocated last.
    let head: Int
    let epochs: Int
    let zones: [Zone]
    let tables: [Table]

    /// Two aligned tables, and the counters between them.
    var text: String {
        var grid = Grid("user", "zone", "life", "records", "tombstones", "position", "horizon", "bytes")
        for zone in zones {
            grid.add(
                .text(printable(zone.user)), .text(printable(zone.zone)), .text(zone.life), .number(zone.records),
                .number(zone.tombstones), .number(zone.position), .number(zone.horizon), .number(zone.bytes))
        }
        var sizes = Grid("table", "rows", "bytes")
        for table in tables {
            sizes.add(.text(table.table), .number(table.rows), table.bytes.map { .number($0) } ?? .text("-"))
        }
        return """
            \(grid.text)
            head \(NumberText.grouped(head)), epochs \(NumberText.grouped(epochs))

            \(sizes.text)
            """
    }
}

extension StoreSummary {
    /// Looks into a store that was opened for reading.
    init(of store: SQLiteStore) async throws(ChangeFeedError) {
        let connection = try SQLiteConnection(path: store.url.path, access: .readOnly)
        try connection.execute("PRAGMA busy_timeout = 5000; BEGIN")
        head = Int(try connection.number("SELECT head FROM state") ?? 0)
        epochs = Int(try connection.number("SELECT epochs FROM state") ?? 0)
        let rows = try connection.prepare(
            """
            SELECT user, zone, life, records, tombstones, position, horizon, bytes FROM zones
            ORDER BY user, zone, owner
            """)
        var zones: [Zone] = []
        while try rows.step() {
            zones.append(
                Zone(
                    user: rows.text(0), zone: rows.text(1), life: rows.text(2), records: rows.int(3),
                    tombstones: rows.int(4), position: rows.int(5), horizon: rows.int(6), bytes: rows.int(7)))
        }
        self.zones = zones
        tables = try await store.tableSizes().map { Table(table: $0.name, rows: $0.rows, bytes: $0.bytes) }
    }
}

/// What changed in a zone, as `changefeed inspect --zone` tells it.
struct ZoneSummary: Encodable, Equatable {
    struct Change: Encodable, Equatable {
        /// "modified", "deleted", or "unreadable".
        let change: String
        let record: String
        let type: String?
        let tag: String?
        /// The keys of the record's fields; why it was deleted, or cannot be read.
        let about: String
    }

    let changes: [Change]
    /// Where to go on: give it with `--since`.
    let token: String

    /// An aligned table, and the token on the last line.
    var text: String {
        var grid = Grid("change", "record", "type", "tag", "about")
        for change in changes {
            grid.add(
                .text(change.change), .text(printable(change.record)), .text(printable(change.type ?? "-")),
                .text(change.tag ?? "-"), .text(printable(change.about)))
        }
        return "\(grid.text)\ntoken \(token)\n"
    }
}

extension ZoneSummary {
    /// Reads the changes of a zone since a token, from the beginning without one.
    init(
        of zoneID: RecordZone.ID, in database: Database, since token: ZoneChangeToken?
    ) async throws(ChangeFeedError) {
        var changes: [Change] = []
        var token = token
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            changes += page.changes.map { Change($0) }
            token = page.changeToken
            if !page.moreComing { break }
        }
        self.changes = changes
        self.token = token.map { $0.data.base64EncodedString() } ?? ""
    }
}

extension ZoneSummary.Change {
    fileprivate init(_ change: ZoneChanges.Change) {
        switch change {
        case .modified(let record):
            self.init(
                change: "modified", record: record.recordID.recordName, type: record.recordType,
                tag: record.recordChangeTag, about: record.allKeys.joined(separator: " "))
        case .deleted(let deletion):
            self.init(
                change: "deleted", record: deletion.recordID.recordName, type: deletion.recordType,
                tag: deletion.recordChangeTag, about: "\(deletion.reason)")
        case .failed(let recordID, let error):
            self.init(
                change: "unreadable", record: recordID.recordName, type: nil, tag: nil, about: error.message)
        }
    }
}

/// A name as a terminal may show it.
private func printable(_ text: String) -> String {
    PathText.printable(Array(text.utf8))
}
