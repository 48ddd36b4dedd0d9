import CSQLite
import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What SQLite answered instead of doing what it was asked for.
struct SQLiteFailure {
    let code: Int32
    let path: String
    /// SQLite's own words.
    let text: String
    /// What the operating system said, where it was asked last; 0 if it was not.
    private let systemError: Int32

    init(code: Int32, handle: OpaquePointer?, path: String) {
        self.code = code
        self.path = path
        text = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        systemError = handle.map(sqlite3_system_errno) ?? 0
    }

    /// The failure as an error that says what to do. `purpose` completes "The store … could not".
    func error(while purpose: String) -> ChangeFeedError {
        let what = "The store \"\(path)\" could not \(purpose)"
        switch code & 0xFF {
        case SQLITE_FULL:
            return ChangeFeedError(
                .serviceUnavailable, "\(what): the disk is full. Make room, then try again.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            return ChangeFeedError(
                .serviceUnavailable, "\(what): another process keeps it locked. Try again.", retryAfter: .seconds(1))
        case SQLITE_NOMEM:
            return ChangeFeedError(.serviceUnavailable, "\(what): there is no memory left. Try again later.")
        case SQLITE_TOOBIG:
            return ChangeFeedError(.limitExceeded, "\(what): a value has more bytes than SQLite can keep in a row.")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            return ChangeFeedError(
                .internalError,
                "\(what): the file is damaged (\(text)). Put back a backup; nothing was changed.", detail: .damaged)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            return ChangeFeedError(
                .permissionFailure,
                "\(what): it may only be read (\(text)). Change the permissions of the file, or open it for reading. Its "
                    + "directory has to be one that may be written to in either case.")
        case SQLITE_CANTOPEN where isForbiddenByDirectory:
            return ChangeFeedError(
                .permissionFailure,
                "\(what): there is no such file, and its directory may not be written to. Change its permissions.")
        case SQLITE_CANTOPEN:
            return ChangeFeedError(
                .internalError,
                "\(what): \(text)\(systemText). Check that its directory is there and may be written to.")
        default:
            return ChangeFeedError(.internalError, "\(what): \(text)\(systemText) (SQLite's code \(code)).")
        }
    }

    /// SQLite does not tell why it could not make a file.
    private var isForbiddenByDirectory: Bool {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let files = FileManager.default
        return !files.fileExists(atPath: path) && files.fileExists(atPath: directory)
            && !files.isWritableFile(atPath: directory)
    }

    /// What the system said, where it was the system that SQLite asked for something.
    private var systemText: String {
        let isOfSystem = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF)
        return isOfSystem && systemError != 0 ? ": \(SystemError(systemError).text)" : ""
    }
}
