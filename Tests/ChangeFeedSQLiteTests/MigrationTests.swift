import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// A file of every version of the layout is opened by this one, with all that was in it.
///
/// The files stand in `Fixtures`. To write that of the present version, once, when it is released:
/// `CHANGEFEED_WRITE_FIXTURE=DIRECTORY swift test --filter MigrationTests`.
final class MigrationTests: XCTestCase {
    private static let seconds: TimeInterval = 700_000_000
    private let present = 1

    func testFilesOfEveryVersionAreOpenedAndTheirTokensWork() async throws {
        for version in 1...present {
            // Given: a copy of the file, for opening it may rewrite it.
            let folder = try StoreFolder()
            let fixtures = try XCTUnwrap(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
            try FileManager.default.copyItem(
                at: fixtures.appendingPathComponent("version\(version).db"), to: folder.file())
            let kept = try JSONDecoder().decode(
                Tokens.self, from: Data(contentsOf: fixtures.appendingPathComponent("version\(version).json")))

            // When: it is opened.
            let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
            let findings = try await store.integrityCheck()
            XCTAssertEqual(findings, [], "version \(version)")
            let database = MigrationTests.container(over: store).database(.private, for: "anna")

            // Then: it has what was written to it.
            let zones = try await database.databaseChanges(since: nil)
            XCTAssertEqual(zones.modifications.map(\.zoneName).sorted(), ["Again", "Notes"])
            let first = try await database.recordZoneChanges(inZoneWith: MigrationTests.notes, since: nil)
            XCTAssertEqual(first.modifications.map(\.recordID.recordName), ["parent", "child", "values", "secret"])
            let values = try XCTUnwrap(first.modifications.first { $0.recordID.recordName == "values" })
            XCTAssertEqual(values["text"], "é and e\u{301}")
            XCTAssertEqual(values["number"], Int64.min)
            XCTAssertEqual((values["real"] as Double?)?.isNaN, true)
            XCTAssertEqual(values["list"], [1, 2, 3])
            XCTAssertEqual(values["date"], Date(timeIntervalSinceReferenceDate: 0.125))
            XCTAssertEqual(
                first.modifications.first { $0.recordID.recordName == "child" }?.parent?.recordID.recordName, "parent")

            // And the tokens that were given then go on from where they were.
            let since = try await database.recordZoneChanges(
                inZoneWith: MigrationTests.notes, since: try ZoneChangeToken(data: kept.notes))
            XCTAssertEqual(since.modifications.map(\.recordID.recordName), ["values", "secret"])
            XCTAssertEqual(since.deletions.map(\.recordID.recordName), ["gone"])
            let changes = try await database.databaseChanges(since: try DatabaseChangeToken(data: kept.database))
            XCTAssertEqual(changes.deletions.map(\.zoneID.zoneName).sorted(), ["Again", "Gone"])

            // And it is written to.
            try await database.save(
                Record(recordType: "Note", recordID: .init(recordName: "new", zoneID: MigrationTests.notes)))
            let after = try await database.recordZoneChanges(inZoneWith: MigrationTests.notes, since: first.changeToken)
            XCTAssertEqual(after.modifications.map(\.recordID.recordName), ["new"])
            await store.close()
        }
    }

    func testTheFixtureOfThePresentVersionIsWrittenWhereItIsAskedFor() async throws {
        guard let directory = ProcessInfo.processInfo.environment["CHANGEFEED_WRITE_FIXTURE"] else {
            throw XCTSkip("No fixture is asked for.")
        }
        let target = URL(fileURLWithPath: directory).appendingPathComponent("version\(present)")
        let store = try await SQLiteStore.open(
            at: target.appendingPathExtension("db"), configuration: .small(.full))
        let tokens = try await MigrationTests.fill(store)
        await store.close()
        try JSONEncoder().encode(tokens).write(to: target.appendingPathExtension("json"))
    }

    /// Tokens from the middle of the fixture's history.
    private struct Tokens: Codable {
        let notes: Data
        let database: Data
    }

    private static let notes = RecordZone.ID(zoneName: "Notes")

    private static func container(over store: any ChangeStore) -> Container {
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        return Container(identifier: "test", store: store, configuration: .init(now: { date }, randomness: { 42 }))
    }

    private static func fill(_ store: any ChangeStore) async throws -> Tokens {
        let database = container(over: store).database(.private, for: "anna")
        for name in ["Notes", "Gone", "Again"] { try await database.save(RecordZone(zoneName: name)) }
        func record(_ name: String) -> Record {
            Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: notes))
        }
        try await database.save(record("parent"))
        var child = record("child")
        child.setParent(record("parent").recordID)
        try await database.save(child)
        try await database.save(record("gone"))
        let tokens = Tokens(
            notes: try await database.recordZoneChanges(inZoneWith: notes, since: nil).changeToken.data,
            database: try await database.databaseChanges(since: nil).changeToken.data)
        var values = record("values")
        values["text"] = "é and e\u{301}"
        values["number"] = Int64.min
        values["real"] = Double.nan
        values["list"] = [1, 2, 3]
        values["date"] = Date(timeIntervalSinceReferenceDate: 0.125)
        values["place"] = Location(latitude: 1, longitude: 2)
        values["bytes"] = Data([0, 255])
        values["owner"] = Record.Reference(recordID: record("parent").recordID, action: .deleteSelf)
        try await database.save(values)
        var secret = record("secret")
        secret["title"] = "a secret's title"
        try await database.save(secret)
        try await database.deleteRecord(withID: record("gone").recordID)
        for name in ["Gone", "Again"] { try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: name)) }
        try await database.save(RecordZone(zoneName: "Again"))
        return tokens
    }
}
