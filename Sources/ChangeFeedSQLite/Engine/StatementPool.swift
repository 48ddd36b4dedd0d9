import ChangeFeed

/// The prepared statements of one text. There are several only where scans stand within scans.
final class StatementPool {
    private let connection: SQLiteConnection
    private let sql: String
    private var free: [SQLiteStatement] = []

    init(_ connection: SQLiteConnection, _ sql: String) {
        self.connection = connection
        self.sql = sql
    }

    /// Lends a statement to a body, and ends its run however the body ends.
    @inline(__always)
    func withStatement<Result>(
        _ body: (SQLiteStatement) throws(ChangeFeedError) -> Result
    ) throws(ChangeFeedError) -> Result {
        let statement = if let kept = free.popLast() { kept } else { try connection.prepare(sql) }
        defer {
            statement.reset()
            free.append(statement)
        }
        return try body(statement)
    }
}
