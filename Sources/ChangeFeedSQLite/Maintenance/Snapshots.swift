import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SQLiteStore: SnapshottingStore {
    /// A copy of the store in a file beside it, which goes when nobody holds the snapshot any more.
    public final class Snapshot: StoreSnapshot {
        fileprivate let path: String

        fileprivate init(path: String) {
            self.path = path
        }

        deinit {
            Backup.removeFiles(of: path)
        }
    }

    /// Takes a copy of everything, at the cost of writing a file as large as the store.
    public func snapshot() async throws(ChangeFeedError) -> any StoreSnapshot {
        let snapshot = Snapshot(path: "\(path)-snapshot-\(UUID().uuidString)")
        try await backup(to: URL(fileURLWithPath: snapshot.path))
        return snapshot
    }

    /// Puts everything back to what it was. Use the container's `restoreFromSnapshot(_:)`, which also begins an
    /// epoch. Throws `invalidArguments` for a snapshot of another store, or of another kind of store.
    public func restore(_ snapshot: any StoreSnapshot) async throws(ChangeFeedError) {
        guard let snapshot = snapshot as? Snapshot else {
            throw ChangeFeedError(.invalidArguments, "This is no snapshot of a store in a file.", rule: "6.1.5")
        }
        try await writersOrRefusal().outsideTransactions { (writer) throws(ChangeFeedError) in
            try writer.replaceContent(with: snapshot.path)
        }
    }
}

extension SQLiteWriter {
    /// Replaces everything by the content of another store's file, in one transaction.
    fileprivate func replaceContent(with path: String) throws(ChangeFeedError) {
        // What other connections have learned of numbers and names is void, and they see it by this count.
        let restores = try connection.number("SELECT restores FROM state") ?? 0
        let source = try SQLiteConnection(path: path, access: .readWrite)
        // Names are found by the store's own key, which this connection and the readers go on with.
        let identity = "SELECT store_id_high || ' ' || store_id_low FROM state"
        guard try source.texts(identity) == connection.texts(identity) else {
            throw ChangeFeedError(
                .invalidArguments, "This is a snapshot of another store: open a copy of that one instead.",
                rule: "6.1.5")
        }
        let count = max(restores, try source.number("SELECT restores FROM state") ?? 0) + 1
        try source.execute("UPDATE state SET restores = \(count)")
        try Backup.copy(from: source, to: connection)
        // A copy brings its own mode along.
        try connection.execute("PRAGMA journal_mode = WAL")
        forget()
    }
}
