import ChangeFeed

/// A store in memory that breaks one promise of the port, or none.
final class FaultyStore: SnapshottingStore {
    let fault: Fault?
    private let inner: InMemoryStore
    private let memory = Locked(FaultMemory())
    private let before = Locked((any StoreSnapshot)?.none)

    init(_ fault: Fault?, inner: InMemoryStore = InMemoryStore()) {
        self.fault = fault
        self.inner = inner
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        var store = inner
        if fault == .readsTheStateBefore, let before = before.withLock({ $0 }) {
            store = try InMemoryStore(restoring: before)
        }
        let (fault, memory) = (fault, memory)
        return try await store.read { reader throws(ChangeFeedError) in
            try body(FaultyTransaction(fault, reader: reader, writer: nil, memory: memory))
        }
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        let (fault, memory) = (fault, memory)
        if fault == .readsTheStateBefore {
            let snapshot = inner.snapshot()
            before.withLock { $0 = snapshot }
        }
        let run: @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result = { writer throws(ChangeFeedError) in
            let transaction = FaultyTransaction(fault, reader: writer, writer: writer, memory: memory)
            if fault == .runsBodiesTwice { _ = try body(transaction) }
            return try body(transaction)
        }
        switch fault {
        case .keepsWhatThrew:
            let outcome = try await inner.write { writer -> Swift.Result<Result, ChangeFeedError> in
                do throws(ChangeFeedError) { return .success(try run(writer)) } catch { return .failure(error) }
            }
            return try outcome.get()
        case .losesUpdates:
            let copy = try InMemoryStore(restoring: inner.snapshot())
            let result = try await copy.write(run)
            for _ in 0..<3 { await Task.yield() }
            try inner.restore(copy.snapshot())
            return result
        default:
            return try await inner.write(run)
        }
    }

    func snapshot() async throws(ChangeFeedError) -> any StoreSnapshot {
        inner.snapshot()
    }

    func restore(_ snapshot: any StoreSnapshot) async throws(ChangeFeedError) {
        if fault != .restoresNothing { try inner.restore(snapshot) }
    }

    /// The same content in another object.
    func reopened() async throws -> FaultyStore {
        let copy = try InMemoryStore(restoring: inner.snapshot())
        if fault == .losesMetaWhenClosed {
            try await copy.write { writer throws(ChangeFeedError) in
                try writer.setMetaValue(nil, for: "key", of: .usage)
            }
        }
        return FaultyStore(fault, inner: copy)
    }
}

/// What faults remember from one transaction to the next.
struct FaultMemory {
    var lowered: [DatabaseID: ChangePosition] = [:]
    var earlierLives: [ZoneKey: [RecordEntry]] = [:]
    var tombstones = 0
    var links = 0
}
