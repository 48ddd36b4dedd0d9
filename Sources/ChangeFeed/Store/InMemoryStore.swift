/// A store that keeps everything in memory, behind one lock.
///
/// Transactions take turns. Nothing is written to disk; ``snapshot()`` and ``init(restoring:)`` take and put back
/// the whole of it, as a backup does.
public final class InMemoryStore: SnapshottingStore {
    private let state: Locked<MemoryState>

    /// An empty store. Its identity comes from the source of randomness.
    public init(randomness: () -> UInt64 = { UInt64.random(in: .min ... .max) }) {
        state = Locked(MemoryState(storeID: StoreID(high: randomness(), low: randomness())))
    }

    /// A store as it was when the snapshot was taken.
    ///
    /// A container over it begins a new epoch with its first write, so tokens and tags given after the snapshot are
    /// told from those of the new history (rule 6.1.5).
    /// Throws `invalidArguments` for the snapshot of another kind of store.
    public init(restoring snapshot: any StoreSnapshot) throws(ChangeFeedError) {
        guard let snapshot = snapshot as? Snapshot else {
            throw ChangeFeedError(.invalidArguments, "This is no snapshot of a store in memory.", rule: "6.1.5")
        }
        state = Locked(MemoryState(copying: snapshot.state))
    }

    /// The whole content of a store at one moment.
    public struct Snapshot: StoreSnapshot {
        // Unsafe because the class is not Sendable; it is written before the snapshot is made and only read after.
        fileprivate nonisolated(unsafe) let state: MemoryState
    }

    /// Takes a copy of everything, at the cost of walking all records.
    public func snapshot() -> any StoreSnapshot {
        state.withLock { Snapshot(state: MemoryState(copying: $0)) }
    }

    /// Puts everything back to what it was. Use ``Container/restoreFromSnapshot(_:)``, which also begins an epoch.
    public func restore(_ snapshot: any StoreSnapshot) throws(ChangeFeedError) {
        guard let snapshot = snapshot as? Snapshot else {
            throw ChangeFeedError(.invalidArguments, "This is no snapshot of a store in memory.", rule: "6.1.5")
        }
        state.withLock { $0 = MemoryState(copying: snapshot.state) }
    }

    /// Runs a body that reads one state of the store, without suspending.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try readNow(body)
    }

    /// Runs a body that reads and writes, alone, without suspending.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try writeNow(body)
    }

    /// As ``read(_:)``, for callers that cannot wait.
    package func readNow<Result>(
        _ body: (any StoreReader) throws(ChangeFeedError) -> Result
    ) throws(ChangeFeedError) -> Result {
        try state.withLock { (state) throws(ChangeFeedError) in try body(state) }
    }

    /// As ``write(_:)``, for callers that cannot wait.
    package func writeNow<Result>(
        _ body: (any StoreWriter) throws(ChangeFeedError) -> Result
    ) throws(ChangeFeedError) -> Result {
        try state.withLock { (state) throws(ChangeFeedError) in
            do throws(ChangeFeedError) {
                let result = try body(state)
                state.commit()
                return result
            } catch {
                state.rollBack()
                throw error
            }
        }
    }
}
