import CSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a careful programmer writes over SQLite's own API who needs a feed and has no library: one table by name with a
/// unique index by position, statements prepared once, nothing copied that need not be.
///
/// The same durability as the store beside it, SQLite's default cache. No validation, no conflicts, no deletions, no
/// tokens, no threads: it is the bar, not a competitor.
final class RawStore {
    private let handle: OpaquePointer
    private let begin: OpaquePointer
    private let commit: OpaquePointer
    private let select: OpaquePointer
    private let insert: OpaquePointer
    private let update: OpaquePointer
    private let scan: OpaquePointer
    private(set) var head: Int64 = 0

    init(path: String, durability: String = "FULL") throws {
        var opened: OpaquePointer?
        guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else { throw RawFailure(handle: opened) }
        handle = opened
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = \(durability)",
            """
            CREATE TABLE record (
                zone INTEGER NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, tag TEXT NOT NULL,
                payload BLOB NOT NULL, PRIMARY KEY (zone, name))
            """,
            "CREATE UNIQUE INDEX record_position ON record (zone, position)",
        ] {
            guard sqlite3_exec(opened, sql, nil, nil, nil) == SQLITE_OK else { throw RawFailure(handle: opened) }
        }
        func prepare(_ sql: String) throws -> OpaquePointer {
            var statement: OpaquePointer?
            guard sqlite3_prepare_v2(opened, sql, -1, &statement, nil) == SQLITE_OK, let statement
            else { throw RawFailure(handle: opened) }
            return statement
        }
        begin = try prepare("BEGIN IMMEDIATE")
        commit = try prepare("COMMIT")
        select = try prepare("SELECT rowid, tag FROM record WHERE zone = ?1 AND name = ?2")
        insert = try prepare("INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5)")
        update = try prepare("UPDATE record SET position = ?1, tag = ?2, payload = ?3 WHERE rowid = ?4")
        scan = try prepare(
            "SELECT name, position, tag, payload FROM record WHERE zone = ?1 AND position > ?2 ORDER BY position LIMIT 201"
        )
    }

    deinit {
        for statement in [begin, commit, select, insert, update, scan] { sqlite3_finalize(statement) }
        sqlite3_close(handle)
    }

    /// Writes notes in one transaction; gives the sum of what was counted.
    @discardableResult
    func save(_ notes: some Collection<Note>, adding difference: Int64 = 0, zone: Int64 = 1) throws -> Int64 {
        var sum: Int64 = 0
        try run(begin)
        for note in notes {
            head += 1
            sum &+= note.viewCount + difference
            try save(note, viewCount: note.viewCount + difference, zone: zone)
        }
        try run(commit)
        return sum
    }

    private func save(_ note: Note, viewCount: Int64, zone: Int64) throws {
        let payload = RawPayload.encoded(note, viewCount: viewCount)
        var name = note.name
        var tag = String(head, radix: 36) + "-1y2p0ij32e8e7"
        let code = name.withUTF8 { name in
            tag.withUTF8 { tag in
                payload.withUnsafeBytes { payload in
                    sqlite3_bind_int64(select, 1, zone)
                    bind(name, to: select, at: 2)
                    let found = sqlite3_step(select) == SQLITE_ROW
                    let row = sqlite3_column_int64(select, 0)
                    let hasTag = !found || sqlite3_column_bytes(select, 1) > 0
                    sqlite3_reset(select)
                    guard hasTag else { return SQLITE_CORRUPT }
                    if found {
                        sqlite3_bind_int64(update, 1, head)
                        bind(tag, to: update, at: 2)
                        sqlite3_bind_blob(update, 3, payload.baseAddress, Int32(payload.count), nil)
                        sqlite3_bind_int64(update, 4, row)
                        return step(update)
                    }
                    sqlite3_bind_int64(insert, 1, zone)
                    bind(name, to: insert, at: 2)
                    sqlite3_bind_int64(insert, 3, head)
                    bind(tag, to: insert, at: 4)
                    sqlite3_bind_blob(insert, 5, payload.baseAddress, Int32(payload.count), nil)
                    return step(insert)
                }
            }
        }
        guard code == SQLITE_DONE else { throw RawFailure(handle: handle) }
    }

    /// Reads a page, looking at one field of each record; gives the sum, where to go on, and whether there is more.
    func page(after position: Int64, zone: Int64 = 1) -> (sum: Int64, position: Int64, moreComing: Bool) {
        var sum: Int64 = 0
        var last = position
        var count = 0
        sqlite3_bind_int64(scan, 1, zone)
        sqlite3_bind_int64(scan, 2, position)
        defer { sqlite3_reset(scan) }
        while sqlite3_step(scan) == SQLITE_ROW {
            if count == FeedZone.pageSize { return (sum, last, true) }
            count += 1
            last = sqlite3_column_int64(scan, 1)
            let bytes = UnsafeRawBufferPointer(
                start: sqlite3_column_blob(scan, 3), count: Int(sqlite3_column_bytes(scan, 3)))
            sum &+= RawPayload.viewCount(in: bytes)
        }
        return (sum, last, false)
    }

    /// Reads everything from the beginning.
    func firstRead() -> Int64 {
        var page = page(after: 0)
        var sum = page.sum
        while page.moreComing {
            page = self.page(after: page.position)
            sum &+= page.sum
        }
        return sum
    }

    /// How many bytes the file has, once the log has been brought into it.
    func bytesInFile() throws -> Int {
        guard sqlite3_exec(handle, "PRAGMA wal_checkpoint(TRUNCATE)", nil, nil, nil) == SQLITE_OK
        else { throw RawFailure(handle: handle) }
        let path = sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? ""
        return (try FileManager.default.attributesOfItem(atPath: path)[.size] as? any BinaryInteger).map { Int($0) }
            ?? 0
    }

    private func run(_ statement: OpaquePointer) throws {
        guard step(statement) == SQLITE_DONE else { throw RawFailure(handle: handle) }
    }

    private func step(_ statement: OpaquePointer) -> Int32 {
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        return code
    }

    private func bind(_ text: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer, at index: Int32) {
        let start = text.baseAddress.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
        sqlite3_bind_text(statement, index, start, Int32(text.count), nil)
    }
}

