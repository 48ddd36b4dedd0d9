import CSQLite
import ChangeFeed

/// A prepared statement. Columns count from 0, parameters from 1, as SQLite counts them.
package final class SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: SQLiteConnection
    /// Why a parameter could not be bound since the last run.
    private var parameterFailure = SQLITE_OK

    init(_ handle: OpaquePointer, of connection: SQLiteConnection) {
        self.handle = handle
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Goes on to the next row; false if there is none, and then the statement is ready to be run again.
    @inline(__always)
    package func step() throws(ChangeFeedError) -> Bool {
        let code = stepCode()
        if code == SQLITE_ROW { return true }
        try finish(code)
        return false
    }

    /// Runs a statement that gives no row.
    @inline(__always)
    package func run() throws(ChangeFeedError) {
        try finish(stepCode())
    }

    /// Runs to the end a statement that changes something and gives rows.
    func finish() throws(ChangeFeedError) {
        while try step() {}
    }

    /// One step, told as SQLite tells it, where nothing can be thrown. ``finish(_:)`` takes the answer.
    @inline(__always)
    func stepCode() -> Int32 {
        parameterFailure == SQLITE_OK ? sqlite3_step(handle) : parameterFailure
    }

    /// Ends a run that was to give no row.
    @inline(__always)
    func finish(_ code: Int32) throws(ChangeFeedError) {
        if code != SQLITE_DONE && code != SQLITE_ROW { throw failed(code) }
        sqlite3_reset(handle)
    }

    private func failed(_ code: Int32) -> ChangeFeedError {
        let error = connection.failure(code)
        sqlite3_reset(handle)
        // What was lent may be gone by the next run.
        sqlite3_clear_bindings(handle)
        parameterFailure = SQLITE_OK
        return error
    }

    /// Ends the run, wherever it is.
    @inline(__always)
    package func reset() {
        sqlite3_reset(handle)
    }
}

// MARK: - Parameters

extension SQLiteStatement {
    /// SQLite takes its own copy. It writes this constant as -1 cast to a function, which Swift has no other words for;
    /// it is compared and never called.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Keeps what went wrong for the next step, which throws it: run with the parameters of the run before, a statement
    /// would do something else than it was asked to.
    @inline(__always)
    private func note(_ code: Int32) {
        if code != SQLITE_OK { parameterFailure = code }
    }

    @inline(__always)
    package func bind(_ value: Int64, at index: Int32) {
        note(sqlite3_bind_int64(handle, index, value))
    }

    @inline(__always)
    package func bind(_ value: Int, at index: Int32) {
        bind(Int64(value), at: index)
    }

    @inline(__always)
    func bind(_ value: Double, at index: Int32) {
        note(sqlite3_bind_double(handle, index, value))
    }

    @inline(__always)
    package func bindNull(at index: Int32) {
        note(sqlite3_bind_null(handle, index))
    }

    /// A number of which every bit counts. SQLite makes a zero of -0.0 and nothing of what is no number, so those are kept
    /// as their eight bytes.
    @inline(__always)
    func bind(exactly value: Double, at index: Int32) {
        if value.isNaN || value == 0 && value.sign == .minus {
            bind(withUnsafeBytes(of: value.bitPattern.bigEndian) { [UInt8]($0) }, at: index)
        } else {
            bind(value, at: index)
        }
    }

    func bind(exactly value: Double?, at index: Int32) {
        if let value { bind(exactly: value, at: index) } else { bindNull(at: index) }
    }

    package func bind(_ value: Int64?, at index: Int32) {
        if let value { bind(value, at: index) } else { bindNull(at: index) }
    }

    package func bind(_ value: String, at index: Int32) {
        var value = value
        value.withUTF8 { put(text: $0, at: index, SQLiteStatement.copied) }
    }

    package func bind(_ value: String?, at index: Int32) {
        if let value { bind(value, at: index) } else { bindNull(at: index) }
    }

    package func bind(_ value: [UInt8]?, at index: Int32) {
        guard let value else { return bindNull(at: index) }
        value.withUnsafeBytes { put(bytes: $0, at: index, SQLiteStatement.copied) }
    }

    /// Lends SQLite text that must outlive the run: where a copy of each would be felt.
    @inline(__always)
    func lend(text: UnsafeBufferPointer<UInt8>, at index: Int32) {
        put(text: text, at: index, nil)
    }

    /// Lends SQLite bytes that must outlive the run.
    @inline(__always)
    func lend(bytes: UnsafeRawBufferPointer, at index: Int32) {
        put(bytes: bytes, at: index, nil)
    }

    @inline(__always)
    private func put(text: UnsafeBufferPointer<UInt8>, at index: Int32, _ destructor: sqlite3_destructor_type?) {
        guard let start = text.baseAddress else {
            return note(sqlite3_bind_text(handle, index, "", 0, SQLiteStatement.copied))
        }
        note(
            sqlite3_bind_text64(
                handle, index, UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self), UInt64(text.count),
                destructor, UInt8(SQLITE_UTF8)))
    }

    @inline(__always)
    private func put(bytes: UnsafeRawBufferPointer, at index: Int32, _ destructor: sqlite3_destructor_type?) {
        if let start = bytes.baseAddress {
            note(sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), destructor))
        } else {
            note(sqlite3_bind_zeroblob(handle, index, 0))
        }
    }
}

// MARK: - Columns of the present row

extension SQLiteStatement {
    @inline(__always)
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    @inline(__always)
    package func int64(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    @inline(__always)
    package func int(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(handle, column))
    }

    @inline(__always)
    package func double(_ column: Int32) -> Double {
        sqlite3_column_double(handle, column)
    }

    package func optionalInt64(_ column: Int32) -> Int64? {
        isNull(column) ? nil : int64(column)
    }

    /// A number that ``bind(exactly:at:)`` stored. What is kept as bytes begins with none that is a digit, and reads as 0.
    @inline(__always)
    func exactDouble(_ column: Int32) -> Double {
        let value = double(column)
        return value == 0 ? bitsOrZero(column) : value
    }

    private func bitsOrZero(_ column: Int32) -> Double {
        guard sqlite3_column_type(handle, column) == SQLITE_BLOB, sqlite3_column_bytes(handle, column) == 8
        else { return 0 }
        let bits = bytes(column).loadUnaligned(as: UInt64.self)
        return Double(bitPattern: UInt64(bigEndian: bits))
    }

    /// The bytes of a text or a blob, valid until the statement moves on.
    @inline(__always)
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // The pointer first: asking for it may turn the value into bytes, and their number is known only then.
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    @inline(__always)
    package func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    package func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }

    package func blob(_ column: Int32) -> [UInt8] {
        [UInt8](bytes(column))
    }

    package func optionalBlob(_ column: Int32) -> [UInt8]? {
        isNull(column) ? nil : blob(column)
    }
}
