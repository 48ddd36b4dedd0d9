import CSQLite
import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SQLiteStore {
    /// Writes a copy of the store, as it is now, to a file that is not there yet. Others read and write meanwhile.
    ///
    /// The copy is a store of its own with the same identity: whoever goes on with it gives tokens and tags of a new
    /// epoch with its first write (rule 6.1.5). It appears when it is whole and on the disk.
    ///
    /// Throws `invalidArguments` if there is a file already, `serviceUnavailable` if the disk is full.
    public func backup(to url: URL) async throws(ChangeFeedError) {
        let target = url.path
        // SQLite would take the log of a file that was there before for the copy's own.
        for suffix in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: target + suffix) {
            throw Backup.exists(target + suffix)
        }
        let fileSystem = configuration.fileSystem
        try await onReader { (reader) throws(ChangeFeedError) in
            try Backup.copy(from: reader.connection, to: target, fileSystem: fileSystem)
        }
    }
}

/// Copies of whole files by SQLite's own means.
enum Backup {
    /// Copies what a connection's open transaction sees to a new file.
    static func copy(
        from source: SQLiteConnection, to path: String, fileSystem: String?
    ) throws(ChangeFeedError) {
        // Others may make a backup of the same name.
        let partial = "\(path)-\(UUID().uuidString)-partial"
        defer { removeFiles(of: partial) }
        let target = try SQLiteConnection(path: partial, access: .create, fileSystem: fileSystem)
        try target.execute("PRAGMA synchronous = FULL")
        try copy(from: source, to: target)
        // A copy in the mode of a store would leave a log beside it.
        try target.execute("PRAGMA journal_mode = DELETE")
        target.close()
        do throws(SystemError) {
            // A move would take the place of what somebody else has put there meanwhile.
            try FileSystem.link(partial, as: path)
            do throws(SystemError) {
                try FileSystem.synchronize(directory: URL(fileURLWithPath: path).deletingLastPathComponent().path)
            } catch {
                removeFiles(of: path)
                throw error
            }
        } catch {
            if error.isExistingFile { throw exists(path) }
            throw ChangeFeedError(.internalError, "The backup could not be put at \"\(path)\": \(error.text).")
        }
    }

    fileprivate static func exists(_ path: String) -> ChangeFeedError {
        ChangeFeedError(
            .invalidArguments, "There is a file \"\(path)\" already: name another for the backup, or remove it.")
    }

    /// Puts all pages of one database in the place of another's.
    static func copy(from source: SQLiteConnection, to target: SQLiteConnection) throws(ChangeFeedError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.failure(sqlite3_extended_errcode(target.handle))
        }
        let code = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw target.failure(code == SQLITE_DONE ? end : code)
        }
    }

    /// Removes a database and what SQLite puts beside it.
    static func removeFiles(of path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
}
