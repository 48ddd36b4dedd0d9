import CSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a careful programmer writes who needs a feed and has SQLite's own functions: one table by name with a unique
/// index by position, statements prepared once, nothing copied that need not be.
///
/// The same durability as the store beside it, SQLite's default cache and checkpoints. No validation, no conflicts, no
/// deletions, no tokens, no threads: it is the bar, not a competitor.
final class RawStore {
    /// What is sure to be there after a crash, in SQLite's words.
    enum Synchronous: String {
        case full = "FULL"
        case normal = "NORMAL"
        case off = "OFF"
    }

    /// What every tag ends with.
    private static let tagEnd = Array("-1y2p0ij32e8e7".utf8)

    let connection: RawConnection
    private let begin: OpaquePointer
    private let commit: OpaquePointer
    private let lookup: OpaquePointer
    private let insert: OpaquePointer
    private let update: OpaquePointer
    private let scan: OpaquePointer
    private let path: String
    private let synchronous: Synchronous
    /// The position of the last write.
    private(set) var head: Int64 = 0
    // Room that is used again for every record.
    private var payload: [UInt8] = []
    private var tag: [UInt8] = []

    init(path: String, synchronous: Synchronous) throws {
        self.path = path
        self.synchronous = synchronous
        connection = try RawConnection(path: path)
        try connection.execute(
            """
            PRAGMA synchronous = \(synchronous.rawValue);
            CREATE TABLE record (
                zone INTEGER NOT NULL,
                name TEXT NOT NULL,
                position INTEGER NOT NULL,
                tag TEXT NOT NULL,
                payload BLOB NOT NULL,
                PRIMARY KEY (zone, name)
            );
            CREATE UNIQUE INDEX record_position ON record (zone, position);
            """)
        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        lookup = try connection.prepare("SELECT rowid, tag FROM record WHERE zone = ?1 AND name = ?2")
        insert = try connection.prepare("INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5)")
        update = try connection.prepare("UPDATE record SET position = ?1, tag = ?2, payload = ?3 WHERE rowid = ?4")
        scan = try connection.prepare(
            """
            SELECT name, position, tag, payload FROM record
            WHERE zone = ?1 AND position > ?2 ORDER BY position LIMIT \(FeedZone.pageSize + 1)
            """)
    }

    /// Writes the notes in one transaction, each with a number added to what it counts; gives the sum of what it wrote.
    @discardableResult
    func save(_ notes: some Collection<Note>, adding difference: Int64 = 0, zone: Int64 = 1) throws -> Int64 {
        var sum: Int64 = 0
        try connection.run(begin)
        for note in notes {
            head += 1
            RawPayload.encode(note, viewCount: note.viewCount + difference, into: &payload)
            makeTag()
            var name = note.name
            guard name.withUTF8({ put($0, in: zone) }) == SQLITE_DONE
            else { throw RawFailure(handle: connection.handle) }
            sum &+= note.viewCount + difference
        }
        try connection.run(commit)
        return sum
    }

    /// Updates the record if there is one of that name, and makes one if not. The bytes that are bound stay where they
    /// are until the statement has run, so SQLite need not copy them.
    private func put(_ name: UnsafeBufferPointer<UInt8>, in zone: Int64) -> Int32 {
        tag.withUnsafeBufferPointer { tag in
            payload.withUnsafeBytes { payload in
                sqlite3_bind_int64(lookup, 1, zone)
                bind(name, to: lookup, at: 2)
                let found = sqlite3_step(lookup)
                let row = sqlite3_column_int64(lookup, 0)
                let hasTag = found != SQLITE_ROW || sqlite3_column_bytes(lookup, 1) > 0
                sqlite3_reset(lookup)
                guard hasTag, found == SQLITE_ROW || found == SQLITE_DONE else { return found }
                let statement: OpaquePointer
                if found == SQLITE_ROW {
                    statement = update
                    sqlite3_bind_int64(update, 1, head)
                    bind(tag, to: update, at: 2)
                    sqlite3_bind_blob(update, 3, payload.baseAddress, Int32(payload.count), nil)
                    sqlite3_bind_int64(update, 4, row)
                } else {
                    statement = insert
                    sqlite3_bind_int64(insert, 1, zone)
                    bind(name, to: insert, at: 2)
                    sqlite3_bind_int64(insert, 3, head)
                    bind(tag, to: insert, at: 4)
                    sqlite3_bind_blob(insert, 5, payload.baseAddress, Int32(payload.count), nil)
                }
                let code = sqlite3_step(statement)
                sqlite3_reset(statement)
                return code
            }
        }
    }

    /// The position in base 36, and an end that is always the same: as long as the feed's own.
    private func makeTag() {
        tag.removeAll(keepingCapacity: true)
        var rest = head
        while rest > 0 {
            let digit = UInt8(truncatingIfNeeded: rest % 36)
            tag.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            rest /= 36
        }
        tag.reverse()
        tag += RawStore.tagEnd
    }

    private func bind(_ text: UnsafeBufferPointer<UInt8>, to statement: OpaquePointer, at index: Int32) {
        let start = UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self)
        sqlite3_bind_text(statement, index, start, Int32(text.count), nil)
    }
}

// MARK: - Reading

extension RawStore {
    struct Page {
        var sumOfViewCounts: Int64 = 0
        /// Where to go on.
        var position: Int64
        var moreComing = false
    }

    /// A page of what was written after a position, looking at one field of each record.
    func page(after position: Int64, zone: Int64 = 1) throws -> Page {
        var page = Page(position: position)
        var count = 0
        sqlite3_bind_int64(scan, 1, zone)
        sqlite3_bind_int64(scan, 2, position)
        defer { sqlite3_reset(scan) }
        while true {
            let code = sqlite3_step(scan)
            guard code == SQLITE_ROW else {
                guard code == SQLITE_DONE else { throw RawFailure(handle: connection.handle) }
                return page
            }
            if count == FeedZone.pageSize {
                page.moreComing = true
                return page
            }
            count += 1
            page.position = sqlite3_column_int64(scan, 1)
            let bytes = UnsafeRawBufferPointer(
                start: sqlite3_column_blob(scan, 3), count: Int(sqlite3_column_bytes(scan, 3)))
            page.sumOfViewCounts &+= RawPayload.viewCount(in: bytes)
        }
    }

    /// Reads everything from the beginning, looking at one field of each record; gives the sum of what it saw.
    func firstRead() throws -> Int64 {
        var page = try page(after: 0)
        var sum = page.sumOfViewCounts
        while page.moreComing {
            page = try self.page(after: page.position)
            sum &+= page.sumOfViewCounts
        }
        return sum
    }
}

// MARK: - The work of the workloads

extension RawStore {
    /// Writes the notes in batches; gives the sum of what it wrote.
    @discardableResult
    func write(_ notes: [Note], adding difference: Int64 = 0) throws -> Int64 {
        var sum: Int64 = 0
        for batch in notes.indices.batches(of: FeedZone.batchSize) {
            sum &+= try save(notes[batch], adding: difference)
        }
        return sum
    }

    /// Does what need not be measured without a journal and with a large cache: the same comes to be in the file.
    func withoutMeasuring(_ body: () throws -> Void) throws {
        try connection.execute(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")
        try body()
        try connection.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = \(synchronous.rawValue);
            PRAGMA cache_size = -2000;
            PRAGMA shrink_memory;
            """)
    }

    /// How many bytes the file has, once the log has been brought into it.
    func bytesInFile() throws -> Int {
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return try DurableStores.bytesInFile(path)
    }
}
