import CSQLite
import ChangeFeed

/// One connection to a database file, used by one thread at a time.
package final class SQLiteConnection {
    /// What a connection may do with its file.
    package enum Access: Sendable {
        /// Reading and writing; the file is made if it is not there.
        case create
        /// Reading and writing a file that is there.
        case readWrite
        /// Reading alone.
        case readOnly
    }

    let handle: OpaquePointer
    private var isOpen = true
    /// The file's name, for errors.
    let path: String

    /// Opens a file. `fileSystem` names another VFS than the system's own.
    package init(path: String, access: Access, fileSystem: String? = nil) throws(ChangeFeedError) {
        let flags =
            switch access {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            }
        var opened: OpaquePointer?
        // Each connection is used by one thread at a time, so SQLite need not lock it.
        let code = sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, fileSystem)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteFailure(code: code, handle: opened, path: path).error(while: "be opened")
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        self.path = path
    }

    deinit {
        close()
    }

    /// Closes the file. What was prepared keeps it open until it is let go of.
    package func close() {
        if isOpen { sqlite3_close_v2(handle) }
        isOpen = false
    }

    /// Runs a statement to its end, whatever rows it gives.
    func runAll(_ sql: String) throws(ChangeFeedError) {
        try prepare(sql).finish()
    }

    /// Runs statements that give nothing back.
    package func execute(_ sql: String) throws(ChangeFeedError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }

    /// A statement that is kept and run many times.
    package func prepare(_ sql: String) throws(ChangeFeedError) -> SQLiteStatement {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw failure(code) }
        return SQLiteStatement(prepared, of: self)
    }

    /// The number that a query gives in the first column of its first row; nil if it gives none.
    package func number(_ sql: String) throws(ChangeFeedError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() && !statement.isNull(0) ? statement.int64(0) : nil
    }

    /// The text in the first column of each row of a query.
    package func texts(_ sql: String) throws(ChangeFeedError) -> [String] {
        let statement = try prepare(sql)
        var texts: [String] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    /// How many rows the latest statement changed.
    package var changedRows: Int { Int(sqlite3_changes(handle)) }

    /// The file's name as SQLite has it: absolute, with all links followed.
    var fileName: String {
        sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? path
    }

    /// Whether no transaction is open.
    var isInAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// The error for a result code of this connection.
    func failure(_ code: Int32) -> ChangeFeedError {
        SQLiteFailure(code: code, handle: handle, path: path).error(while: "be used")
    }
}
