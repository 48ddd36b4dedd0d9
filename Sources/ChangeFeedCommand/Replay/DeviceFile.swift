import ChangeFeed
import ChangeFeedSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file in which devices keep what they have fetched: a SQLite database beside the store that they follow.
///
/// It belongs to whoever has the store open for writing, so that nothing else writes to it.
actor DeviceFile {
    private let path: String
    private let connection: SQLiteConnection
    private let stateOf: SQLiteStatement
    private let putState: SQLiteStatement
    private let putFile: SQLiteStatement
    private let removeFile: SQLiteStatement

    /// "CFRD" in ASCII.
    private static let applicationID = 0x4346_5244
    private static let version = 2

    /// Opens the file at `path`, or makes it for devices that follow the store `storeID`.
    ///
    /// - Throws: a `ReplayFailure` where it is another kind of file, or the devices in it follow another store.
    init(at path: String, following storeID: StoreID) throws {
        let connection = try SQLiteConnection(path: path, access: .create)
        try connection.execute("PRAGMA busy_timeout = 5000")
        try Self.makeTables(in: connection, at: path, following: storeID)
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        self.path = path
        self.connection = connection
        stateOf = try connection.prepare("SELECT state FROM device WHERE name = ?1")
        putState = try connection.prepare("INSERT OR REPLACE INTO device (name, state) VALUES (?1, ?2)")
        putFile = try connection.prepare(
            "INSERT OR REPLACE INTO file (device, record, path, mode, blob, size) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        removeFile = try connection.prepare("DELETE FROM file WHERE device = ?1 AND record = ?2")
    }

    fileprivate func state(of device: String) throws(ReplayFailure) -> Data? {
        try reading { () throws(ChangeFeedError) in
            stateOf.bind(device, at: 1)
            defer { stateOf.reset() }
            return try stateOf.step() ? stateOf.optionalBlob(0).map { Data($0) } : nil
        }
    }

    fileprivate func keep(
        _ state: Data?, after changes: [DeviceChange], of device: String
    ) throws(ReplayFailure) {
        try reading { () throws(ChangeFeedError) in
            try connection.execute("BEGIN IMMEDIATE")
            do throws(ChangeFeedError) {
                for change in changes { try write(change, of: device) }
                putState.bind(device, at: 1)
                putState.bind(state.map { [UInt8]($0) }, at: 2)
                try putState.run()
                try connection.execute("COMMIT")
            } catch {
                try? connection.execute("ROLLBACK")
                throw error
            }
        }
    }

    fileprivate func files(of device: String) throws(ReplayFailure) -> [[UInt8]: GitFile] {
        try reading { () throws(ChangeFeedError) in
            let rows = try connection.prepare("SELECT path, mode, blob, size FROM file WHERE device = ?1")
            rows.bind(device, at: 1)
            var files: [[UInt8]: GitFile] = [:]
            while try rows.step() {
                files[rows.blob(0)] = GitFile(mode: rows.text(1), blobID: rows.text(2), size: rows.int(3))
            }
            return files
        }
    }

    private func write(_ change: DeviceChange, of device: String) throws(ChangeFeedError) {
        switch change {
        case .put(let record, let path, let file):
            putFile.bind(device, at: 1)
            putFile.bind(record, at: 2)
            putFile.bind(path, at: 3)
            putFile.bind(file.mode, at: 4)
            putFile.bind(file.blobID, at: 5)
            putFile.bind(file.size, at: 6)
            try putFile.run()
        case .remove(let record):
            removeFile.bind(device, at: 1)
            removeFile.bind(record, at: 2)
            try removeFile.run()
        }
    }

    /// Says of an error that it is this file's.
    private func reading<Result>(
        _ body: () throws(ChangeFeedError) -> Result
    ) throws(ReplayFailure) -> Result {
        do {
            return try body()
        } catch {
            throw ReplayFailure("what the devices hold, in \(shown(path)), could not be kept or read: \(error.message)")
        }
    }

    private static func makeTables(
        in connection: SQLiteConnection, at path: String, following storeID: StoreID
    ) throws {
        let isEmpty = try connection.number("SELECT count(*) FROM sqlite_schema") == 0
        let application = try connection.number("PRAGMA application_id") ?? 0
        let version = try connection.number("PRAGMA user_version") ?? 0
        if isEmpty, application == 0, version == 0 {
            try connection.execute(
                """
                BEGIN IMMEDIATE;
                CREATE TABLE store (id_high INTEGER NOT NULL, id_low INTEGER NOT NULL);
                INSERT INTO store VALUES (\(Int64(bitPattern: storeID.high)), \(Int64(bitPattern: storeID.low)));
                CREATE TABLE device (
                    name TEXT PRIMARY KEY,
                    state BLOB
                );
                CREATE TABLE file (
                    device TEXT NOT NULL,
                    record TEXT NOT NULL,
                    path BLOB NOT NULL,
                    mode TEXT NOT NULL,
                    blob TEXT NOT NULL,
                    size INTEGER NOT NULL,
                    PRIMARY KEY (device, record)
                ) WITHOUT ROWID;
                PRAGMA application_id = \(Self.applicationID);
                PRAGMA user_version = \(Self.version);
                COMMIT;
                """)
        } else if application != Self.applicationID || version != Self.version {
            throw ReplayFailure(
                "the file \(shown(path)) is not one in which this replay keeps what devices hold: remove it, or give "
                    + "--store another file")
        }
        let high = try connection.number("SELECT id_high FROM store").map { UInt64(bitPattern: $0) }
        let low = try connection.number("SELECT id_low FROM store").map { UInt64(bitPattern: $0) }
        guard high == storeID.high, low == storeID.low else {
            throw ReplayFailure("the devices in \(shown(path)) follow another store than this: remove that file")
        }
    }
}

/// What one device keeps in a `DeviceFile`.
struct DurableDeviceStorage: DeviceStorage {
    let file: DeviceFile
    /// The device's name.
    let device: String

    func state() async throws(ReplayFailure) -> Data? {
        try await file.state(of: device)
    }

    func keep(_ state: Data?, after changes: [DeviceChange]) async throws(ReplayFailure) {
        try await file.keep(state, after: changes, of: device)
    }

    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile] {
        try await file.files(of: device)
    }
}
