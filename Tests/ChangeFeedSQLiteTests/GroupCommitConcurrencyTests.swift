import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Writers that come together, and readers beside them.
final class GroupCommitConcurrencyTests: XCTestCase {
    func testWritersThatComeTogetherShareACommitAndEachIsAllOrNothing() async throws {
        let folder = try StoreFolder()
        let fileSystem = try FaultyFileSystem()
        let store = try await SQLiteStore.open(
            at: folder.file(), configuration: .small(.full, fileSystem: fileSystem.name))
        let syncs = fileSystem.count(of: .sync)
        // Given: a write that is under way until all others have come.
        let gate = Gate()
        let first = Task {
            try await store.write { (store) throws(ChangeFeedError) in
                try store.setMetaValue([0], for: "first", of: .usage)
                gate.waitUntilOpen()
            }
        }
        await gate.untilEntered()
        // When: forty come, of which every fourth throws after it has written.
        let outcomes = await withTaskGroup(of: (Int, Bool).self) { group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        let position = try await store.write { (store) throws(ChangeFeedError) in
                            let position = try store.allocatePosition()
                            try store.setMetaValue([UInt8(number)], for: "w\(number)", of: .usage)
                            if number % 4 == 3 { throw ChangeFeedError(.operationCancelled, "refused") }
                            return position
                        }
                        return (Int(position.low), true)
                    } catch {
                        return (number, false)
                    }
                }
            }
            group.addTask {
                // The forty are on their way; how many have arrived when the gate opens changes only how many commits there are.
                gate.open()
                return (-1, true)
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        try await first.value
        // Then: those that did not throw have positions without a gap, and only theirs is there.
        let positions = outcomes.filter { $0.1 && $0.0 > 0 }.map(\.0).sorted()
        XCTAssertEqual(positions, Array(1...30))
        let keys = try await store.read { (store) throws(ChangeFeedError) in
            var keys: [String] = []
            try store.scanMeta(of: .usage, from: "") { key, _ in
                keys.append(key)
                return .next
            }
            return keys
        }
        XCTAssertEqual(Set(keys), Set((0..<40).filter { $0 % 4 != 3 }.map { "w\($0)" } + ["first"]))
        XCTAssertLessThan(fileSystem.count(of: .sync) - syncs, 60)
        await store.close()
    }

    func testReadersSeeWholeWritesAndAreNotHeldUpByAWriter() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b", "c"], "0")
        // A writer that is inside its body does not keep a reader waiting.
        let gate = Gate()
        let writer = Task {
            try await store.write { (store) throws(ChangeFeedError) in
                try store.setMetaValue([1], for: "x", of: .usage)
                gate.waitUntilOpen()
            }
        }
        await gate.untilEntered()
        let during = try await store.read { (store) throws(ChangeFeedError) in try store.metaValue("x", of: .usage) }
        XCTAssertNil(during)
        gate.open()
        try await writer.value

        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for number in 1...60 { try await notes.save(["a", "b", "c"], String(number)) } }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<60 {
                        let texts = try await notes.texts()
                        XCTAssertEqual(Set(texts.values).count, 1, "\(texts)")
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    func testATaskOnTheStoresThreadsReadsTheSame() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask(executorPreference: store.taskExecutor) {
                    for round in 0..<20 {
                        try await notes.save(["w\(number)"], String(round))
                        let texts = try await notes.texts()
                        XCTAssertEqual(texts["w\(number)"], String(round))
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }
}
