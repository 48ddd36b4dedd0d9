import ChangeFeed
import Foundation

extension FeedFixture {
    /// A server whose configuration differs from the usual one; the clock and the seeded randomness stay.
    init(
        over store: (any ChangeStore)? = nil, clock: Clock = Clock(),
        randomness: Locked<Random> = Locked(Random(seed: 1)),
        configured configure: (inout Container.Configuration) -> Void
    ) {
        let draw: @Sendable () -> UInt64 = { randomness.withLock { $0.next() } }
        let store = store ?? (StoreKind.current ?? .memory).make(randomness: draw)
        var configuration = Container.Configuration(now: { clock.now }, randomness: draw)
        configure(&configuration)
        self.store = store
        self.clock = clock
        self.randomness = randomness
        container = Container(identifier: "test", store: store, configuration: configuration)
    }

    /// The same data behind a container that was configured anew.
    func reconfigured(_ configure: (inout Container.Configuration) -> Void) -> FeedFixture {
        FeedFixture(over: store, clock: clock, randomness: randomness, configured: configure)
    }

    /// The private database of another user of the same container.
    func database(of userID: String) -> Database { container.database(.private, for: userID) }

    /// A snapshot of the store, which is one in memory.
    func snapshot() async throws -> any StoreSnapshot {
        guard let store = store as? any SnapshottingStore else { throw NoSnapshots() }
        return try await store.snapshot()
    }

    /// What a compaction to its end discards, in all its steps together.
    struct Discarded {
        var recordTombstones = 0
        var zoneTombstones = 0
        var total = 0
    }

    /// Compaction, step by step, until it says that it is complete.
    func compact(before bound: CompactionBound = .policy, stepBudget: Int = 20) async throws -> Discarded {
        var discarded = Discarded()
        for _ in 0..<10_000 {
            let step = try await container.compact(before: bound, stepBudget: stepBudget)
            discarded.recordTombstones += step.recordTombstones
            discarded.zoneTombstones += step.zoneTombstones
            discarded.total += step.total
            if step.isComplete { return discarded }
        }
        throw EndlessCompaction()
    }

    private struct EndlessCompaction: Error {}
    private struct NoSnapshots: Error {}
}
