import CSQLite
import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// What the caller is told, and what is there afterwards, when the system below SQLite fails.
final class FaultTests: XCTestCase {
    /// The batches of the script: the notes of each, saved with its number as their text.
    private let batches = [["a", "b", "c"], ["b", "d"], ["e"], ["a", "b", "c", "d", "e"], ["f", "g"]]

    /// What came of a run: which batches were acknowledged, and whether anything was.
    private struct Outcome {
        var acknowledged: [Int] = []
        var errors: [ChangeFeedError] = []
    }

    func testEveryWriteSyncOrOpenMayFailOnce() async throws {
        try await failEach([.write, .sync, .open, .truncate, .sharedMemoryMap, .sharedMemoryLock], .once)
    }

    func testEveryWriteSyncOrOpenMayFailFromThenOn() async throws {
        try await failEach([.write, .sync, .open, .truncate], .fromThenOn)
    }

    func testAFullDiskIsToldAndLosesNothing() async throws {
        let total = try await countedRun().writes
        var told = 0
        for number in 1...total {
            let outcome = try await run("full at write \(number)") {
                $0.fail(.write, number: number, as: SQLITE_FULL, .fromThenOn)
            }
            for error in outcome.errors {
                XCTAssertEqual(error.code, .serviceUnavailable, "full at write \(number): \(error)")
            }
            told += outcome.errors.isEmpty ? 0 : 1
        }
        XCTAssertGreaterThan(told, total / 2)
    }

    func testWhatWasAcknowledgedSurvivesAPowerCutAtAnyMoment() async throws {
        let total = try await countedRun().changes
        for number in 1...total {
            _ = try await run("power cut at \(number)", cutSeed: UInt64(number)) { $0.cutPower(atChange: number) }
        }
    }

    func testNormalDurabilityLosesTheLatestOnlyAndKeepsBatchesWhole() async throws {
        let total = try await countedRun().changes
        for number in 1...total {
            _ = try await run("power cut at \(number)", .normal, cutSeed: UInt64(number)) {
                $0.cutPower(atChange: number)
            }
        }
    }

    private func failEach(
        _ operations: [FaultyFileSystem.Operation], _ persistence: FaultyFileSystem.Persistence
    ) async throws {
        let counts = try await countedRun()
        for operation in operations {
            for number in 1...max(1, counts.byOperation[operation] ?? 1) {
                _ = try await run("\(operation) \(number) \(persistence)") {
                    $0.fail(operation, number: number, persistence)
                }
            }
        }
    }

    private struct Counts {
        var byOperation: [FaultyFileSystem.Operation: Int] = [:]
        var changes = 0
        var writes: Int { byOperation[.write] ?? 0 }
    }

    /// How often a run without faults does each thing.
    private func countedRun() async throws -> Counts {
        let folder = try StoreFolder()
        let fileSystem = try FaultyFileSystem()
        let outcome = try await script(folder.file(), fileSystem, .full)
        XCTAssertEqual(outcome.acknowledged, Array(batches.indices))
        var counts = Counts(changes: fileSystem.changeCount)
        for operation in FaultyFileSystem.Operation.allCases {
            counts.byOperation[operation] = fileSystem.count(of: operation)
        }
        return counts
    }

    /// Runs the script with a fault, and checks what is there afterwards over a system that does not fail.
    private func run(
        _ story: String, _ durability: SQLiteStore.Configuration.Durability = .full, cutSeed: UInt64? = nil,
        _ plan: (FaultyFileSystem) -> Void
    ) async throws -> Outcome {
        let folder = try StoreFolder()
        let fileSystem = try FaultyFileSystem()
        plan(fileSystem)
        let outcome = try await script(folder.file(), fileSystem, durability)
        XCTAssertEqual(fileSystem.openFileCount, 0, "\(story): a file is open")
        if let cutSeed { try fileSystem.losePowerAndRestore(seed: cutSeed) }

        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [], story)
        let notes = Notes(over: store)
        var texts: [String: String] = [:]
        do throws(ChangeFeedError) {
            _ = try await notes.database.recordZone(for: notes.zoneID)
            texts = try await notes.textsOrError()
        } catch {
            XCTAssertEqual(error.code, .zoneNotFound, "\(story): \(error)")
        }
        // The state is what some beginning of the script made, and no shorter one than was acknowledged.
        let shortest = durability == .full ? (outcome.acknowledged.last ?? -1) + 1 : 0
        let possible = (shortest...batches.count).map { state(after: $0, outcome) }
        XCTAssertTrue(possible.contains(texts), "\(story): \(texts), acknowledged \(outcome.acknowledged)")

        // And it goes on.
        try await notes.makeZone()
        try await notes.save(["z"], "z")
        let after = try await notes.texts()
        XCTAssertEqual(after, texts.merging(["z": "z"]) { $1 }, story)
        await store.close()
        return outcome
    }

    /// What is there after the first batches, without those that failed.
    private func state(after count: Int, _ outcome: Outcome) -> [String: String] {
        var texts: [String: String] = [:]
        for (number, names) in batches.prefix(count).enumerated() {
            let isLast = number == count - 1
            guard isLast || outcome.acknowledged.contains(number) else { continue }
            for name in names { texts[name] = String(number) }
        }
        return texts
    }

    private func script(
        _ url: URL, _ fileSystem: FaultyFileSystem, _ durability: SQLiteStore.Configuration.Durability
    ) async throws -> Outcome {
        var outcome = Outcome()
        let store: SQLiteStore
        do throws(ChangeFeedError) {
            store = try await SQLiteStore.open(
                at: url, configuration: .small(durability, fileSystem: fileSystem.name))
        } catch {
            outcome.errors.append(error)
            return outcome
        }
        let notes = Notes(over: store)
        for (number, names) in batches.enumerated() {
            do {
                if outcome.acknowledged.isEmpty { try await notes.makeZone() }
                try await notes.save(names, String(number))
                outcome.acknowledged.append(number)
            } catch let error as ChangeFeedError {
                outcome.errors.append(error)
            }
        }
        await store.close()
        return outcome
    }
}

extension Notes {
    fileprivate func textsOrError() async throws(ChangeFeedError) -> [String: String] {
        var texts: [String: String] = [:]
        var token: ZoneChangeToken?
        while true {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            for record in page.modifications { texts[record.recordID.recordName] = record["text"] ?? "" }
            token = page.changeToken
            if !page.moreComing { return texts }
        }
    }
}
