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
    private let progressOf: SQLiteStatement
    private let putProgress: SQLiteStatement
    private let putFile: SQLiteStatement
    private let removeFile: SQLiteStatement

    /// "CFRD" in ASCII.
    private static let applicationID = 0x4346_5244
    private static let version = 1

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
        progressOf = try connection.prepare("SELECT database_token, zone_token, is_behind FROM device WHERE name = ?1")
        putProgress = try connection.prepare(
            "INSERT OR REPLACE INTO device (name, database_token, zone_token, is_behind) VALUES (?1, ?2, ?3, ?4)")
        putFile = try connection.prepare(
            "INSERT OR REPLACE INTO file (device, record, path, mode, blob, size) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        removeFile = try connection.prepare("DELETE FROM file WHERE device = ?1 AND record = ?2")
    }

    fileprivate func progress(of device: String) throws(ReplayFailure) -> DeviceProgress {
        try reading { () throws(ChangeFeedError) in
            progressOf.bind(device, at: 1)
            defer { progressOf.reset() }
            guard try progressOf.step() else { return DeviceProgress() }
            return DeviceProgress(
                databaseToken: try progressOf.optionalBlob(0).map { bytes throws(ChangeFeedError) in
                    try DatabaseChangeToken(data: Data(bytes))
                },
                zoneToken: try progressOf.optionalBlob(1).map { bytes throws(ChangeFeedError) in
                    try ZoneChangeToken(data: Data(bytes))
                },
                isBehind: progressOf.int64(2) != 0
            )
        }
    }

    fileprivate func keep(
        _ progress: DeviceProgress, after changes: [DeviceChange], of device: String
    ) throws(ReplayFailure) {
        try reading { () throws(ChangeFeedError) in
            try connection.execute("BEGIN IMMEDIATE")
            do throws(ChangeFeedError) {
                for change in changes { try write(change, of: device) }
                putProgress.bind(device, at: 1)
                putProgress.bind(progress.databaseToken.map { [UInt8]($0.data) }, at: 2)
                putProgress.bind(progress.zoneToken.map { [UInt8]($0.data) }, at: 3)
                putProgress.bind(progress.isBehind ? 1 : 0, at: 4)
                try putProgress.run()
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
                    database_token BLOB,
                    zone_token BLOB,
                    is_behind INTEGER NOT NULL
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

    func progress() async throws(ReplayFailure) -> DeviceProgress {
        try await file.progress(of: device)
    }

    func keep(_ progress: DeviceProgress, after changes: [DeviceChange]) async throws(ReplayFailure) {
        try await file.keep(progress, after: changes, of: device)
    }

    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile] {
        try await file.files(of: device)
    }
}
