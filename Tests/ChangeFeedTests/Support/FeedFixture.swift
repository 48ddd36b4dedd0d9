import ChangeFeed
import Foundation
import XCTest

/// A server to tell stories about: a container over a store, with a clock that stands still until it is moved and
/// randomness from a seed.
struct FeedFixture: Sendable {
    /// The server's time. Every test begins at the same second.
    final class Clock: Sendable {
        private let time = Locked(Date(timeIntervalSinceReferenceDate: 700_000_000))

        var now: Date { time.withLock { $0 } }

        func advance(by seconds: TimeInterval) {
            time.withLock { $0 += seconds }
        }
    }

    /// The same numbers for the same seed, in every process.
    struct Random: RandomNumberGenerator, Sendable {
        private var state: UInt64

        init(seed: UInt64) {
            state = seed
        }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    static let userID = "anna"

    let store: any ChangeStore
    let container: Container
    let clock: Clock
    let randomness: Locked<Random>

    init(
        store: (any ChangeStore)? = nil, limits: Limits = .cloudKit, clock: Clock = Clock(),
        randomness: Locked<Random> = Locked(Random(seed: 1))
    ) {
        let draw: @Sendable () -> UInt64 = { randomness.withLock { $0.next() } }
        let store = store ?? (StoreKind.current ?? .memory).make(randomness: draw)
        self.store = store
        self.clock = clock
        self.randomness = randomness
        container = Container(
            identifier: "test", store: store,
            configuration: .init(limits: limits, now: { clock.now }, randomness: draw))
    }

    /// The private database of the user whom the stories are about.
    var database: Database { container.database(.private, for: FeedFixture.userID) }

    /// A new container, as after a restart: over the same store, or over another that took its place.
    func reopened(over store: (any ChangeStore)? = nil) -> FeedFixture {
        FeedFixture(
            store: store ?? self.store, limits: container.configuration.limits, clock: clock, randomness: randomness)
    }
}

// MARK: - What the user's devices do

extension FeedFixture {
    @discardableResult
    func makeZone(_ name: String = "Notes") async throws -> RecordZone.ID {
        try await database.save(RecordZone(zoneName: name)).zoneID
    }

    func deleteZone(_ zoneID: RecordZone.ID) async throws {
        try await database.deleteRecordZone(withID: zoneID)
    }

    /// Writes each record with the title, whether it was there or not.
    @discardableResult
    func save(
        _ names: String..., title: String = "", type: String = "Note", in zoneID: RecordZone.ID
    ) async throws -> [Record] {
        try await save(names, title: title, type: type, in: zoneID)
    }

    @discardableResult
    func save(
        _ names: [String], title: String = "", type: String = "Note", in zoneID: RecordZone.ID
    ) async throws -> [Record] {
        let records = names.map { name in
            var record = Record(recordType: type, recordID: Record.ID(recordName: name, zoneID: zoneID))
            record["title"] = title
            return record
        }
        let results = try await database.modifyRecords(saving: records, savePolicy: .allKeys)
        return try results.saves.map { try $0.result.get() }
    }

    func delete(_ names: String..., in zoneID: RecordZone.ID) async throws {
        try await delete(names, in: zoneID)
    }

    func delete(_ names: [String], in zoneID: RecordZone.ID) async throws {
        let ids = names.map { Record.ID(recordName: $0, zoneID: zoneID) }
        let results = try await database.modifyRecords(saving: [], deleting: ids)
        for deletion in results.deletions { try deletion.result.get() }
    }

    /// `r1` to `r<count>`, written one after the other in as few requests as the limit allows.
    func fill(_ zoneID: RecordZone.ID, count: Int, title: String = "") async throws {
        let names = (1...count).map { "r\($0)" }
        for start in stride(from: 0, to: count, by: 400) {
            try await save(Array(names[start..<min(start + 400, count)]), title: title, in: zoneID)
        }
    }
}

// MARK: - Reading everything

extension FeedFixture {
    /// The token at which nothing is left to read now.
    func token(of zoneID: RecordZone.ID) async throws -> ZoneChangeToken {
        try await lastToken(pages(of: zoneID))
    }

    /// The database's token at which nothing is left to read now.
    func databaseToken() async throws -> DatabaseChangeToken {
        let pages = try await databasePages()
        return try XCTUnwrap(pages.last).changeToken
    }

