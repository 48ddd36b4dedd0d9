import CSQLite
import ChangeFeed

/// Something that many rows repeat and that stands once in a table of its own, under a number.
protocol InternedValue: Hashable {
    /// The columns that hold it.
    static var columns: [String] { get }
    func bind(to statement: SQLiteStatement, at index: Int32)
    init(from statement: SQLiteStatement, at column: Int32) throws(ChangeFeedError)
}

/// The numbers of a table of interned values, as far as one connection has met them.
final class Interned<Value: InternedValue> {
    /// Past this many the table is learned anew: users may be any number.
    private static var bound: Int { 65_536 }

    private let table: String
    private let connection: SQLiteConnection
    private let select: SQLiteStatement
    private let find: SQLiteStatement
    private var values: [Int64: Value] = [:]
    private var numbers: [Value: Int64] = [:]
    /// Rows of one kind follow each other.
    private var last: (number: Int64, value: Value)?

    init(_ connection: SQLiteConnection, table: String) throws(ChangeFeedError) {
        self.connection = connection
        self.table = table
        let columns = Value.columns
        let condition = columns.enumerated().map { "\($1) = ?\($0 + 1)" }.joined(separator: " AND ")
        select = try connection.prepare("SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE id = ?1")
        find = try connection.prepare("SELECT id FROM \(table) WHERE \(condition)")
    }

    /// The value with a number; nil if there is none.
    @inline(__always)
    func value(_ number: Int64) throws(ChangeFeedError) -> Value? {
        if let last, last.number == number { return last.value }
        return try lookUp(number)
    }

    private func lookUp(_ number: Int64) throws(ChangeFeedError) -> Value? {
        if let value = values[number] {
            last = (number, value)
            return value
        }
        select.bind(number, at: 1)
        guard try select.step() else { return nil }
        defer { select.reset() }
        let value = try Value(from: select, at: 0)
        note(value, number)
        return value
    }

    /// The number of a value, which gets one if it has none.
    @inline(__always)
    func number(of value: Value) throws(ChangeFeedError) -> Int64 {
        if let last, last.value == value { return last.number }
        return try intern(value)
    }

    /// The number of a value; nil if it has none and the table is full.
    @inline(__always)
    func number(of value: Value, unlessPast bound: Int64) throws(ChangeFeedError) -> Int64? {
        if let last, last.value == value { return last.number }
        if let number = try known(value) { return number }
        let count = try connection.number("SELECT count(*) FROM \(table)") ?? 0
        return count < bound ? try intern(value) : nil
    }

    private func intern(_ value: Value) throws(ChangeFeedError) -> Int64 {
        if let number = try known(value) { return number }
        let columns = Value.columns
        let parameters = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let insert = try connection.prepare(
            "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(parameters)) RETURNING id")
        value.bind(to: insert, at: 1)
        guard try insert.step() else { throw connection.failure(SQLITE_INTERNAL) }
        let number = insert.int64(0)
        try insert.finish()
        note(value, number)
        return number
    }

    /// The number of a value; nil if it has none.
    func known(_ value: Value) throws(ChangeFeedError) -> Int64? {
        if let number = numbers[value] {
            last = (number, value)
            return number
        }
        value.bind(to: find, at: 1)
        guard try find.step() else { return nil }
        let number = find.int64(0)
        find.reset()
        note(value, number)
        return number
    }

    private func note(_ value: Value, _ number: Int64) {
        if values.count >= Self.bound { forget() }
        values[number] = value
        numbers[value] = number
        last = (number, value)
    }

    /// To be called when numbers may have been taken back.
    func forget() {
        values = [:]
        numbers = [:]
        last = nil
    }
}

extension ByteString: InternedValue {
    static var columns: [String] { ["name"] }

    func bind(to statement: SQLiteStatement, at index: Int32) {
        statement.bind(string, at: index)
    }

    init(from statement: SQLiteStatement, at column: Int32) {
        self.init(statement.text(column))
    }
}

/// The nonce of an epoch, as tags carry it.
struct Nonce: InternedValue {
    let value: UInt64

    static var columns: [String] { ["value"] }

    init(_ value: UInt64) {
        self.value = value
    }

    func bind(to statement: SQLiteStatement, at index: Int32) {
        statement.bind(Int64(bitPattern: value), at: index)
    }

    init(from statement: SQLiteStatement, at column: Int32) {
        value = UInt64(bitPattern: statement.int64(column))
    }
}
