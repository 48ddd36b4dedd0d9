import ChangeFeed
import ChangeFeedSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A store in a file and raw SQLite beside it, both empty and equally durable, in a folder that goes with them.
final class DurableStores {
    private let folder: URL
    let store: SQLiteStore
    let raw: RawStore
    let database: Database

    init(_ durability: SQLiteStore.Configuration.Durability = .full) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("benchmarks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try await SQLiteStore.open(
            at: folder.appendingPathComponent("feed.db"), configuration: .init(durability: durability))
        // Wider only so that what is not measured can be written sooner.
        var limits = Limits.cloudKit
        limits.itemsPerRequest = Limits.relaxed.itemsPerRequest
        limits.bytesPerRequest = Limits.relaxed.bytesPerRequest
        let container = Container(identifier: "benchmarks", store: store, configuration: .init(limits: limits))
        database = container.database(.private, for: "user")
        raw = try RawStore(
            path: folder.appendingPathComponent("raw.db").path, synchronous: durability == .full ? .full : .normal)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    /// Gives fresh stores to a body and closes them after it.
    static func with<Result>(
        _ durability: SQLiteStore.Configuration.Durability = .full, _ body: (DurableStores) async throws -> Result
    ) async throws -> Result {
        let stores = try await DurableStores(durability)
        let result = try await body(stores)
        await stores.store.close()
        return result
    }

    /// A new zone of the store.
    func zone(named name: String = "Notes") async throws -> FeedZone {
        let zoneID = RecordZone.ID(zoneName: name)
        try await database.save(RecordZone(zoneID: zoneID))
        return FeedZone(database: database, zoneID: zoneID)
    }

    /// Runs a body on the store's own threads, where reading changes no threads: what the store's documentation says to
    /// do where latency matters.
    func reading<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await withTaskExecutorPreference(store.taskExecutor) { try await body() }
    }

    /// How many bytes the store's file has, once the store is closed: the log has been brought into it then.
    func bytesInFile() throws -> Int {
        try DurableStores.bytesInFile(store.url.path)
    }

    static func bytesInFile(_ path: String) throws -> Int {
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? any BinaryInteger
        return size.map { Int($0) } ?? 0
    }
}

extension FeedZone {
    /// Does what need not be measured in requests as large as the stores' limits allow: the same comes to be in the file.
    @discardableResult
    func fill(_ notes: [Note]) async throws -> [Record] {
        var kept: [Record] = []
        for batch in notes.indices.batches(of: Limits.relaxed.itemsPerRequest) {
            let records = notes[batch].map { Record($0, in: zoneID) }
            for save in try await database.modifyRecords(saving: records).saves {
                kept.append(try save.result.get())
            }
        }
        return kept
    }
}
