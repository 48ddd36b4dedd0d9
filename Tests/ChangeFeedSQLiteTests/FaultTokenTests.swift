import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// What tokens and tags that were given before a fault say after it, and that a fault that passes leaves a store at work.
final class FaultTokenTests: XCTestCase {
    private static let steps = 6

    /// What a reader had at a time.
    private struct Reading {
        let token: ZoneChangeToken?
        let texts: [String: String]
    }

    /// What came of a run of the script.
    private struct Account {
        var readings: [Reading] = []
        var versions: [String: String] = [:]
        var acknowledged = 0
        /// How many records were said to be unreadable.
        var unreadable = 0
        /// What the caller was told, in order.
        var failures: [ChangeFeedError] = []
        var texts: [String: String] = [:]
    }

    func test6_1_5_tokensGivenBeforeAPowerCutGoOnAfterIt() async throws {
        try await cutPowerEverywhere(.full)
    }

    func test6_1_5_tokensOfWhatAPowerCutTookExpire() async throws {
        try await cutPowerEverywhere(.normal)
    }

    func testAFaultThatPassesLeavesTheStoreAtWork() async throws {
        let counts = try await self.counts()
        for operation in FaultyFileSystem.Operation.allCases {
            for number in 1...max(1, counts[operation] ?? 0) {
                let story = "\(operation) \(number)"
                let folder = try StoreFolder()
                let fileSystem = try FaultyFileSystem()
                fileSystem.fail(operation, number: number)
                guard let store = try await open(folder.file(), .full, fileSystem) else {
                    // Opening failed: the next attempt does not.
                    let store = try await open(folder.file(), .full, fileSystem)
                    XCTAssertNotNil(store, story)
                    await store?.close()
                    continue
                }
                // What fails once is tried once more, and then it is done.
                let account = try await script(Notes(over: store), attempts: 2)
                XCTAssertEqual(account.acknowledged, Self.steps, story)
                XCTAssertLessThanOrEqual(account.failures.count, 1, "\(story): \(account.failures)")
                XCTAssertEqual(account.unreadable, 0, "\(story): a whole record is said to be damaged")
                XCTAssertEqual(account.texts, expected(after: Self.steps), story)
                await store.close()
                let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
                try await check(account, over: again, .full, story)
                await again.close()
            }
        }
    }

    private func cutPowerEverywhere(_ durability: SQLiteStore.Configuration.Durability) async throws {
        let folder = try StoreFolder()
        let counted = try FaultyFileSystem()
        let store = try await open(folder.file(), durability, counted)
        _ = try await script(Notes(over: try XCTUnwrap(store)))
        await store?.close()
        for number in 1...counted.changeCount {
            let folder = try StoreFolder()
            let fileSystem = try FaultyFileSystem()
            fileSystem.cutPower(atChange: number)
            var account = Account()
            if let store = try await open(folder.file(), durability, fileSystem) {
                account = try await script(Notes(over: store))
                await store.close()
            }
            try fileSystem.losePowerAndRestore(seed: UInt64(number))
            let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
            try await check(account, over: again, durability, "\(durability), power cut at \(number)")
            await again.close()
        }
    }

    /// Old tokens lead to what is there, or say that the history is another; tags stand for what they stood for.
    private func check(
        _ account: Account, over store: SQLiteStore, _ durability: SQLiteStore.Configuration.Durability, _ story: String
    ) async throws {
        let notes = Notes(over: store)
        if try await !notes.database.allRecordZones().contains(where: { $0.zoneID == notes.zoneID }) {
            try await notes.makeZone()
        }
        for text in [nil, "later", "latest"] {
            if let text { try await notes.save(["later"], text) }
            let texts = try await notes.texts()
            for (index, reading) in account.readings.enumerated() {
                var held = reading.texts
                do {
                    try await notes.follow(&held, since: reading.token)
                    XCTAssertEqual(held, texts, "\(story): token \(index) leads elsewhere")
                } catch let error as ChangeFeedError {
                    XCTAssertEqual(durability, .normal, "\(story): token \(index): \(error)")
                    XCTAssertEqual(error.code, .changeTokenExpired, "\(story): token \(index): \(error)")
                    XCTAssertEqual(error.detail, .historyReset, "\(story): token \(index): \(error)")
                }
            }
        }
        for try await page in notes.database.recordZoneChangePages(inZoneWith: notes.zoneID, since: nil) {
            for record in page.modifications {
                let version = FaultTokenTests.version(record)
                let tag = try XCTUnwrap(record.recordChangeTag)
                XCTAssertEqual(account.versions[tag] ?? version, version, "\(story): a tag came twice")
            }
        }
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [], story)
    }

    private func open(
        _ url: URL, _ durability: SQLiteStore.Configuration.Durability, _ fileSystem: FaultyFileSystem
    ) async throws -> SQLiteStore? {
        do throws(ChangeFeedError) {
            return try await SQLiteStore.open(at: url, configuration: .small(durability, fileSystem: fileSystem.name))
        } catch {
            return nil
        }
    }

    /// Runs the steps until one fails so many times, and reads after each as a device would.
    private func script(_ notes: Notes, attempts: Int = 1) async throws -> Account {
        var account = Account()
        var token: ZoneChangeToken?
        for step in 0..<Self.steps {
            for attempt in 1...attempts {
                do {
                    if account.acknowledged == step {
                        for record in try await perform(step, notes) {
                            account.versions[try XCTUnwrap(record.recordChangeTag)] = Self.version(record)
                        }
                        account.acknowledged += 1
                    }
                    var texts = account.texts
                    token = try await notes.follow(&texts, since: token)
                    account.texts = texts
                    account.readings.append(Reading(token: token, texts: texts))
                    break
                } catch let error as Notes.Unreadable {
                    account.failures.append(error.error)
                    account.unreadable += 1
                    if attempt == attempts { return account }
                } catch let error as ChangeFeedError {
                    account.failures.append(error)
                    if attempt == attempts { return account }
                }
            }
        }
        return account
    }

    private func perform(_ step: Int, _ notes: Notes) async throws -> [Record] {
        switch step {
        case 0:
            try await notes.makeZone()
            return []
        case 3:
            let results = try await notes.database.modifyRecords(
                saving: [notes.note("d", "3")], deleting: [notes.note("a", "").recordID], savePolicy: .allKeys)
            for deletion in results.deletions { try deletion.result.get() }
            return try results.saves.map { try $0.result.get() }
        case 4: return try await notes.save(["b", "e"], "4")
        default: return try await notes.save(["a", "b", "c"], String(step))
        }
    }

    private func expected(after steps: Int) -> [String: String] {
        var texts: [String: String] = [:]
        for step in 1..<steps {
            switch step {
            case 3: (texts["d"], texts["a"]) = ("3", nil)
            case 4: (texts["b"], texts["e"]) = ("4", "4")
            default: for name in ["a", "b", "c"] { texts[name] = String(step) }
            }
        }
        return texts
    }

    private func counts() async throws -> [FaultyFileSystem.Operation: Int] {
        let folder = try StoreFolder()
        let fileSystem = try FaultyFileSystem()
        let store = try await open(folder.file(), .full, fileSystem)
        let account = try await script(Notes(over: try XCTUnwrap(store)))
        XCTAssertEqual(account.texts, expected(after: Self.steps))
        let counts = FaultyFileSystem.Operation.allCases.map { ($0, fileSystem.count(of: $0)) }
        await store?.close()
        return Dictionary(uniqueKeysWithValues: counts)
    }

    private static func version(_ record: Record) -> String {
        "\(record.recordID.recordName): \(record["text"] ?? "")"
    }
}
