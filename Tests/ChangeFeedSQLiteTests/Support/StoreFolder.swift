import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// A folder of its own for the files of a test, which goes with it.
final class StoreFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("sqlite-store-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String = "feed.db") -> URL {
        url.appendingPathComponent(name)
    }
}

extension SQLiteStore.Configuration {
    /// As little as a test needs.
    static func small(
        _ durability: SQLiteStore.Configuration.Durability = .normal, fileSystem: String? = nil
    ) -> SQLiteStore.Configuration {
        let numbers = Locked(UInt64(1))
        var configuration = SQLiteStore.Configuration(
            durability: durability, readers: 2, cacheSize: 1 << 20,
            randomness: {
                numbers.withLock { number in
                    number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return number
                }
            })
        configuration.fileSystem = fileSystem
        return configuration
    }
}

/// One user's notes in a store: what the stories of these tests are about.
struct Notes: Sendable {
    let container: Container
    let database: Database
    let zoneID = RecordZone.ID(zoneName: "Notes")

    init(over store: any ChangeStore) {
        container = Container(identifier: "test", store: store)
        database = container.database(.private, for: "anna")
    }

    func makeZone() async throws {
        try await database.save(RecordZone(zoneID: zoneID))
    }

    func note(_ name: String, _ text: String) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
        record["text"] = text
        return record
    }

    /// Saves notes with one text in one atomic batch, whether they were there or not.
    @discardableResult
    func save(_ names: [String], _ text: String) async throws -> [Record] {
        let results = try await database.modifyRecords(
            saving: names.map { note($0, text) }, savePolicy: .allKeys, atomically: true)
        return try results.saves.map { try $0.result.get() }
    }

    /// The text of every note, as somebody reads it who has nothing.
    func texts() async throws -> [String: String] {
        var texts: [String: String] = [:]
        try await follow(&texts, since: nil)
        return texts
    }

    /// Brings what somebody has up to date, from where he is.
    @discardableResult
    func follow(_ texts: inout [String: String], since token: ZoneChangeToken?) async throws -> ZoneChangeToken? {
        var token = token
        for try await page in database.recordZoneChangePages(inZoneWith: zoneID, since: token) {
            for change in page.changes {
                switch change {
                case .modified(let record): texts[record.recordID.recordName] = record["text"] ?? ""
                case .deleted(let deletion): texts[deletion.recordID.recordName] = nil
                case .failed(let recordID, let error): throw Unreadable(recordID: recordID, error: error)
                }
            }
            token = page.changeToken
        }
        return token
    }

    struct Unreadable: Error {
        let recordID: Record.ID
        let error: ChangeFeedError
    }
}

extension XCTestCase {
    /// Expects a typed error of a code, with a message that says something.
    @discardableResult
    func expectError<Success>(
        _ code: ChangeFeedError.Code, detail: ChangeFeedError.Detail? = nil, _ story: String = "",
        file: StaticString = #filePath, line: UInt = #line, from body: () async throws -> Success
    ) async -> ChangeFeedError? {
        do {
            let success = try await body()
            XCTFail("\(story): no error but \(success)", file: file, line: line)
        } catch let error as ChangeFeedError {
            XCTAssertEqual(error.code, code, "\(story): \(error)", file: file, line: line)
            XCTAssertEqual(error.detail, detail, "\(story): \(error)", file: file, line: line)
            XCTAssertFalse(error.message.isEmpty, story, file: file, line: line)
            return error
        } catch {
            XCTFail("\(story): an untyped error, \(error)", file: file, line: line)
        }
        return nil
    }
}
