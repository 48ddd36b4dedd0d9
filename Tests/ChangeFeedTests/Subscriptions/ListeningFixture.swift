import ChangeFeed
import XCTest

/// A server with a clock for waits that a test moves, and users with a zone each.
struct ListeningFixture: Sendable {
    let clock = ManualClock()
    let container: Container
    let zoneID = RecordZone.ID(zoneName: "Notes")

    init(store: any ChangeStore = InMemoryStore()) {
        var configuration = Container.Configuration()
        configuration.clock = clock
        container = Container(identifier: "test", store: store, configuration: configuration)
    }

    func database(of userID: String = "anna") -> Database { container.database(.private, for: userID) }

    /// A device on which a user is signed in.
    func device(_ deviceID: String, of userID: String = "anna") -> Device {
        let device = container.device(deviceID)
        device.signIn(userID)
        return device
    }

    @discardableResult
    func makeZone(_ name: String = "Notes", of userID: String = "anna") async throws -> RecordZone.ID {
        try await database(of: userID).save(RecordZone(zoneName: name)).zoneID
    }
}

extension RecordDatabase {
    /// Writes one record, whether it was there or not.
    @discardableResult
    func write(
        _ name: String, title: String = "", type: String = "Note", in zoneID: RecordZone.ID
    ) async throws -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: name, zoneID: zoneID))
        record["title"] = title
        let results = try await modifyRecords(saving: [record], savePolicy: .allKeys)
        return try XCTUnwrap(results.saves.first).result.get()
    }

    /// The token at which nothing is left to read.
    func latestToken() async throws -> DatabaseChangeToken {
        var token: DatabaseChangeToken?
        for try await page in databaseChangePages(since: nil) { token = page.changeToken }
        return try XCTUnwrap(token)
    }
}

extension ChangeNotification {
    /// The hint in a word: its zone, or `*` for a pruned one.
    var story: String { isPruned ? "*" : zoneID?.zoneName ?? "?" }
}

/// A store that a test can make fail when it is read.
final class FailingStore: ChangeStore {
    private let store: InMemoryStore
    let failsReads = Locked(false)

    init(_ store: InMemoryStore = InMemoryStore()) {
        self.store = store
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        if failsReads.withLock({ $0 }) { throw ChangeFeedError(.internalError, "The disk is gone.") }
        return try await store.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try await store.write(body)
    }
}
