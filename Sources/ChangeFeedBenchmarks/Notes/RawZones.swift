import CSQLite

/// Raw SQLite with several zones: a ``RawStore``, and a table with the position at which each zone was last written to.
final class RawZones {
    let store: RawStore
    private let touch: OpaquePointer
    private let scan: OpaquePointer

    init(_ store: RawStore) throws {
        self.store = store
        try store.connection.execute(
            """
            CREATE TABLE zone (id INTEGER PRIMARY KEY, position INTEGER NOT NULL);
            CREATE UNIQUE INDEX zone_position ON zone (position);
            """)
        touch = try store.connection.prepare("INSERT OR REPLACE INTO zone VALUES (?1, ?2)")
        scan = try store.connection.prepare(
            "SELECT id, position FROM zone WHERE position > ?1 ORDER BY position LIMIT \(FeedZone.pageSize + 1)")
    }

    /// Writes the notes to a zone, each with a number added to what it counts.
    func write(_ notes: [Note], adding difference: Int64 = 0, to zone: Int64) throws {
        try store.save(notes, adding: difference, zone: zone)
        sqlite3_bind_int64(touch, 1, zone)
        sqlite3_bind_int64(touch, 2, store.head)
        try store.connection.run(touch)
    }

    /// A page of the zones that were written to after a position, and where to go on.
    func changes(after position: Int64) -> (zones: [Int64], position: Int64) {
        var zones: [Int64] = []
        var last = position
        sqlite3_bind_int64(scan, 1, position)
        defer { sqlite3_reset(scan) }
        while zones.count < FeedZone.pageSize, sqlite3_step(scan) == SQLITE_ROW {
            zones.append(sqlite3_column_int64(scan, 0))
            last = sqlite3_column_int64(scan, 1)
        }
        return (zones, last)
    }
}
