import ChangeFeed

/// Where a simulated server keeps its records, and how it is opened again.
public struct SimulationStore: Sendable {
    let open: @Sendable () async throws -> any ChangeStore
    let close: @Sendable (any ChangeStore) async -> Void

    /// A store that is opened before the first step and after each restart, and closed before.
    public init(
        open: @escaping @Sendable () async throws -> any ChangeStore,
        close: @escaping @Sendable (any ChangeStore) async -> Void
    ) {
        self.open = open
        self.close = close
    }

    /// A store in memory; one for each simulation.
    public static func memory(seed: UInt64) -> SimulationStore {
        let numbers = SeededNumbers(seed: seed)
        let store = InMemoryStore { numbers.next() }
        return SimulationStore(open: { store }, close: { _ in })
    }
}

/// A store with threads of its own, of which an executor is told when it is to wait for them.
struct WaitedForStore: SnapshottingStore {
    let base: any ChangeStore
    let executor: SimulationExecutor

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        executor.goesOutside()
        defer { executor.isBack() }
        return try await base.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        executor.goesOutside()
        defer { executor.isBack() }
        return try await base.write(body)
    }

    private func snapshotting() throws(ChangeFeedError) -> any SnapshottingStore {
        guard let store = base as? any SnapshottingStore else {
            throw ChangeFeedError(.invalidArguments, "The store takes no snapshots.", rule: "6.1.5")
        }
        return store
    }

    func snapshot() async throws(ChangeFeedError) -> any StoreSnapshot {
        let store = try snapshotting()
        executor.goesOutside()
        defer { executor.isBack() }
        return try await store.snapshot()
    }

    func restore(_ snapshot: any StoreSnapshot) async throws(ChangeFeedError) {
        let store = try snapshotting()
        executor.goesOutside()
        defer { executor.isBack() }
        try await store.restore(snapshot)
    }
}
