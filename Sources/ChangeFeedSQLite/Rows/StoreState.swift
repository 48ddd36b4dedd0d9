import CSQLite
import ChangeFeed

/// What is drawn once for a store, and stays.
struct StoreIdentity: Sendable {
    let storeID: StoreID
    let names: NameHash

    /// Reads it from a file that is a store; draws and stores it first if the file is new.
    ///
    /// `nameBits` is how many bits of the names' hash are used; less than all only in tests of what collides.
    static func load(
        from connection: SQLiteConnection, randomness: () -> UInt64, nameBits: Int
    ) throws(ChangeFeedError) -> StoreIdentity {
        let select = try connection.prepare(
            "SELECT store_id_high, store_id_low, name_key_high, name_key_low FROM state")
        if try !select.step() {
            let insert = try connection.prepare(
                """
                INSERT INTO state (id, store_id_high, store_id_low, name_key_high, name_key_low, head, zones, entries,
                    epochs, restores)
                VALUES (0, ?1, ?2, ?3, ?4, 0, 0, 0, 0, 0)
                """)
            for index in 1...4 { insert.bind(Int64(bitPattern: randomness()), at: Int32(index)) }
            try insert.run()
            guard try select.step() else { throw connection.failure(SQLITE_INTERNAL) }
        }
        defer { select.reset() }
        let numbers = (0..<4).map { UInt64(bitPattern: select.int64(Int32($0))) }
        return StoreIdentity(
            storeID: StoreID(high: numbers[0], low: numbers[1]),
            names: NameHash(keyLow: numbers[3], keyHigh: numbers[2], bits: nameBits))
    }
}

/// What a store counts: the row that every transaction reads first.
struct StoreState: Equatable {
    static let columns = "head, zones, entries, epochs, restores"

    /// The position that was allocated last.
    var head: Int64 = 0
    /// How many handles of zones were given.
    var zones: Int64 = 0
    /// How many entries of records were given a number.
    var entries: Int64 = 0
    /// How many epochs there are.
    var epochs = 0
    /// How often the content was replaced by another.
    var restores: Int64 = 0

    init() {}

    /// Throws `internalError` (detail `damaged`) where a number is none that a store comes to: counting on from it would
    /// end the process.
    init(from row: SQLiteStatement) throws(ChangeFeedError) {
        head = row.int64(0)
        zones = row.int64(1)
        entries = row.int64(2)
        epochs = row.int(3)
        restores = row.int64(4)
        // Nothing is counted without a position being given, but for restores, which are fewer still.
        let counts = [head, entries, Int64(epochs), restores]
        guard counts.allSatisfy({ 0...Layout.lastPosition ~= $0 }), 0...Layout.lastZone ~= zones else {
            throw StoreState.damaged("it counts what no store comes to")
        }
    }

    static func damaged(_ reason: String) -> ChangeFeedError {
        ChangeFeedError(
            .internalError, "The store's row of state is damaged: \(reason). Put back a backup.", detail: .damaged)
    }
}

extension ChangePosition {
    /// A position from its column.
    @inline(__always)
    init(column: Int64) {
        self.init(low: UInt64(bitPattern: column))
    }

    /// The position as the columns have it: those of this store have one half.
    @inline(__always)
    var column: Int64 {
        high == 0 && low <= UInt64(Layout.lastPosition) ? Int64(low) : Layout.lastPosition
    }
}

extension ZoneKey {
    /// The handle as ids have it; 0, which no zone has, where the store has not given it.
    @inline(__always)
    private var idPart: Int64 { 1...Layout.lastZone ~= rawValue ? rawValue : 0 }

    /// The id of the record, or tombstone, at a position of the zone.
    @inline(__always)
    func id(at position: ChangePosition) -> Int64 {
        Layout.id(zone: idPart, position: position.column)
    }

    /// The last id that belongs to the zone.
    @inline(__always)
    var lastID: Int64 {
        Layout.id(zone: idPart, position: Layout.lastPosition)
    }
}
