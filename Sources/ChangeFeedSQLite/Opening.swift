import CSQLite
import ChangeFeed
import Dispatch

/// Where files are opened: opening blocks, and may take as long as a migration.
let openingQueue = DispatchQueue(label: "ChangeFeedSQLite.opening", attributes: .concurrent)

/// How the connections of a store are opened and set up.
struct Opening {
    let path: String
    let configuration: SQLiteStore.Configuration

    /// The size of the write-ahead log, in pages, at which what it holds is brought to its place in the file. A page that
    /// is written often meanwhile is copied once.
    private static let checkpointPages = 8000

    /// The connection that writes, over a file of the latest version, and the right to.
    func writer() throws(ChangeFeedError) -> (SQLiteWriter, WriterLock) {
        let connection = try SQLiteConnection(path: path, access: .create, fileSystem: configuration.fileSystem)
        try waitWhenBusy(connection)
        let lock = try WriterLock(besides: connection.fileName)
        if sqlite3_db_readonly(connection.handle, "main") == 1 { throw connection.failure(SQLITE_READONLY) }
        // Nothing of the file is changed before it is known to be a store.
        try Migrations.run(on: connection, describing: path)
        guard try connection.texts("PRAGMA journal_mode = WAL") == ["wal"] else {
            throw ChangeFeedError(
                .internalError,
                "The store \"\(path)\" is on a file system where readers and a writer cannot share a file. Put it on a "
                    + "local disk.")
        }
        try connection.execute(
            """
            PRAGMA synchronous = \(configuration.durability == .full ? "FULL" : "NORMAL");
            PRAGMA cache_size = -\(max(256, configuration.cacheSize / 1024));
            PRAGMA temp_store = MEMORY;
            PRAGMA secure_delete = OFF;
            PRAGMA wal_autocheckpoint = \(Opening.checkpointPages);
            PRAGMA journal_size_limit = \(Opening.checkpointPages * 4096 * 2);
            """)
        let identity = try StoreIdentity.load(
            from: connection, randomness: configuration.randomness, nameBits: configuration.nameBits)
        return (try SQLiteWriter(connection, identity: identity), lock)
    }

    /// The connections that read beside a writer.
    func readers(of identity: StoreIdentity) throws(ChangeFeedError) -> [SQLiteReader] {
        var readers: [SQLiteReader] = []
        for _ in 0..<max(1, configuration.readers) {
            readers.append(try SQLiteReader(try readingConnection(), identity: identity))
        }
        return readers
    }

    /// The connections that read a file which somebody else may write to.
    func readersAlone() throws(ChangeFeedError) -> [SQLiteReader] {
        let connection = try readingConnection()
        try Migrations.check(connection, describing: path)
        let identity = try StoreIdentity.load(
            from: connection, randomness: configuration.randomness, nameBits: configuration.nameBits)
        return try readers(of: identity)
    }

    private func readingConnection() throws(ChangeFeedError) -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path, access: .readOnly, fileSystem: configuration.fileSystem)
        try waitWhenBusy(connection)
        try connection.execute("PRAGMA cache_size = -\(max(256, configuration.cacheSize / 4096))")
        return connection
    }

    private func waitWhenBusy(_ connection: SQLiteConnection) throws(ChangeFeedError) {
        let milliseconds = max(0, Int(configuration.busyTimeout / .milliseconds(1)))
        try connection.execute("PRAGMA busy_timeout = \(milliseconds)")
    }
}
