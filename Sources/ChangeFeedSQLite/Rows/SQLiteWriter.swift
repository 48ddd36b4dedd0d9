import ChangeFeed

/// What a transaction on the writing connection writes.
///
/// Counters and epochs are kept here while the transaction is open and stored when it ends; savepoints are SQLite's own.
final class SQLiteWriter: SQLiteReader, StoreWriter {
    let statements: WriterStatements
    /// The state as it is stored.
    private var stored = StoreState()
    /// The savepoints that can still be gone back to, with the state and the number of epochs at each.
    private var savepoints: [(mark: Int, state: StoreState)] = []
    private var marks = 0
    /// What this transaction found when it looked a name up, by the name's key: a record is looked up before it is saved.
    private var lookedUp: [Int64: LookUp] = [:]

    private struct LookUp {
        let name: String
        let zone: ZoneKey
        let place: RecordPlace?
    }

    override init(_ connection: SQLiteConnection, identity: StoreIdentity) throws(ChangeFeedError) {
        statements = try WriterStatements(connection)
        try super.init(connection, identity: identity)
    }

    // MARK: Where records are

    override func record(named name: String, in zone: ZoneKey) throws(ChangeFeedError) -> RecordEntry? {
        let key = indexKey(of: name, in: zone)
        let found = try find(name, key: key, in: zone)
        note(found?.place, of: name, key: key, in: zone)
        return found?.entry
    }

    /// Where a record is, looked up only if this transaction has not done so.
    func place(of name: String, key: Int64, in zone: ZoneKey) throws(ChangeFeedError) -> RecordPlace? {
        if let known = lookedUp[key], known.zone == zone, sameBytes(known.name, name) { return known.place }
        return try find(name, key: key, in: zone)?.place
    }

    /// Notes where a record now is; nil if it is nowhere.
    func note(_ place: RecordPlace?, of name: String, key: Int64, in zone: ZoneKey) {
        if lookedUp.count >= 16_384 { lookedUp.removeAll() }
        lookedUp[key] = LookUp(name: name, zone: zone, place: place)
    }

    /// Forgets where records were.
    func forgetPlaces() {
        lookedUp.removeAll(keepingCapacity: lookedUp.count < 4096)
    }
}

// MARK: - The transaction

extension SQLiteWriter {
    func begin() throws(ChangeFeedError) {
        try statements.begin.run()
        do throws(ChangeFeedError) {
            try beginReading()
            endReading()
        } catch {
            rollBack()
            throw error
        }
        stored = state
        startAnew()
    }

    func commit() throws(ChangeFeedError) {
        if state != stored {
            statements.updateState.bind(state.head, at: 1)
            statements.updateState.bind(state.zones, at: 2)
            statements.updateState.bind(state.entries, at: 3)
            statements.updateState.bind(state.epochs, at: 4)
            try statements.updateState.run()
        }
        try statements.commit.run()
    }

    /// Takes back everything. SQLite may have done so by itself, where a write failed.
    func rollBack() {
        if !connection.isInAutocommit { try? statements.rollBack.run() }
        forget()
        setState(stored, epochs: [])
        startAnew()
    }

    private func startAnew() {
        savepoints.removeAll(keepingCapacity: true)
        marks = 0
        forgetPlaces()
    }

    func savepoint() throws(ChangeFeedError) -> StoreSavepoint {
        marks += 1
        try connection.execute("SAVEPOINT s\(marks)")
        savepoints.append((marks, state))
        return StoreSavepoint(mark: marks, position: head)
    }

    func rollBack(to savepoint: StoreSavepoint) throws(ChangeFeedError) {
        guard let index = savepoints.lastIndex(where: { $0.mark == savepoint.mark }) else {
            throw ChangeFeedError(.internalError, "The write has gone back to before this point already.")
        }
        try connection.execute("ROLLBACK TO s\(savepoint.mark)")
        savepoints.removeSubrange((index + 1)...)
        let kept = Array(epochs.prefix(savepoints[index].state.epochs))
        forget()
        setState(savepoints[index].state, epochs: kept)
        forgetPlaces()
    }

    /// Ends all savepoints and keeps what was done since.
    func releaseSavepoints() throws(ChangeFeedError) {
        guard let first = savepoints.first else { return }
        try connection.execute("RELEASE s\(first.mark)")
        savepoints.removeAll(keepingCapacity: true)
    }

    func allocatePosition() throws(ChangeFeedError) -> ChangePosition {
        guard state.head < Layout.lastPosition else { throw exhausted("positions", Layout.lastPosition) }
        var next = state
        next.head += 1
        setState(next, epochs: epochs)
        return head
    }

    func allocateZoneKey() throws(ChangeFeedError) -> ZoneKey {
        guard state.zones < Layout.lastZone else { throw exhausted("lives of zones", Layout.lastZone) }
        var next = state
        next.zones += 1
        setState(next, epochs: epochs)
        return ZoneKey(rawValue: next.zones)
    }

    /// Whether the store has given a handle.
    func isGiven(_ zone: ZoneKey) -> Bool {
        zone.rawValue > 0 && zone.rawValue <= state.zones
    }

    private func exhausted(_ what: String, _ bound: Int64) -> ChangeFeedError {
        ChangeFeedError(
            .limitExceeded, "The store has used up its \(bound) \(what). Copy what it holds to a new store.",
            limit: .init(name: what, allowed: Int(bound), found: Int(bound)))
    }

    func beginEpoch(nonce: UInt64) throws(ChangeFeedError) {
        let epoch = Epoch(nonce: nonce, firstPosition: ChangePosition(low: UInt64(state.head + 1)))
        statements.insertEpoch.bind(Int64(bitPattern: nonce), at: 1)
        statements.insertEpoch.bind(epoch.firstPosition.column, at: 2)
        try statements.insertEpoch.run()
        var next = state
        next.epochs += 1
        setState(next, epochs: epochs + [epoch])
    }
}