/// What SQLite says instead of working.
struct RawFailure: Error, CustomStringConvertible {
    let description: String

    init(handle: OpaquePointer?) {
        description = "raw SQLite: " + (handle.map { String(cString: sqlite3_errmsg($0)) } ?? "not opened")
    }
}

/// The codec's bytes of a note, written and looked into by hand.
enum RawPayload {
    private static let keys: [UInt8] = {
        var bytes: [UInt8] = [1, 8]
        for key in ["digest", "editedAt", "isPinned", "rating", "revision", "text", "title", "viewCount"] {
            bytes.append(UInt8(key.utf8.count))
            bytes += Array(key.utf8)
        }
        return bytes
    }()

    static func encoded(_ note: Note, viewCount: Int64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(320)
        bytes += keys
        bytes.append(4)
        bytes.append(UInt8(note.digest.count))
        bytes += note.digest
        append(5, note.editedAt.timeIntervalSinceReferenceDate.bitPattern, to: &bytes)
        append(note.isPinned ? 1 : 0, to: &bytes)
        append(3, note.rating.bitPattern, to: &bytes)
        append(note.revision, to: &bytes)
        append(note.text, to: &bytes)
        append(note.title, to: &bytes)
        append(viewCount, to: &bytes)
        return bytes
    }

    private static func append(_ tag: UInt8, _ word: UInt64, to bytes: inout [UInt8]) {
        bytes.append(tag)
        withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if 0...15 ~= number {
            bytes.append(16 + UInt8(number))
        } else {
            append(2, UInt64(bitPattern: number), to: &bytes)
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(1)
        var count = text.utf8.count
        while count >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: count) | 0x80)
            count >>= 7
        }
        bytes.append(UInt8(count))
        bytes += text.utf8
    }

    /// The value of the last key.
    static func viewCount(in bytes: UnsafeRawBufferPointer) -> Int64 {
        var offset = keys.count
        for _ in 0..<7 {
            let tag = bytes[offset]
            offset += 1
            switch tag {
            case 2, 3, 5: offset += 8
            case 1, 4:
                var length = 0
                var shift = 0
                while bytes[offset] >= 0x80 {
                    length |= Int(bytes[offset] & 0x7F) << shift
                    shift += 7
                    offset += 1
                }
                length |= Int(bytes[offset]) << shift
                offset += 1 + length
            default: break
            }
        }
        let tag = bytes[offset]
        if tag >= 16 { return Int64(tag - 16) }
        return Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: Int64.self))
    }
}
