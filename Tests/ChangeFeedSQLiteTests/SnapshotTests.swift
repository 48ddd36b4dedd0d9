import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Putting a store back to an earlier state of its own, of another's, and with a disk that fails (rule 6.1.5).
final class SnapshotTests: XCTestCase {
    func test6_1_5_aSnapshotPutBackTwiceTellsTheHistoriesApart() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        var held: [String: String] = [:]
        let early = try await notes.follow(&held, since: nil)
        let snapshot = try await store.snapshot()
        var tokens: [ZoneChangeToken?] = []
        var tags: Set<String> = []
        for history in ["two", "three", "four"] {
            let saved = try await notes.save(["a", "b"], history)
            for record in saved { XCTAssertTrue(tags.insert(try XCTUnwrap(record.recordChangeTag)).inserted) }
            var texts = held
            tokens.append(try await notes.follow(&texts, since: early))
            XCTAssertEqual(texts, ["a": history, "b": history], "who stopped before the snapshot goes on")
            try await notes.container.restoreFromSnapshot(snapshot)
            let restored = try await notes.texts()
            XCTAssertEqual(restored, ["a": "one"])
        }
        try await notes.save(["c"], "five")
        for token in tokens {
            await expectError(.changeTokenExpired, detail: .historyReset) {
                try await notes.database.recordZoneChanges(inZoneWith: notes.zoneID, since: token)
            }
        }
        try await notes.follow(&held, since: early)
        XCTAssertEqual(held, ["a": "one", "c": "five"])
        await store.close()
    }

    func testASnapshotOfAnotherStoreIsRefusedOrTakenAsAWhole() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "mine")
        var configuration = SQLiteStore.Configuration.small()
        configuration.randomness = SQLiteStore.Configuration().randomness
        let other = try await SQLiteStore.open(at: folder.file("other.db"), configuration: configuration)
        let others = Notes(over: other)
        try await others.makeZone()
        try await others.save(["a", "b"], "another's")
        let snapshot = try await other.snapshot()

        let expected: [String: String]
        do throws(ChangeFeedError) {
            try await notes.container.restoreFromSnapshot(snapshot)
            expected = ["a": "after", "b": "another's"]
        } catch {
            XCTAssertEqual(error.code, .invalidArguments, "\(error)")
            expected = ["a": "after"]
        }
        // Whichever it was: a note is found by its name, and there is one of each.
        try await notes.save(["a"], "after")
        var names: [String] = []
        for try await page in notes.database.recordZoneChangePages(inZoneWith: notes.zoneID, since: nil) {
            names += page.modifications.map(\.recordID.recordName)
        }
        XCTAssertEqual(names.sorted(), expected.keys.sorted(), "a note is there twice")
        for (name, text) in expected {
            let record = try? await notes.database.record(for: notes.note(name, "").recordID)
            XCTAssertEqual(record?["text"], text, "\(name) is not found by its name")
        }
        await store.close()
        await other.close()
    }

    func testARestoreThatFailsLeavesOneStateOrTheOther() async throws {
        // Given: how often a restore that succeeds changes the disk.
        let total = try await restore("without a fault") { _, _ in }
        XCTAssertGreaterThan(total, 0)
        for number in 1...total + 1 {
            for operation in [FaultyFileSystem.Operation.write, .sync, .open, .truncate] {
                _ = try await restore("\(operation) \(number)") { fileSystem, counts in
                    fileSystem.fail(operation, number: counts(operation) + number)
                }
            }
        }
    }

    /// Restores a snapshot with a fault; gives how often the disk was changed.
    private func restore(
        _ story: String, _ plan: (FaultyFileSystem, (FaultyFileSystem.Operation) -> Int) -> Void
    ) async throws -> Int {
        let folder = try StoreFolder()
        let fileSystem = try FaultyFileSystem()
        let store = try await SQLiteStore.open(
            at: folder.file(), configuration: .small(.full, fileSystem: fileSystem.name))
        let notes = Notes(over: store)
        try await notes.makeZone()
        let first = try await notes.save(["a"], "one")
        let snapshot = try await store.snapshot()
        let lost = try await notes.save(["a", "b"], "two")
        let before = fileSystem.changeCount
        plan(fileSystem, { fileSystem.count(of: $0) })
        var wasRestored = true
        do throws(ChangeFeedError) {
            try await notes.container.restoreFromSnapshot(snapshot)
        } catch {
            wasRestored = false
        }
        let changes = fileSystem.changeCount - before
        fileSystem.reset()

        // Then: it is the one state or the other, what it says is so, and it goes on with tags of its own.
        let texts = try await notes.texts()
        XCTAssertEqual(texts, wasRestored ? ["a": "one"] : ["a": "two", "b": "two"], story)
        let later = try await notes.save(["c", "d", "e"], "three").map(\.recordChangeTag)
        XCTAssertTrue(Set(later).isDisjoint(with: (first + lost).map(\.recordChangeTag)), "\(story): a tag came twice")
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [], story)
        await store.close()
        let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let after = try await Notes(over: again).texts()
        XCTAssertEqual(after, texts.merging(["c": "three", "d": "three", "e": "three"]) { $1 }, story)
        await again.close()
        return changes
    }
}
