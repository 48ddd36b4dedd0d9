import CSQLite

/// A connection to a file through SQLite's own functions, in WAL mode, for one thread at a time.
final class RawConnection {
    let handle: OpaquePointer
    private var statements: [OpaquePointer] = []

    init(path: String) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
            let failure = RawFailure(handle: opened)
            sqlite3_close(opened)
            throw failure
        }
        handle = opened
        try execute("PRAGMA journal_mode = WAL")
    }

    deinit {
        for statement in statements { sqlite3_finalize(statement) }
        sqlite3_close(handle)
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw RawFailure(handle: handle) }
    }

    /// A statement that lives as long as the connection.
    func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
            let statement
        else { throw RawFailure(handle: handle) }
        statements.append(statement)
        return statement
    }

    /// Runs a statement that gives no rows.
    func run(_ statement: OpaquePointer) throws {
        let code = sqlite3_step(statement)
        sqlite3_reset(statement)
        guard code == SQLITE_DONE else { throw RawFailure(handle: handle) }
    }
}

/// What SQLite says instead of working.
struct RawFailure: Error, CustomStringConvertible {
    let description: String

    init(handle: OpaquePointer?) {
        description = "raw SQLite: " + (handle.map { String(cString: sqlite3_errmsg($0)) } ?? "not opened")
    }
}
