import CSQLite
import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// What writers that share a commit are told, and when.
final class CommitOrderConcurrencyTests: XCTestCase {
    private static let writers = 40

    func testAllThatWaitWhileAWriteIsUnderWayShareItsCommit() async throws {
        let folder = try StoreFolder()
        let fileSystem = try FaultyFileSystem()
        let store = try await SQLiteStore.open(
            at: folder.file(), configuration: .small(.full, fileSystem: fileSystem.name))
        let before = fileSystem.count(of: .sync)
        let outcomes = await Self.together(in: store) {}
        XCTAssertEqual(outcomes.filter { $0 == nil }.count, Self.writers + 1)
        let keys = try await Self.keys(in: store)
        XCTAssertEqual(keys.count, Self.writers + 1)
        XCTAssertLessThanOrEqual(fileSystem.count(of: .sync) - before, 3, "as many commits as writes")
        await store.close()
    }

    func testACommitThatFailsIsToldToAllWhoShareItAndNothingOfItIsThere() async throws {
        for operation in [FaultyFileSystem.Operation.sync, .write] {
            let folder = try StoreFolder()
            let fileSystem = try FaultyFileSystem()
            let store = try await SQLiteStore.open(
                at: folder.file(), configuration: .small(.full, fileSystem: fileSystem.name))
            let outcomes = await Self.together(in: store) {
                fileSystem.fail(operation, number: fileSystem.count(of: operation) + 1, as: SQLITE_FULL)
            }
            for error in outcomes { XCTAssertEqual(error?.code, .serviceUnavailable, "\(operation): \(error as Any)") }
            let keys = try await Self.keys(in: store)
            XCTAssertEqual(keys, [], "\(operation)")

            // And the same store goes on.
            let again = await Self.together(in: store) {}
            XCTAssertEqual(again.filter { $0 == nil }.count, Self.writers + 1, "\(operation)")
            await store.close()
        }
    }

    func testWhoIsAnsweredSeesWhatHeWrote() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        let value: [UInt8] = [UInt8(writer), UInt8(number)]
                        let position = try await store.write { (store) throws(ChangeFeedError) in
                            try store.setMetaValue(value, for: "w\(writer)", of: .usage)
                            return try store.allocatePosition()
                        }
                        let (seen, head) = try await store.read { (store) throws(ChangeFeedError) in
                            (try store.metaValue("w\(writer)", of: .usage), try store.head)
                        }
                        XCTAssertEqual(seen, value)
                        XCTAssertGreaterThanOrEqual(head, position)
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    func test6_1_4_nobodySeesAPositionWhileASmallerOneMayStillCome() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let total = 8 * 40
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<40 {
                        do throws(ChangeFeedError) {
                            try await store.write { (store) throws(ChangeFeedError) in
                                let position = try store.allocatePosition()
                                try store.setMetaValue([1], for: Self.key(position), of: .usage)
                                if (writer + number) % 5 == 0 { throw ChangeFeedError(.operationCancelled, "refused") }
                            }
                        } catch {
                            XCTAssertEqual(error.code, .operationCancelled)
                        }
                    }
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    var last = ChangePosition.beginning
                    for _ in 0..<100 {
                        let (head, keys) = try await Self.headAndKeys(of: store)
                        XCTAssertGreaterThanOrEqual(head, last)
                        XCTAssertEqual(keys, (0..<Int(head.low)).map { Self.key(ChangePosition(low: UInt64($0 + 1))) })
                        last = head
                    }
                }
            }
            try await group.waitForAll()
        }
        let (head, _) = try await Self.headAndKeys(of: store)
        XCTAssertEqual(head, ChangePosition(low: UInt64(total - total / 5)))
        await store.close()
    }

    func testWhatARefusedWriteNamedIsNotTakenForWhatTheNextOneNames() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        let stale = try await notes.save(["stale"], "one")
        try await notes.save(["stale"], "two")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    var record = Record(
                        recordType: "Type\(number)",
                        recordID: Record.ID(recordName: "r\(number)", zoneID: notes.zoneID))
                    record["key\(number)"] = number
                    guard number % 2 == 0 else {
                        try await notes.database.save(record)
                        return
                    }
                    // The type and the key are numbered before the second record is refused.
                    let outdated = try XCTUnwrap(stale.first)
                    let results = try await notes.database.modifyRecords(saving: [record, outdated], atomically: true)
                    XCTAssertEqual(results.saves.compactMap { try? $0.result.get() }.count, 0)
                }
            }
            try await group.waitForAll()
        }
        for try await page in notes.database.recordZoneChangePages(inZoneWith: notes.zoneID, since: nil) {
            for record in page.modifications where record.recordType != "Note" {
                let number = try XCTUnwrap(Int(record.recordType.dropFirst(4)))
                XCTAssertEqual(number % 2, 1)
                XCTAssertEqual(record.recordID.recordName, "r\(number)")
                XCTAssertEqual(record.allKeys, ["key\(number)"])
                XCTAssertEqual(record["key\(number)"], number)
            }
        }
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [])
        await store.close()
    }

    func testClosingLetsFinishWhatHasComeAndRefusesTheRest() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let outcomes = await Self.together(in: store, closing: true) {}
        XCTAssertEqual(outcomes.filter { $0 == nil }.count, Self.writers + 1)
        await expectError(.serviceUnavailable, "after it") { try await Self.write("after", to: store) }
        let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let keys = try await Self.keys(in: again)
        XCTAssertEqual(keys.count, Self.writers + 1)
        await again.close()
    }

    /// Lets one write be under way until forty others wait; gives what each was told, the first one included.
    private static func together(
        in store: SQLiteStore, closing: Bool = false, _ beforeTheyGoOn: @escaping @Sendable () -> Void
    ) async -> [ChangeFeedError?] {
        let gate = Gate()
        let first = Task { () -> ChangeFeedError? in
            do throws(ChangeFeedError) {
                try await store.write { (store) throws(ChangeFeedError) in
                    try store.setMetaValue([0], for: "first", of: .usage)
                    gate.waitUntilOpen()
                }
                return nil
            } catch {
                return error
            }
        }
        await gate.untilEntered()
        let thread = OneThread()
        let others = await withTaskGroup(of: ChangeFeedError?.self) { group in
            for number in 0..<Self.writers {
                group.addTask(executorPreference: thread) {
                    do throws(ChangeFeedError) {
                        try await Self.write("w\(number)", to: store)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            // On the same thread, so all of them have come when it runs.
            let opening = Task(executorPreference: thread) {
                let closed = closing ? Task(executorPreference: thread) { await store.close() } : nil
                beforeTheyGoOn()
                gate.open()
                await closed?.value
            }
            let others = await group.reduce(into: []) { $0.append($1) }
            await opening.value
            return others
        }
        return [await first.value] + others
    }

    private static func write(_ key: String, to store: SQLiteStore) async throws(ChangeFeedError) {
        try await store.write { (store) throws(ChangeFeedError) in try store.setMetaValue([1], for: key, of: .usage) }
    }

    private static func keys(in store: SQLiteStore) async throws -> [String] {
        try await Self.headAndKeys(of: store).keys
    }

    private static func key(_ position: ChangePosition) -> String {
        String(1_000_000 + position.low)
    }

    private static func headAndKeys(of store: SQLiteStore) async throws -> (head: ChangePosition, keys: [String]) {
        try await store.read { (store) throws(ChangeFeedError) in
            var keys: [String] = []
            try store.scanMeta(of: .usage, from: "") { key, _ in
                keys.append(key)
                return .next
            }
            return (try store.head, keys)
        }
    }
}
