import ChangeFeed

/// The promises of `ChangeStore`, and one suite that holds any store to them.
///
/// Whoever writes an adapter calls it from a test:
///
/// ```swift
/// func testMyStoreKeepsItsPromises() async {
///     let conformance = StoreConformance(seed: 1, reopening: { try await $0.closeAndOpenAgain() }) {
///         try await MyStore(at: temporaryPath())
///     }
///     let failures = await conformance.run()
///     XCTAssertEqual(failures, [])
/// }
/// ```
///
/// Each promise is one ``Check`` on a store of its own. What is random depends on the seed alone, so a failure can be
/// had again by its check and seed: `await conformance.run(only: ["model.random"])`. Run several seeds.
///
/// What the suite cannot see from outside is left to the adapter's own tests: power cuts, damaged files, full disks,
/// two processes on one store.
public struct StoreConformance: Sendable {
    /// Where everything random comes from.
    public let seed: UInt64
    private let makeStore: @Sendable () async throws -> any ChangeStore
    private let reopening: (@Sendable (any ChangeStore) async throws -> any ChangeStore)?

    /// A suite over stores of one kind.
    ///
    /// - Parameters:
    ///   - seed: where everything random comes from.
    ///   - reopening: closes a store and opens the same content again; nil where a store does not outlive its object.
    ///     The store that was given is not used afterwards.
    ///   - makeStore: gives a new and empty store, which shares nothing with those it gave before.
    public init<Store: ChangeStore>(
        seed: UInt64 = 1,
        reopening: (@Sendable (Store) async throws -> Store)? = nil,
        makeStore: @escaping @Sendable () async throws -> Store
    ) {
        self.seed = seed
        self.makeStore = makeStore
        guard let reopening else {
            self.reopening = nil
            return
        }
        self.reopening = { (store: any ChangeStore) async throws -> any ChangeStore in
            guard let store = store as? Store else {
                throw Mismatch("making a store", expected: "always a store of one kind", found: "\(type(of: store))")
            }
            return try await reopening(store)
        }
    }

    /// All checks, in the order in which they are run.
    public static let checks: [Check] = [
        Check.transactions, Check.positions, Check.undoing, Check.zones, Check.zoneLives, Check.records,
        Check.recordScans, Check.tombstones, Check.links, Check.metaTables, Check.concurrency, Check.reopening,
        Check.snapshots, Check.model,
    ].flatMap { $0 }

    /// Holds the store to every promise that it can be held to, and gives those that it does not keep: an empty list
    /// is what is wanted.
    ///
    /// Checks of stores that are reopened are run if a way was given, those of snapshots if it is a
    /// `SnapshottingStore`.
    public func run() async -> [Failure] {
        await run(StoreConformance.checks)
    }

    /// Runs the checks with these identifiers and no other. One that names no check is a failure.
    public func run(only checkIDs: Set<Check.ID>) async -> [Failure] {
        let unknown = checkIDs.subtracting(StoreConformance.checks.map(\.id)).sorted()
        let failures = unknown.map { id in
            failure(
                of: Check(id, "A check that is asked for exists.") { _ in },
                Mismatch(
                    "looking for the check", expected: "one of StoreConformance.checks", found: "none of that name"))
        }
        return await failures + run(StoreConformance.checks.filter { checkIDs.contains($0.id) })
    }

    private func run(_ checks: [Check]) async -> [Failure] {
        var failures: [Failure] = []
        for check in checks {
            do {
                try await run(check)
            } catch let mismatch as Mismatch {
                failures.append(failure(of: check, mismatch))
            } catch {
                failures.append(
                    failure(of: check, Mismatch("running the check", expected: "no error", found: "\(error)")))
            }
        }
        return failures
    }

    private func run(_ check: Check) async throws {
        if check.requirement == .reopening, reopening == nil { return }
        let store: any ChangeStore
        do {
            store = try await makeStore()
        } catch let mismatch as Mismatch {
            throw mismatch
        } catch {
            throw Mismatch("making a store", expected: "a new and empty store", found: "the error \(error)")
        }
        if check.requirement == .snapshots, !(store is any SnapshottingStore) { return }
        try await check.body(
            Trial(
                store: store, seed: seed, payloads: try await SpecimenPayloads.shared(), makeStore: makeStore,
                reopening: reopening))
    }

    private func failure(of check: Check, _ mismatch: Mismatch) -> Failure {
        Failure(
            check: check, seed: seed, step: mismatch.step, expected: mismatch.expected, found: mismatch.found,
            history: mismatch.history)
    }
}
