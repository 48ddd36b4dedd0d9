/// The tables of a store, as SQL.
///
/// A record's id is `zone << 40 | position`: the table of records is its zones' feeds one after the other, each in
/// order of position, and a page is read forward from a place in it. A record that changes moves to the end of its
/// zone; what stays is its entry, a small row that says where the record is now, and the name's place in the index of
/// names. See the article "The layout of the SQLite store" for what else was measured.
enum Layout {
    /// How many bits of a record's id are the position.
    static let positionBits: Int64 = 40
    /// The last position that fits: reached after 127 days of 100 000 writes a second.
    static let lastPosition: Int64 = 1 << positionBits - 1
    /// The last number of a zone's life that fits.
    static let lastZone: Int64 = 1 << (63 - positionBits) - 1

    /// The id of the record, or tombstone, at a position of a zone.
    @inline(__always)
    static func id(zone: Int64, position: Int64) -> Int64 { zone << positionBits | position }

    @inline(__always)
    static func zone(ofID id: Int64) -> Int64 { id >> positionBits }

    @inline(__always)
    static func position(ofID id: Int64) -> Int64 { id & lastPosition }

    static let version1 = """
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 0),
            store_id_high INTEGER NOT NULL,
            store_id_low INTEGER NOT NULL,
            name_key_high INTEGER NOT NULL,
            name_key_low INTEGER NOT NULL,
            head INTEGER NOT NULL,
            zones INTEGER NOT NULL,
            entries INTEGER NOT NULL,
            epochs INTEGER NOT NULL,
            restores INTEGER NOT NULL
        );
        CREATE TABLE epoch (
            number INTEGER PRIMARY KEY,
            nonce INTEGER NOT NULL,
            first_position INTEGER NOT NULL
        );

        CREATE TABLE "database" (
            id INTEGER PRIMARY KEY,
            scope INTEGER NOT NULL,
            user TEXT NOT NULL,
            zone_horizon INTEGER NOT NULL DEFAULT 0,
            past_deletion_horizon INTEGER NOT NULL DEFAULT 0,
            UNIQUE (scope, user)
        );
        CREATE TABLE zone (
            key INTEGER PRIMARY KEY,
            "database" INTEGER NOT NULL REFERENCES "database",
            name TEXT NOT NULL,
            owner TEXT NOT NULL,
            position INTEGER NOT NULL,
            incarnation INTEGER NOT NULL,
            created REAL NOT NULL,
            horizon INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            tombstones INTEGER NOT NULL DEFAULT 0,
            deleted REAL,
            reason INTEGER,
            past_position INTEGER,
            past_deleted REAL,
            past_reason INTEGER,
            marker BLOB,
            UNIQUE ("database", name, owner)
        );
        CREATE INDEX zone_position ON zone ("database", position);

        CREATE TABLE type (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE nonce (id INTEGER PRIMARY KEY, value INTEGER NOT NULL UNIQUE);
        CREATE TABLE shape (
            id INTEGER PRIMARY KEY,
            keys TEXT NOT NULL,
            may_link INTEGER NOT NULL,
            UNIQUE (keys, may_link)
        );

        CREATE TABLE record (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            type INTEGER NOT NULL REFERENCES type,
            nonce INTEGER NOT NULL REFERENCES nonce,
            creator INTEGER NOT NULL REFERENCES user,
            modifier INTEGER NOT NULL REFERENCES user,
            created REAL,
            modified REAL NOT NULL,
            shape INTEGER REFERENCES shape,
            fields BLOB NOT NULL,
            parent BLOB,
            sealed BLOB,
            checksum INTEGER NOT NULL
        );
        CREATE TABLE tombstone (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            type INTEGER NOT NULL REFERENCES type,
            tag TEXT,
            reason INTEGER NOT NULL,
            deleted REAL NOT NULL
        );
        CREATE TABLE entry (
            number INTEGER PRIMARY KEY,
            id INTEGER NOT NULL,
            live INTEGER NOT NULL
        );
        CREATE TABLE name (
            hash INTEGER NOT NULL,
            entry INTEGER NOT NULL REFERENCES entry,
            PRIMARY KEY (hash, entry)
        ) WITHOUT ROWID;
        CREATE TABLE link (
            zone INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            target TEXT NOT NULL,
            source TEXT NOT NULL,
            PRIMARY KEY (zone, kind, target, source)
        ) WITHOUT ROWID;
        CREATE TABLE meta (
            "table" INTEGER NOT NULL,
            key TEXT NOT NULL,
            value BLOB NOT NULL,
            PRIMARY KEY ("table", key)
        ) WITHOUT ROWID;

        CREATE VIEW zones AS
        SELECT d.scope, d.user, z.name AS zone, z.owner, z.position, z.incarnation, z.horizon,
            CASE WHEN z.reason IS NULL THEN 'live' ELSE 'deleted' END AS life,
            (SELECT count(*) FROM record r WHERE r.id BETWEEN z.key << 40 AND (z.key + 1 << 40) - 1) AS records,
            z.tombstones, z.bytes
        FROM zone z JOIN "database" d ON d.id = z."database";

        CREATE VIEW records AS
        SELECT z.name AS zone, r.name, t.name AS type, r.id & (1 << 40) - 1 AS position,
            datetime(coalesce(r.created, r.modified) + 978307200, 'unixepoch') AS created, c.name AS creator,
            datetime(r.modified + 978307200, 'unixepoch') AS modified, m.name AS modifier, s.keys,
            length(r.fields) AS bytes
        FROM record r JOIN zone z ON z.key = r.id >> 40 JOIN type t ON t.id = r.type
            JOIN user c ON c.id = r.creator JOIN user m ON m.id = r.modifier LEFT JOIN shape s ON s.id = r.shape;

        CREATE VIEW tombstones AS
        SELECT z.name AS zone, r.name, t.name AS type, r.id & (1 << 40) - 1 AS position, r.tag,
            datetime(r.deleted + 978307200, 'unixepoch') AS deleted
        FROM tombstone r JOIN zone z ON z.key = r.id >> 40 JOIN type t ON t.id = r.type;

        CREATE VIEW links AS
        SELECT z.name AS zone, CASE l.kind WHEN 1 THEN 'parent' ELSE 'deleteSelf' END AS kind, l.source, l.target
        FROM link l JOIN zone z ON z.key = l.zone;
        """
}
