import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// A file of each version of the layout that has something of everything in it, opened by this one.
///
/// The files stand in `Fixtures`. To write that of the present version, once, when it is released:
/// `CHANGEFEED_WRITE_EVERYTHING=DIRECTORY swift test --filter MigrationOfEverythingTests`.
final class MigrationOfEverythingTests: XCTestCase {
    private static let present = 1

    func testEverythingThatAVersionHeldIsThere() async throws {
        try await forEachVersion { everything, _ in
            let database = everything.database
            let page = try await database.recordZoneChanges(inZoneWith: Everything.notes, since: nil)
            XCTAssertEqual(
                page.modifications.map(\.recordID.recordName),
                ["parent", "child", "owner", "values", "owned", "repeated"])
            let values = try XCTUnwrap(page.modifications.first { $0.recordID.recordName == "values" })
            XCTAssertEqual(Set(values.allKeys), Set(Everything.values.keys))
            for (key, value) in Everything.values { XCTAssertEqual(values[key], value, key) }
            XCTAssertEqual(values.recordType, "Values")
            XCTAssertEqual(Set(values.encryptedValues.allKeys), Set(Everything.sealed.keys))
            for (key, value) in Everything.sealed { XCTAssertEqual(values.encryptedValues[key], value, key) }
            XCTAssertEqual(values.creationDate, Date(timeIntervalSinceReferenceDate: 700_000_000))

            let subscriptions = try await database.allSubscriptions()
            XCTAssertEqual(subscriptions, Everything.subscriptions)
            let schema = try await everything.container.schema()
            XCTAssertEqual(Set(schema.recordTypes.keys), ["Note", "Values"])
            XCTAssertEqual(
                Set(schema.recordTypes["Values"]?.encryptedFields.keys ?? [:].keys), Set(Everything.sealed.keys))
            let bertas = try await everything.container.database(.private, for: "berta")
                .recordZoneChanges(inZoneWith: Everything.notes, since: nil)
            XCTAssertEqual(bertas.modifications.map(\.allKeys), [[]])
        }
    }

    func testTokensThatWereGivenThenGoOnOrExpireAsTheyDid() async throws {
        try await forEachVersion { everything, tokens in
            let database = everything.database
            let since = try await database.recordZoneChanges(
                inZoneWith: Everything.notes, since: try ZoneChangeToken(data: tokens.middle))
            XCTAssertEqual(since.modifications.map(\.recordID.recordName), ["values", "owned", "repeated"])
            XCTAssertEqual(since.deletions.map(\.recordID.recordName), ["gone"])
            let changes = try await database.databaseChanges(since: try DatabaseChangeToken(data: tokens.database))
            XCTAssertEqual(
                Set(changes.deletions.map { "\($0.zoneID.zoneName): \($0.reason)" }),
                ["Gone: deleted", "Again: deleted", "Purged: purged", "Reset: encryptedDataReset"])
            XCTAssertEqual(Set(changes.modifications.map(\.zoneName)), ["Notes", "Again"])
            do throws(ChangeFeedError) {
                _ = try await database.recordZoneChanges(
                    inZoneWith: Everything.notes, since: try ZoneChangeToken(data: tokens.early))
                XCTFail("what was discarded is forgotten")
            } catch {
                XCTAssertEqual(error.code, .changeTokenExpired)
            }
        }
    }

    func testRulesGoOnWithWhatAVersionHeld() async throws {
        try await forEachVersion { everything, _ in
            let database = everything.database
            // A request is known again, and a link has its say in a deletion.
            let before = try await database.record(for: Everything.id("repeated")).recordChangeTag
            let results = try await database.modifyRecords(Everything.repeated)
            XCTAssertEqual(try results.saves.first?.result.get().recordChangeTag, before)
            try await database.deleteRecord(withID: Everything.id("owner"))
            let page = try await database.recordZoneChanges(inZoneWith: Everything.notes, since: nil)
            XCTAssertEqual(
                page.modifications.map(\.recordID.recordName), ["parent", "child", "values", "repeated"])
        }
    }

    func testTheFixtureOfThePresentVersionIsWrittenWhereItIsAskedFor() async throws {
        guard let directory = ProcessInfo.processInfo.environment["CHANGEFEED_WRITE_EVERYTHING"] else {
            throw XCTSkip("No fixture is asked for.")
        }
        let target = URL(fileURLWithPath: directory).appendingPathComponent("version\(Self.present)-everything")
        let store = try await SQLiteStore.open(
            at: target.appendingPathExtension("db"), configuration: .small(.full))
        let tokens = try await Everything(over: store).happen()
        await store.close()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(tokens).write(to: target.appendingPathExtension("json"))
    }

    private func forEachVersion(_ story: (Everything, Everything.Tokens) async throws -> Void) async throws {
        let fixtures = try XCTUnwrap(Bundle.module.url(forResource: "Fixtures", withExtension: nil))
        for version in 1...Self.present {
            // A copy of the file, for opening it may rewrite it.
            let folder = try StoreFolder()
            let name = "version\(version)-everything"
            try FileManager.default.copyItem(at: fixtures.appendingPathComponent("\(name).db"), to: folder.file())
            let tokens = try JSONDecoder().decode(
                Everything.Tokens.self, from: Data(contentsOf: fixtures.appendingPathComponent("\(name).json")))
            let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
            let findings = try await store.integrityCheck()
            XCTAssertEqual(findings, [], name)
            try await story(Everything(over: store), tokens)
            await store.close()
        }
    }
}
