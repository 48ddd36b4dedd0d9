import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

@testable import ChangeFeedCommand

/// `changefeed inspect` as it is called: what it writes where, and the exit status.
final class InspectCommandTests: XCTestCase {
    func testTheTablesShowWhatTheStoreHas() async throws {
        let fixture = try await Fixture()
        let (status, console) = await run([fixture.path])
        XCTAssertEqual(status, .success)
        XCTAssertEqual(console.error, "")
        let zones = console.output.components(separatedBy: "\n\n")
        XCTAssertEqual(
            zones.first,
            """
            user  zone   life     records  tombstones  position  horizon  bytes
            anna  Gone   deleted        0           0         7        0      0
            anna  Notes  live           2           1         6        0     24
            ben   Notes  live           0           0         8        0      0
            """)
        XCTAssertEqual(zones.dropFirst().first, "head 8, epochs 1")
        for table in ["entry", "record", "tombstone", "zone"] {
            XCTAssertTrue(console.output.contains("\n\(table) "), table)
        }
    }

    func testAZonesChangesAreShownAndGoOnFromTheToken() async throws {
        let fixture = try await Fixture()
        let (status, console) = await run([fixture.path, "--zone", "Notes", "--user=anna"])
        XCTAssertEqual(status, .success)
        let lines = console.output.split(separator: "\n").map(String.init)
        XCTAssertEqual(lines.first, "change    record  type  tag              about")
        XCTAssertEqual(
            lines.dropFirst().map { $0.split(separator: " ").prefix(2).joined(separator: " ") }.dropLast(),
            [
                "modified a", "modified c",
            ])
        let token = try XCTUnwrap(lines.last?.split(separator: " ").last.map(String.init))

        try await fixture.save("d")
        let (_, later) = await run([fixture.path, "--zone", "Notes", "--user", "anna", "--since", token, "--json"])
        let object = try XCTUnwrap(JSONSerialization.jsonObject(with: Data(later.output.utf8)) as? [String: Any])
        let changes = try XCTUnwrap(object["changes"] as? [[String: Any]])
        XCTAssertEqual(changes.map { $0["record"] as? String }, ["d"])
        XCTAssertEqual(changes.map { $0["about"] as? String }, ["title"])
        XCTAssertNotNil(object["token"] as? String)
    }

    func testJSONIsOneObject() async throws {
        let fixture = try await Fixture()
        let (status, console) = await run([fixture.path, "--json"])
        XCTAssertEqual(status, .success)
        let object = try XCTUnwrap(JSONSerialization.jsonObject(with: Data(console.output.utf8)) as? [String: Any])
        XCTAssertEqual(Set(object.keys), ["head", "epochs", "zones", "tables"])
        XCTAssertEqual((object["zones"] as? [[String: Any]])?.map { $0["records"] as? Int }, [0, 2, 0])
    }

    func testAStoreIsShownWhileItIsBeingWritten() async throws {
        let fixture = try await Fixture()
        let (_, before) = await run([fixture.path, "--json"])
        let (status, during) = try await fixture.whileWriting("e") { await self.run([fixture.path, "--json"]) }
        XCTAssertEqual(status, .success)
        XCTAssertEqual(during.output, before.output, "what is not committed is not seen")
        let (_, after) = await run([fixture.path, "--zone=Notes", "--user=anna"])
        XCTAssertEqual(after.output.components(separatedBy: "\n").filter { $0.hasPrefix("modified  e ") }.count, 1)
    }

    func testThePublicDatabaseIsCountedAndHasNoChangesToShow() async throws {
        let fixture = try await Fixture()
        try await fixture.savePublicly("p")
        let (_, all) = await run([fixture.path])
        XCTAssertTrue(all.output.contains("\n      _defaultZone  live "), all.output)
        let (status, console) = await run([fixture.path, "--zone", "_defaultZone"])
        XCTAssertEqual(status, .refused)
        XCTAssertTrue(console.error.contains("is the public database's, which tracks no changes"), console.error)
    }

    func testWhatCannotBeShownIsRefusedInOneSentence() async throws {
        let fixture = try await Fixture()
        let text = fixture.folder.appendingPathComponent("text").path
        try Data("not a store".utf8).write(to: URL(fileURLWithPath: text))
        let cases: [([String], String)] = [
            ([], "name the file of a store"),
            ([fixture.path, "other"], "one file at a time"),
            ([fixture.path, "--zone", "Nowhere"], "the store has no zone \"Nowhere\""),
            ([fixture.path, "--zone", "Notes"], "2 users have a zone \"Notes\""),
            ([fixture.path, "--since", "x"], "--since needs --zone"),
            ([fixture.path, "--zone", "Notes", "--since", "x"], "--since takes a token"),
            ([fixture.path, "--zone", "Gone"], "There is no zone \"Gone\""),
            ([text], "the file is damaged"),
            ([fixture.folder.appendingPathComponent("nothing.db").path], "could not be opened"),
        ]
        for (arguments, sentence) in cases {
            let (status, console) = await run(arguments)
            XCTAssertEqual(status, .refused, sentence)
            XCTAssertEqual(console.output, "", sentence)
            XCTAssertTrue(console.error.hasPrefix("changefeed inspect: "), console.error)
            XCTAssertTrue(console.error.contains(sentence), console.error)
            XCTAssertEqual(console.error.filter { $0 == "\n" }.count, 1, console.error)
        }
    }

    private func run(_ arguments: [String]) async -> (ExitStatus, RecordedConsole) {
        let console = RecordedConsole()
        let status = await ChangeFeedTool(subcommands: [.inspect], console: console).run(["inspect"] + arguments)
        return (status, console)
    }
}

/// A store that stays open for writing while it is looked into.
private final class Fixture: Sendable {
    let folder: URL
    private let store: SQLiteStore
    private let database: Database
    private let zoneID = RecordZone.ID(zoneName: "Notes")

    var path: String { folder.appendingPathComponent("feed.db").path }

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("inspect-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try await SQLiteStore.open(at: folder.appendingPathComponent("feed.db"))
        let container = Container(
            identifier: "test", store: store,
            // The same numbers in every run: how long a tag is, and with it how wide its column, depends on them.
            configuration: .init(randomness: { 0xABCD_EF01_2345_6789 }))
        database = container.database(.private, for: "anna")
        try await database.save(RecordZone(zoneID: zoneID))
        try await database.save(RecordZone(zoneName: "Gone"))
        for name in ["a", "b", "c"] { try await save(name) }
        try await database.deleteRecord(withID: Record.ID(recordName: "b", zoneID: zoneID))
        try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "Gone"))
        try await container.database(.private, for: "ben").save(RecordZone(zoneID: zoneID))
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func savePublicly(_ name: String) async throws {
        let record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        try await Container(identifier: "test", store: store).database(.public, for: "anna").save(record)
    }

    /// Runs `body` while a transaction that writes is open, and saves a record after it.
    func whileWriting<Result: Sendable>(
        _ name: String, _ body: () async -> Result
    ) async throws -> Result {
        let isOver = DispatchSemaphore(value: 0)
        let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
        async let writing: Void = store.write { (writer) throws(ChangeFeedError) in
            _ = try writer.allocatePosition()
            beginning.finish()
            isOver.wait()
        }
        for await _ in begun {}
        let result = await body()
        isOver.signal()
        try await writing
        try await save(name)
        return result
    }

    func save(_ name: String) async throws {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
        record["title"] = "title"
        try await database.save(record)
    }
}
