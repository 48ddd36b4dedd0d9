import ChangeFeed

/// Where an engine keeps its state, so that the app needs no code for it.
public protocol StateStore: Sendable {
    /// The state that was stored last; nil if there is none.
    ///
    /// Throws ``SyncEngineError/Code/damagedState``, ``SyncEngineError/Code/stateInUse`` or
    /// ``SyncEngineError/Code/storeFailed``.
    func load() throws(SyncEngineError) -> SyncEngine.State.Serialization?

    /// Stores what has changed, durably, before it returns. One call at a time. `serialization` makes the whole state as it
    /// stands, for a store that wants no increments.
    ///
    /// Throws ``SyncEngineError/Code/staleState`` if the increment does not follow what is stored.
    func persist(
        _ increment: SyncEngine.State.Increment,
        serialization: @Sendable () -> SyncEngine.State.Serialization
    ) async throws(SyncEngineError)
}

/// Keeps the state in memory: for tests, and for telling what a store is asked to do.
public final class InMemoryStateStore: StateStore {
    private struct Content {
        var serialization: SyncEngine.State.Serialization?
        var persistCount = 0
        var byteCount = 0
    }

    private let content: Locked<Content>

    /// A store that has a state, or none.
    public init(_ serialization: SyncEngine.State.Serialization? = nil) {
        content = Locked(Content(serialization: serialization))
    }

    /// The state.
    public var serialization: SyncEngine.State.Serialization? { content.withLock { $0.serialization } }
    /// How often something was stored.
    public var persistCount: Int { content.withLock { $0.persistCount } }
    /// How many bytes of increments were stored.
    public var byteCount: Int { content.withLock { $0.byteCount } }

    /// The state.
    public func load() throws(SyncEngineError) -> SyncEngine.State.Serialization? { serialization }

    /// Goes on to the state after an increment.
    public func persist(
        _ increment: SyncEngine.State.Increment, serialization: @Sendable () -> SyncEngine.State.Serialization
    ) async throws(SyncEngineError) {
        try content.withLock { (content) throws(SyncEngineError) in
            var next = content.serialization ?? .empty
            try next.apply(increment)
            content.serialization = next
            content.persistCount += 1
            content.byteCount += increment.data.count
        }
    }
}

extension SyncEngine.State.Serialization {
    /// The state before anything.
    static let empty = SyncEngine.State.Serialization(
        stamp: StateStamp(writer: 0, revision: 0, originWriter: 0, originRevision: 0), steps: [])
}
