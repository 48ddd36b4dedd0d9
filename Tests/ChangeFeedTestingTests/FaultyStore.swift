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
        memory.withLock { $0.reads += 1 }
        do throws(ChangeFeedError) {
            return try await store.read { reader throws(ChangeFeedError) in
                try body(FaultyTransaction(fault, reader: reader, writer: nil, memory: memory))
            }
        } catch {
            throw fault == .replacesErrors ? ChangeFeedError(.internalError, "Something went wrong.") : error
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
            do throws(ChangeFeedError) {
                let result = try body(transaction)
                memory.withLock { $0.torn += transaction.torn }
                return result
            } catch {
                memory.withLock { $0.wasted = transaction.allocated }
                if fault == .runsFailingBodiesAgain { return try body(transaction) }
                throw error
            }
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
        case .keepsPositionsOfWhatThrew, .redoesWhatThrewWhenReopened:
            do throws(ChangeFeedError) { return try await inner.write(run) } catch {
                if fault == .redoesWhatThrewWhenReopened {
                    memory.withLock { $0.hasThrown = true }
                    throw error
                }
                let wasted = memory.withLock { $0.wasted }
                try await inner.write { writer throws(ChangeFeedError) in
                    for _ in 0..<wasted { _ = try writer.allocatePosition() }
                }
                throw error
            }
        case .tearsWrites:
            let result = try await inner.write(run)
            // The second half waits until somebody has looked, if anybody does.
            let reads = memory.withLock { $0.reads }
            for _ in 0..<200 where memory.withLock({ $0.reads }) == reads { await Task.yield() }
            try await finish()
            return result
        case .doesHalfWhenCancelled where Task.isCancelled:
            _ = try await inner.write(run)
            throw ChangeFeedError(.operationCancelled, "The caller cancelled.")
        default:
            return try await inner.write(run)
        }
    }

    /// Does what torn writes have left.
    private func finish() async throws(ChangeFeedError) {
        let memory = memory
        try await inner.write { writer throws(ChangeFeedError) in
            let torn = memory.withLock { memory in
                defer { memory.torn = [] }
                return memory.torn
            }
            for step in torn { try step.redo(writer) }
        }
    }

    func snapshot() async throws(ChangeFeedError) -> any StoreSnapshot {
        let snapshot = inner.snapshot()
        guard fault == .sharesSnapshots else { return snapshot }
        return before.withLock { before in
            before = before ?? snapshot
            return before ?? snapshot
        }
    }

    func restore(_ snapshot: any StoreSnapshot) async throws(ChangeFeedError) {
        if fault == .takesForeignSnapshots, !(snapshot is InMemoryStore.Snapshot) { return }
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
        if fault == .redoesWhatThrewWhenReopened, memory.withLock({ $0.hasThrown }) {
            try await copy.write { writer throws(ChangeFeedError) in
                try writer.setMetaValue([9], for: "lost", of: .usage)
            }
        }
        let reopened = FaultyStore(fault, inner: copy)
        if fault == .repeatsPositionsWhenReopened {
            let head = try await copy.read { reader throws(ChangeFeedError) in try reader.head }
            reopened.memory.withLock { $0.repeated = head }
        }
        return reopened
    }
}

/// What faults remember from one transaction to the next.
struct FaultMemory {
    var lowered: [DatabaseID: ChangePosition] = [:]
    var earlierLives: [ZoneKey: [RecordEntry]] = [:]
    var tombstones = 0
    var links = 0
    var databases: Set<DatabaseID> = []
    var seen: Set<ChangePosition> = []
    var torn: [FaultyTransaction.Kept] = []
    var reads = 0
    /// How many positions the write that threw last had allocated.
    var wasted = 0
    var hasThrown = false
    /// The position that is given once more.
    var repeated: ChangePosition?
}
