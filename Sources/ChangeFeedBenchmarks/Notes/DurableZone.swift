import ChangeFeed
import ChangeFeedSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A store in a file, and a raw one beside it, in a folder that goes with them.
final class DurableStores: Sendable {
    private let folder: URL
    let store: SQLiteStore
    let zone: FeedZone

    init(_ durability: SQLiteStore.Configuration.Durability = .full) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("benchmarks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try await SQLiteStore.open(
            at: folder.appendingPathComponent("feed.db"), configuration: .init(durability: durability))
        let database = Container(identifier: "benchmarks", store: store).database(.private, for: "user")
        let zoneID = RecordZone.ID(zoneName: "Notes")
        try await database.save(RecordZone(zoneID: zoneID))
        zone = FeedZone(database: database, zoneID: zoneID)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func raw(durability: String = "FULL") throws -> RawStore {
        try RawStore(path: folder.appendingPathComponent("raw.db").path, durability: durability)
    }

    /// How many bytes the store's file, or the raw one's, has.
    func bytes(of name: String) throws -> Int {
        let path = folder.appendingPathComponent(name).path
        return (try FileManager.default.attributesOfItem(atPath: path)[.size] as? any BinaryInteger).map { Int($0) }
            ?? 0
    }

    /// Runs a reader on the store's own threads, where a fetch changes no threads: what the store's documentation says
    /// to do where latency matters.
    func reading<Result: Sendable>(_ body: @Sendable () async throws -> Result) async rethrows -> Result {
        try await withTaskExecutorPreference(store.taskExecutor) { try await body() }
    }
}

extension Note {
    /// Notes with names that have no order, as CloudKit's own: the text of a UUID.
    static func generatedWithUUIDs(_ range: Range<Int>) -> [Note] {
        zip(range, generated(range)).map { number, note in
            Note(
                name: uuidName(number), title: note.title, text: note.text, viewCount: note.viewCount,
                revision: note.revision, rating: note.rating, editedAt: note.editedAt, isPinned: note.isPinned,
                digest: note.digest)
        }
    }

    static func uuidName(_ number: Int) -> String {
        var numbers = NumberSequence(seed: UInt64(number) &* 0x5851_F42D_4C95_7F2D)
        let digits = [numbers.next(), numbers.next()].map { word in
            let text = String(word, radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var name = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { name.append("-") }
            name.append(digit)
        }
        return name
    }
}
