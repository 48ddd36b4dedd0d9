import ChangeFeed

/// One run of one check, on a store of its own.
struct Trial: Sendable {
    let store: any ChangeStore
    let seed: UInt64
    let payloads: SpecimenPayloads
    let makeStore: @Sendable () async throws -> any ChangeStore
    let reopening: (@Sendable (any ChangeStore) async throws -> any ChangeStore)?

    /// The same trial going on with another store.
    func with(_ store: any ChangeStore) -> Trial {
        Trial(store: store, seed: seed, payloads: payloads, makeStore: makeStore, reopening: reopening)
    }

    /// The same trial after the store was closed and opened again.
    func reopened() async throws -> Trial {
        guard let reopening else { return self }
        return with(try await reopening(store))
    }

    /// Runs a body in a write. A mismatch that the body finds is thrown once the transaction is over, so that it does
    /// not pass through the store.
    @discardableResult
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws -> Result
    ) async throws -> Result {
        try await store.write { writer throws(ChangeFeedError) in
            try Finding.of { () throws in try body(writer) }
        }.get()
    }

    /// Runs a body in a read, as ``write(_:)``.
    @discardableResult
    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws -> Result
    ) async throws -> Result {
        try await store.read { reader throws(ChangeFeedError) in
            try Finding.of { () throws in try body(reader) }
        }.get()
    }

    /// Runs a body in a write and has it fail at its end, with an error that the store is to hand on as it is.
    func writeInVain(_ body: @escaping @Sendable (any StoreWriter) throws -> Void) async throws {
        do {
            let finding = try await store.write { writer throws(ChangeFeedError) -> Finding<Void> in
                let finding = try Finding.of { () throws in try body(writer) }
                if case .failure = finding { return finding }
                throw .onPurpose
            }
            try finding.get()
        } catch let error as ChangeFeedError {
            try expect("a write whose body throws", "\(error)", is: "\(ChangeFeedError.onPurpose)")
            return
        }
        throw Mismatch("a write whose body throws", expected: "the body's error", found: "a result")
    }
}

/// What a body that runs inside a transaction gives: its result, or what it found wrong.
typealias Finding<Value> = Result<Value, Mismatch>

extension Result where Failure == Mismatch {
    fileprivate static func of(_ body: () throws -> Success) throws(ChangeFeedError) -> Self {
        do {
            return .success(try body())
        } catch let error as ChangeFeedError {
            throw error
        } catch let mismatch as Mismatch {
            return .failure(mismatch)
        } catch {
            throw ChangeFeedError(.internalError, "\(error)")
        }
    }
}

extension ChangeFeedError {
    /// An error that no store throws by itself.
    static let onPurpose = ChangeFeedError(.participantAlreadyInvited, "Thrown on purpose.", rule: "conformance")
}
