#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// MARK: - Discarding history

extension Container {
    /// Discards history in one step of bounded work (section 6.6).
    ///
    /// A step discards at most `stepBudget` things in one transaction, looks at no more than 16 zones for each, and makes
    /// progress on every kind of garbage: tombstones of records and of zones, outcomes of requests, contents of assets.
    /// (With a budget of less than one for each kind, they take turns.) Call it until ``CompactionStep/isComplete``; in
    /// between others may write. Tokens from before what was discarded expire, and no others.
    public func compact(
        before bound: CompactionBound = .policy, stepBudget: Int = 1_000
    ) async throws(ChangeFeedError) -> CompactionStep {
        guard stepBudget > 0 else {
            throw ChangeFeedError(
                .invalidArguments, "A step budget of \(stepBudget) does nothing: give a positive one.", rule: "6.6")
        }
        let (feed, assets) = (feed, assets)
        // Another bound is another question, and is asked of everything.
        let cursor = compactionCursor.withLock { $0.bound == bound ? $0 : CompactionCursor(bound: bound) }
        let (step, next) = try await store.write { (store) throws(ChangeFeedError) in
            try feed.compact(from: cursor, budget: stepBudget, assets: assets, in: store)
        }
        compactionCursor.withLock { $0 = next }
        return step
    }

    /// How many bytes the records of a user's private database take.
    public func bytesUsed(by userID: String) async throws(ChangeFeedError) -> Int {
        try await store.read { (store) throws(ChangeFeedError) in
            try QuotaRules.bytesUsed(by: .private(userID), in: store)
        }
    }
}

// MARK: - Restoring

extension Container {
    /// Puts the store back to a snapshot, while nobody reads or writes, and begins a new epoch (rule 6.1.5): tokens and
    /// tags given before the snapshot live on, those given after it are told apart from the new history.
    ///
    /// Contents of assets are not part of a snapshot: those that were collected since it was taken are gone, and the
    /// assets cannot be loaded (`assetNotAvailable`).
    ///
    /// Throws `invalidArguments` if the store takes no snapshots, or this is not one of its own.
    public func restoreFromSnapshot(_ snapshot: any StoreSnapshot) async throws(ChangeFeedError) {
        guard let store = store as? any SnapshottingStore else {
            throw ChangeFeedError(.invalidArguments, "This container's store takes no snapshots.", rule: "6.1.5")
        }
        try await store.restore(snapshot)
        feed.beginEpochWithNextWrite()
        compactionCursor.withLock { $0 = CompactionCursor() }
        hub.storeWasReplaced()
    }
}
