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
        let store = store ?? InMemoryStore(randomness: draw)
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

    private struct NoSnapshots: Error {}
}
