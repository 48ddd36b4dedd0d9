import ChangeFeed
import Foundation
import XCTest

/// A feed with records that have assets, whose contents are in a store that the story can look into.
struct AssetStory: Sendable {
    let fixture: FeedFixture
    let store: any AssetStore
    let zoneID: RecordZone.ID
    let databaseID = DatabaseID.private(FeedFixture.userID)

    init(
        _ store: any AssetStore = InMemoryAssetStore(), over feed: (any ChangeStore)? = nil,
        configured configure: (inout Container.Configuration) -> Void = { _ in }
    ) async throws {
        self.store = store
        fixture = FeedFixture(over: feed, assets: store, configured: configure)
        zoneID = try await fixture.makeZone()
    }

    var database: Database { fixture.database }

    func recordID(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zoneID)
    }

    /// A record that no server has seen.
    func record(_ name: String, photo: Asset? = nil, pages: [Asset]? = nil) -> Record {
        var record = Record(recordType: "Note", recordID: recordID(name))
        record["title"] = name
        if let photo { record["photo"] = photo }
        if let pages { record["pages"] = pages }
        return record
    }

    func record(_ name: String, photo: String) -> Record {
        record(name, photo: Asset(data: Data(photo.utf8)))
    }

    // MARK: Writing

    /// Saves a record, whatever is there, and gives what a fetch gives.
    @discardableResult
    func save(_ name: String, photo: String? = nil, pages: [String]? = nil) async throws -> Record {
        try await save(
            record(
                name, photo: photo.map { Asset(data: Data($0.utf8)) },
                pages: pages?.map { Asset(data: Data($0.utf8)) }))
    }

    @discardableResult
    func save(_ record: Record) async throws -> Record {
        let results = try await database.modifyRecords(saving: [record], savePolicy: .allKeys)
        for save in results.saves { _ = try save.result.get() }
        return try await fetch(record.recordID)
    }

    /// Saves records in one request and gives the results in words.
    func outcome(
        saving records: Record..., policy: RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = false
    ) async throws -> [String] {
        try await database.modifyRecords(saving: records, savePolicy: policy, atomically: atomically).story
    }

    /// The one error of a request that saves one record.
    func error(
        saving record: Record, policy: RecordSavePolicy = .ifServerRecordUnchanged
    ) async throws -> ChangeFeedError? {
        try await database.modifyRecords(saving: [record], savePolicy: policy).errors[record.recordID]
    }

    func delete(_ names: String...) async throws {
        try await fixture.delete(names, in: zoneID)
    }

    // MARK: Reading

    func fetch(_ recordID: Record.ID) async throws -> Record {
        try await database.record(for: recordID)
    }

    func page(since token: ZoneChangeToken? = nil, keys: [String]? = nil) async throws -> ZoneChanges {
        try await database.recordZoneChanges(inZoneWith: zoneID, since: token, desiredKeys: keys)
    }

    func photo(of record: Record?) throws -> Asset {
        let record = try XCTUnwrap(record)
        let photo: Asset? = record["photo"]
        return try XCTUnwrap(photo)
    }

    func photo(_ name: String, of page: ZoneChanges) throws -> Asset {
        try photo(of: page.modifications.first { $0.recordID.recordName == name })
    }

    func key(_ text: String) -> AssetKey {
        AssetKey(AssetHash(digest: SHA256.hash(text.utf8)), in: databaseID)
    }

    /// Where a store in files has a content.
    func path(_ text: String) -> String {
        let key = key(text)
        return "contents/\(key.ownerName)/\(key.contentName.prefix(2))/\(key.contentName)"
    }

    /// Which of the texts are in the asset store.
    func stored(_ texts: String...) throws -> [String] {
        try texts.filter { try store.size(of: key($0)) != nil }
    }

    /// The keys of a table of the feed's store.
    func rows(of table: MetaTable) async throws -> [String] {
        try await keys(of: table, in: fixture.store)
    }

    // MARK: Collecting

    /// The steps of a compaction to its end.
    func compact(stepBudget: Int = 100) async throws -> [CompactionStep] {
        var steps: [CompactionStep] = []
        while steps.last?.isComplete != true {
            guard steps.count < 10_000 else { throw ChangeFeedError(.internalError, "The compaction does not end.") }
            steps.append(try await fixture.container.compact(stepBudget: stepBudget))
        }
        return steps
    }

    /// How many contents a compaction to its end removes.
    @discardableResult
    func collect() async throws -> Int {
        try await compact().reduce(0) { $0 + $1.assets }
    }
}

extension FeedFixture {
    /// A server with an asset store that a test can look into; the clock and the seeded randomness stay.
    init(
        over store: (any ChangeStore)?, assets: any AssetStore,
        configured configure: (inout Container.Configuration) -> Void
    ) {
        let (clock, randomness) = (Clock(), Locked(Random(seed: 1)))
        let draw: @Sendable () -> UInt64 = { randomness.withLock { $0.next() } }
        let store = store ?? (StoreKind.current ?? .memory).make(randomness: draw)
        var configuration = Container.Configuration(now: { clock.now }, randomness: draw)
        configure(&configuration)
        self.store = store
        self.clock = clock
        self.randomness = randomness
        container = Container(identifier: "test", store: store, assets: assets, configuration: configuration)
    }
}

/// The keys of a table of a store.
func keys(of table: MetaTable, in store: any ChangeStore) async throws -> [String] {
    try await store.read { (store) throws(ChangeFeedError) in
        var rows: [String] = []
        try store.scanMeta(of: table, from: "") { key, _ in
            rows.append(key)
            return .next
        }
        return rows
    }
}

extension URL {
    var isThere: Bool { FileManager.default.fileExists(atPath: path) }
}