    /// All pages of a zone, by hand; each is held to rule 6.3.2. `between` runs after every page that has a next.
    func pages(
        of zoneID: RecordZone.ID, since: ZoneChangeToken? = nil, limit: Int? = nil, keys: [String]? = nil,
        file: StaticString = #filePath, line: UInt = #line,
        between: (Int) async throws -> Void = { _ in }
    ) async throws -> [ZoneChanges] {
        var pages: [ZoneChanges] = []
        var token = since
        while pages.count < 10_000 {
            let page = try await database.recordZoneChanges(
                inZoneWith: zoneID, since: token, desiredKeys: keys, resultsLimit: limit)
            pages.append(page)
            if let limit, limit > 0 { XCTAssertLessThanOrEqual(page.changes.count, limit, file: file, line: line) }
            guard page.moreComing else { return pages }
            XCTAssertFalse(page.changes.isEmpty, "more is coming after an empty page", file: file, line: line)
            XCTAssertNotEqual(page.changeToken, token, "the token did not move", file: file, line: line)
            token = page.changeToken
            try await between(pages.count)
        }
        XCTFail("the pages do not end", file: file, line: line)
        return pages
    }

    /// All pages of the database, by hand; each is held to rule 6.3.2. `between` runs after every page that has a next.
    func databasePages(
        since: DatabaseChangeToken? = nil, limit: Int? = nil, file: StaticString = #filePath, line: UInt = #line,
        between: (Int) async throws -> Void = { _ in }
    ) async throws -> [DatabaseChanges] {
        var pages: [DatabaseChanges] = []
        var token = since
        while pages.count < 10_000 {
            let page = try await database.databaseChanges(since: token, resultsLimit: limit)
            pages.append(page)
            guard page.moreComing else { return pages }
            XCTAssertFalse(page.changes.isEmpty, "more is coming after an empty page", file: file, line: line)
            XCTAssertNotEqual(page.changeToken, token, "the token did not move", file: file, line: line)
            token = page.changeToken
            try await between(pages.count)
        }
        XCTFail("the pages do not end", file: file, line: line)
        return pages
    }

    private func lastToken(_ pages: [ZoneChanges]) throws -> ZoneChangeToken {
        try XCTUnwrap(pages.last).changeToken
    }
}

extension ZoneChanges {
    /// The page in words: `+name` for a record, `-name` for a deletion, `!name` for one that could not be given.
    var story: [String] {
        changes.map { change in
            switch change {
            case .modified(let record): "+\(record.recordID.recordName)"
            case .failed(let recordID, _): "!\(recordID.recordName)"
            case .deleted(let deletion): "-\(deletion.recordID.recordName)"
            }
        }
    }
}

extension DatabaseChanges {
    /// The page in words: `+zone` for a change, `-zone (reason)` for a deletion.
    var story: [String] {
        changes.map { change in
            switch change {
            case .modified(let zoneID): "+\(zoneID.zoneName)"
            case .deleted(let deletion): "-\(deletion.zoneID.zoneName) (\(deletion.reason))"
            }
        }
    }
}

/// What a device keeps of a zone: the titles of its records, by name.
struct LocalCopy: Equatable {
    var titles: [String: String] = [:]

    mutating func apply(_ page: ZoneChanges) {
        for change in page.changes {
            switch change {
            case .modified(let record): titles[record.recordID.recordName] = record["title"] ?? ""
            case .failed: break
            case .deleted(let deletion): titles[deletion.recordID.recordName] = nil
            }
        }
    }
}

// MARK: - Stores and errors

extension XCTestCase {
    /// Tells a story once over every kind of store there is.
    func forEachStore(limits: Limits = .cloudKit, _ story: (FeedFixture) async throws -> Void) async throws {
        for kind in StoreKind.current.map({ [$0] }) ?? StoreKind.allCases {
            let randomness = Locked(FeedFixture.Random(seed: 1))
            let store = kind.make { randomness.withLock { $0.next() } }
            do {
                try await story(FeedFixture(store: store, limits: limits, randomness: randomness))
            } catch {
                XCTFail("over \(kind.rawValue): \(error)")
                throw error
            }
        }
    }

    /// Expects a typed error with exactly these parts, and a message to show.
    @discardableResult
    func expectError<Success>(
        _ code: ChangeFeedError.Code, detail: ChangeFeedError.Detail? = nil, zoneID: RecordZone.ID? = nil,
        rule: String? = nil, _ story: String = "", file: StaticString = #filePath, line: UInt = #line,
        from body: () async throws -> Success
    ) async -> ChangeFeedError? {
        do {
            let success = try await body()
            XCTFail("\(story): no error but \(success)", file: file, line: line)
        } catch let error as ChangeFeedError {
            XCTAssertEqual(error.code, code, "\(story): \(error)", file: file, line: line)
            XCTAssertEqual(error.detail, detail, "\(story): \(error)", file: file, line: line)
            XCTAssertEqual(error.zoneID, zoneID, "\(story): \(error)", file: file, line: line)
            if let rule { XCTAssertEqual(error.rule, rule, "\(story): \(error)", file: file, line: line) }
            XCTAssertFalse(error.message.isEmpty, story, file: file, line: line)
            return error
        } catch {
            XCTFail("\(story): an untyped error, \(error)", file: file, line: line)
        }
        return nil
    }
}
