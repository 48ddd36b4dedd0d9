import CSQLite
import Foundation

/// The least of a connection to speak to SQLite without anything of ours above it.
final class FaultConnection {
    struct Failure: Error, Equatable {
        /// The extended result code.
        let code: Int32
    }

    private var connection: OpaquePointer?

    /// - Parameter fileSystem: SQLite's own when nil
    init(_ path: String, through fileSystem: FaultyFileSystem? = nil) throws(Failure) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &connection, flags, fileSystem?.name)
        guard code == SQLITE_OK else {
            let extended = sqlite3_extended_errcode(connection)
            sqlite3_close(connection)
            throw Failure(code: extended)
        }
        sqlite3_extended_result_codes(connection, 1)
    }

    deinit {
        sqlite3_close(connection)
    }

    func run(_ sql: String) throws(Failure) {
        _ = try rows(sql)
    }

    /// The first column of each row, as text.
    @discardableResult
    func rows(_ sql: String) throws(Failure) -> [String] {
        var statement: OpaquePointer?
        let prepared = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        guard prepared == SQLITE_OK else { throw Failure(code: prepared) }
        defer { sqlite3_finalize(statement) }
        var rows: [String] = []
        while true {
            let code = sqlite3_step(statement)
            guard code != SQLITE_DONE else { return rows }
            guard code == SQLITE_ROW else { throw Failure(code: code) }
            rows.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
        }
    }

    func rollBackIfNeeded() {
        guard sqlite3_get_autocommit(connection) == 0 else { return }
        sqlite3_exec(connection, "ROLLBACK", nil, nil, nil)
    }
}

/// A short life of a database: made, written in transactions of three rows each with checkpoints on the way, closed.
struct FaultScript {
    enum Synchronous: String {
        case off = "OFF"
        case normal = "NORMAL"
        case full = "FULL"
    }

    /// What the caller was told.
    struct Account {
        /// Transactions whose commit succeeded.
        var acknowledged: [Int] = []
        /// Codes of what failed.
        var errors: [Int32] = []
    }

    static let transactions = 1...7
    static let partsOfOne = 3

    var synchronous = Synchronous.full

    func run(at path: String, through fileSystem: FaultyFileSystem? = nil) -> Account {
        var account = Account()
        do throws(FaultConnection.Failure) {
            let connection = try FaultConnection(path, through: fileSystem)
            guard try connection.rows("PRAGMA journal_mode = WAL") == ["wal"] else { return account }
            try connection.run("PRAGMA synchronous = \(synchronous.rawValue)")
            // Small, so that checkpoints happen on the way and the log begins again at its start.
            try connection.run("PRAGMA wal_autocheckpoint = 8")
            try connection.run(
                "CREATE TABLE part (number INTEGER, part INTEGER, filling, PRIMARY KEY (number, part)) WITHOUT ROWID")
            for number in Self.transactions { write(number, with: connection, into: &account) }
        } catch {
            account.errors.append(error.code)
        }
        return account
    }

    private func write(_ number: Int, with connection: FaultConnection, into account: inout Account) {
        do throws(FaultConnection.Failure) {
            if number == 5 { try connection.run("PRAGMA wal_checkpoint(TRUNCATE)") }
            try connection.run("BEGIN IMMEDIATE")
            for part in 1...Self.partsOfOne {
                try connection.run("INSERT INTO part VALUES (\(number), \(part), zeroblob(1500))")
            }
            try connection.run("COMMIT")
            account.acknowledged.append(number)
        } catch {
            account.errors.append(error.code)
            connection.rollBackIfNeeded()
        }
    }

    /// Which transactions a database holds, once it is opened again by SQLite's own file system.
    struct Finding: Equatable {
        var integrity: String
        var whole: [Int]
        var partial: [Int]

        init(at path: String) throws(FaultConnection.Failure) {
            let connection = try FaultConnection(path)
            // Looking, and recovering for it, need not survive anything; a sync each time is most of what a look costs.
            try connection.run("PRAGMA synchronous = OFF")
            integrity = try connection.rows("PRAGMA integrity_check").joined(separator: ", ")
            guard try connection.rows("SELECT 1 FROM sqlite_schema WHERE name = 'part'") == ["1"] else {
                (whole, partial) = ([], [])
                return
            }
            let numbers = "SELECT number FROM part GROUP BY number HAVING count(*)"
            whole = try connection.rows("\(numbers) = \(partsOfOne)").compactMap { Int($0) }
            partial = try connection.rows("\(numbers) <> \(partsOfOne)").compactMap { Int($0) }
        }
    }
}
