import ChangeFeed

/// The durable state of a running engine with the steps that have not been persisted yet.
struct StateLog: Sendable {
    private(set) var state: DurableState
    private var stamp: StateStamp
    /// The revision that the next increment follows.
    private var base: UInt64
    /// The steps since then, encoded.
    private var steps = ByteWriter()
    /// Whether steps were dropped because nobody persists them: the next increment then says all.
    private var hasOverflowed = false

    /// How many bytes of steps are kept for an increment that nobody may ever ask for.
    private static let limit = 16_000_000

    /// - Parameter writer: A number that no other engine has.
    init(_ state: DurableState, from origin: StateStamp?, writer: UInt64) {
        self.state = state
        stamp = StateStamp(
            writer: writer, revision: origin?.revision ?? 0, originWriter: origin?.writer ?? 0,
            originRevision: origin?.revision ?? 0)
        base = origin?.revision ?? 0
    }

    var revision: UInt64 { stamp.revision }
    /// The stamp of the state that is given out next.
    var nextStamp: StateStamp {
        var next = stamp
        next.revision += 1
        return next
    }
    /// Whether something has changed that nobody has persisted.
    var hasUnpersisted: Bool { hasOverflowed || !steps.bytes.isEmpty }

    /// Takes a step and remembers it.
    mutating func record(_ change: StateChange) {
        state.apply(change)
        StateChangeCodec.encode(change, into: &steps)
        guard steps.bytes.count > Self.limit else { return }
        steps = ByteWriter()
        hasOverflowed = true
    }

    /// Changes what is not written down: what is in flight.
    mutating func withUnwritten<Result>(_ body: (inout DurableState.Session) -> Result) -> Result {
        body(&state.session)
    }

    /// What has been given out to be stored.
    struct Taken: Sendable {
        /// The revision that it leads to.
        let revision: UInt64
        /// How many bytes of the log, and how many of the event's own steps, are in it.
        fileprivate let byteCount: Int
        let changeCount: Int
    }

    /// The steps since the last that were persisted, and some that are about to be taken.
    ///
    /// - Parameter earlier: What was taken before for the same event: both forms then lead to one revision, and only
    ///   what both have counts as stored.
    mutating func takeIncrement(
        with changes: [StateChange], after earlier: Taken? = nil
    ) -> (SyncEngine.State.Increment, Taken) {
        if earlier == nil { stamp.revision += 1 }
        var writer = ByteWriter(reserving: steps.bytes.count + 64 * changes.count)
        if hasOverflowed {
            StateChangeCodec.encode(.startedOver, into: &writer)
            state.forEachStep { StateChangeCodec.encode($0, into: &writer) }
        } else {
            steps.bytes.withUnsafeBytes { writer.raw($0) }
        }
        for change in changes { StateChangeCodec.encode(change, into: &writer) }
        let increment = SyncEngine.State.Increment(
            stamp: stamp, base: hasOverflowed ? SyncEngine.State.Increment.anyBase : base, steps: writer.bytes)
        return (increment, earlier ?? taken(changes))
    }

    /// The whole state, with some steps that are about to be taken.
    mutating func takeSerialization(
        with changes: [StateChange], after earlier: Taken? = nil
    ) -> (SyncEngine.State.Serialization, Taken) {
        if earlier == nil { stamp.revision += 1 }
        var writer = ByteWriter(reserving: 1024)
        state.forEachStep { StateChangeCodec.encode($0, into: &writer) }
        for change in changes { StateChangeCodec.encode(change, into: &writer) }
        return (SyncEngine.State.Serialization(stamp: stamp, steps: writer.bytes), earlier ?? taken(changes))
    }

    /// The whole state as it stands, under the stamp that was given out last.
    var currentSerialization: SyncEngine.State.Serialization {
        var writer = ByteWriter(reserving: 1024)
        state.forEachStep { StateChangeCodec.encode($0, into: &writer) }
        return SyncEngine.State.Serialization(stamp: stamp, steps: writer.bytes)
    }

    private func taken(_ changes: [StateChange]) -> Taken {
        Taken(revision: stamp.revision, byteCount: steps.bytes.count, changeCount: changes.count)
    }

    /// What was taken has been stored.
    mutating func persisted(_ taken: Taken) {
        base = taken.revision
        // Where the log overflowed since, it begins anew, and the next increment still has to say all.
        guard taken.byteCount <= steps.bytes.count else { return }
        var rest = ByteWriter()
        steps.bytes.withUnsafeBytes { rest.raw(UnsafeRawBufferPointer(rebasing: $0[taken.byteCount...])) }
        steps = rest
        hasOverflowed = false
    }

    /// Takes steps that are stored already.
    mutating func applyPersisted(_ changes: ArraySlice<StateChange>) {
        for change in changes { state.apply(change) }
    }
}
