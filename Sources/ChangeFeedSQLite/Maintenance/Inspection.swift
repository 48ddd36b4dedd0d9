import CSQLite
import ChangeFeed

extension SQLiteStore {
    /// How much room a table takes in the file, its indexes included.
    public struct TableSize: Sendable, Hashable {
        /// The table's name.
        public let name: String
        /// How many rows it has.
        public let rows: Int
        /// How many bytes of pages it has; nil where the system's SQLite cannot tell.
        public let bytes: Int?
    }

    /// What is wrong with the file, in SQLite's words and the layout's; empty if nothing is. Reads all of it.
    public func integrityCheck() async throws(ChangeFeedError) -> [String] {
        try await onReader { (reader) throws(ChangeFeedError) in
            var findings = try reader.connection.texts("PRAGMA integrity_check").filter { $0 != "ok" }
            guard findings.isEmpty else { return findings }
            for (finding, query) in Inspection.promises {
                let count = try reader.connection.number("SELECT count(*) FROM (\(query))") ?? 0
                if count > 0 { findings.append("\(count) × \(finding)") }
            }
            return findings + (try reader.unreadableRecords())
        }
    }

    /// How much room each table takes, in the order of their names.
    public func tableSizes() async throws(ChangeFeedError) -> [TableSize] {
        try await onReader { (reader) throws(ChangeFeedError) in
            let connection = reader.connection
            var sizes: [TableSize] = []
            for name in try connection.texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
                let rows = try connection.number("SELECT count(*) FROM \"\(name)\"") ?? 0
                // Not every SQLite is built with the table that knows.
                let bytes = try? connection.number(
                    """
                    SELECT sum(pgsize) FROM dbstat
                    WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = '\(name)')
                    """)
                sizes.append(TableSize(name: name, rows: Int(rows), bytes: bytes.flatMap { $0 }.map(Int.init)))
            }
            return sizes
        }
    }

    /// Gives pages that hold nothing any more back to the file system, at most `pages` of them: after compaction, in
    /// steps. Gives how many pages without content are left.
    @discardableResult
    public func vacuum(pages: Int = 1_000) async throws(ChangeFeedError) -> Int {
        guard pages > 0 else {
            throw ChangeFeedError(
                .invalidArguments, "A vacuum of \(pages) pages does nothing: give a positive number of them.")
        }
        return try await writersOrRefusal().outsideTransactions { (writer) throws(ChangeFeedError) in
            try writer.connection.runAll("PRAGMA incremental_vacuum(\(pages))")
            // The file shrinks when the log is brought into it, as far as readers let it.
            try writer.connection.runAll("PRAGMA wal_checkpoint(TRUNCATE)")
            return Int(try writer.connection.number("PRAGMA freelist_count") ?? 0)
        }
    }

    /// Runs a body on a reading connection.
    func onReader<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        let result: Swift.Result<Result, ChangeFeedError> = await withUnsafeContinuation { continuation in
            readers.submit(BodyCall<SQLiteReader, Result>(continuation, body))
        }
        return try result.get()
    }
}

/// What holds in every file of this layout beside what SQLite checks.
private enum Inspection {
    /// What a row that breaks it is, and the query that finds such rows.
    static let promises = [
        (
            "a record without an entry",
            "SELECT id FROM record EXCEPT SELECT id FROM entry WHERE live = 1"
        ),
        (
            "a tombstone without an entry",
            "SELECT id FROM tombstone EXCEPT SELECT id FROM entry WHERE live = 0"
        ),
        (
            "an entry without its record or tombstone",
            """
            SELECT id FROM entry EXCEPT SELECT id FROM (SELECT id FROM record UNION ALL SELECT id FROM tombstone)
            """
        ),
        ("an entry without a name", "SELECT number FROM entry EXCEPT SELECT entry FROM name"),
        ("a name without an entry", "SELECT entry FROM name EXCEPT SELECT number FROM entry"),
        (
            "a row past the head",
            """
            SELECT id FROM (SELECT id FROM record UNION ALL SELECT id FROM tombstone)
            WHERE id & (1 << 40) - 1 > (SELECT head FROM state)
            """
        ),
        (
            "a zone that counts its tombstones wrongly",
            """
            SELECT key FROM zone z WHERE tombstones <>
                (SELECT count(*) FROM tombstone t WHERE t.id BETWEEN z.key << 40 AND (z.key + 1 << 40) - 1)
            """
        ),
    ]
}

extension SQLiteReader {
    /// The rows that cannot be read, or do not fit their checksums, in words.
    fileprivate func unreadableRecords() throws(ChangeFeedError) -> [String] {
        var findings: [String] = []
        /// Goes on after what is damaged: that is what the check is for.
        func look(at what: String, _ body: () throws(ChangeFeedError) -> Void) throws(ChangeFeedError) {
            do throws(ChangeFeedError) {
                try body()
            } catch {
                guard error.detail == .damaged else { throw error }
                findings.append("\(what): \(error.message)")
            }
        }
        for databaseID in try databaseIDs {
            try look(at: "a zone of \"\(databaseID.userID)\"") { () throws(ChangeFeedError) in
                try scanZones(of: databaseID, after: .beginning) { (zone) throws(ChangeFeedError) in
                    try look(at: zone.zoneID.description) { () throws(ChangeFeedError) in
                        try scanRecords(of: zone.key, after: .beginning, tombstonesAfter: .beginning) { entry in
                            if case .unreadable(let recordID, _, let error) = entry {
                                findings.append("\(recordID): \(error.message)")
                            }
                            return .next
                        }
                    }
                    return .next
                }
            }
        }
        return findings
    }
}
