import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// What opening refuses stays as it was, byte for byte, and so do locks and logs of others.
final class UntouchedFileTests: XCTestCase {
    func testAStoreOfALaterVersionStaysAsItWasInItsOwnMode() async throws {
        let folder = try StoreFolder()
        try await filled(folder.file())
        let connection = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        try connection.execute("PRAGMA user_version = 2; PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        try await expectUntouched(folder.file(), .incompatibleVersion, nil, "a later version")
    }

    func testAForeignDatabaseWithALogStaysAsItWas() async throws {
        let folder = try StoreFolder()
        let connection = try SQLiteConnection(path: folder.file().path, access: .create)
        _ = try connection.texts("PRAGMA journal_mode = WAL")
        try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
        connection.close()
        try await expectUntouched(folder.file(), .invalidArguments, .foreign, "a foreign database")
    }

    func testAForeignDatabaseThatGivesPagesBackByItselfStaysAsItWas() async throws {
        let folder = try StoreFolder()
        let connection = try SQLiteConnection(path: folder.file().path, access: .create)
        try connection.execute("PRAGMA auto_vacuum = FULL; CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
        connection.close()
        try await expectUntouched(folder.file(), .invalidArguments, .foreign, "a foreign database")
    }

    func testAFileCutAnywhereStaysAsItWasWhenItIsRefused() async throws {
        let folder = try StoreFolder()
        try await filled(folder.file())
        let content = try Data(contentsOf: folder.file())
        for count in stride(from: 300, to: content.count, by: 300) {
            let url = folder.file("cut-\(count).db")
            try content.prefix(count).write(to: url)
            do throws(ChangeFeedError) {
                let store = try await SQLiteStore.open(at: url, configuration: .small())
                let findings = try await store.integrityCheck()
                XCTAssertNotEqual(findings, [], "cut at \(count): nothing is said to be wrong")
                await store.close()
            } catch {
                XCTAssertEqual(error.detail, .damaged, "cut at \(count): \(error)")
                XCTAssertEqual(try? Data(contentsOf: url), content.prefix(count), "cut at \(count): it was changed")
            }
            try FileManager.default.removeItem(at: url)
        }
    }

    func testAFileThatIsTooShortForADatabaseIsNoStore() async throws {
        let folder = try StoreFolder()
        for count in [2, 15, 16, 99, 100, 511] {
            let url = folder.file("\(count).db")
            try Data(repeating: 0x53, count: count).write(to: url)
            try await expectUntouched(url, .internalError, .damaged, "\(count) bytes")
        }
    }

    func testAFullDiskRefusesANewStoreAndLeavesAnOldOne() async throws {
        let folder = try StoreFolder()
        try await filled(folder.file())
        let before = try Data(contentsOf: folder.file())
        let fileSystem = try FaultyFileSystem()
        fileSystem.fail(.write, number: 1, as: 13, .fromThenOn)
        let configuration = SQLiteStore.Configuration.small(.full, fileSystem: fileSystem.name)
        await expectError(.serviceUnavailable, "a new store") {
            try await SQLiteStore.open(at: folder.file("new.db"), configuration: configuration)
        }
        do throws(ChangeFeedError) {
            let store = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
            let notes = Notes(over: store)
            await expectError(.serviceUnavailable, "a note") { try await notes.save(["b"], "two") }
            await store.close()
        } catch {
            XCTAssertEqual(error.code, .serviceUnavailable, "\(error)")
        }
        XCTAssertEqual(try Data(contentsOf: folder.file()), before)
    }

    func testALockOfAnotherProgramIsToldAndPasses() async throws {
        let folder = try StoreFolder()
        try await filled(folder.file())
        var configuration = SQLiteStore.Configuration.small()
        configuration.busyTimeout = .zero
        let store = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
        let notes = Notes(over: store)
        let other = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        try other.execute("BEGIN IMMEDIATE")
        let error = await expectError(.serviceUnavailable, "while it writes") { try await notes.save(["b"], "two") }
        XCTAssertNotNil(error?.retryAfter)
        let during = try await notes.texts()
        XCTAssertEqual(during, ["a": "one"], "readers do not wait")
        try other.execute("ROLLBACK")
        other.close()
        try await notes.save(["b"], "two")
        let texts = try await notes.texts()
        XCTAssertEqual(texts, ["a": "one", "b": "two"])
        await store.close()
    }

    func testAReaderAloneSeesWhatAProcessThatDiedHasWritten() async throws {
        let folder = try StoreFolder()
        let child = try Child(folder.file().path, "0", "1")
        var told = -1
        for _ in 0..<30 {
            if let line = child.nextLine(), let number = line.split(separator: " ").last.flatMap({ Int($0) }) {
                told = number
            }
        }
        child.kill()
        var configuration = SQLiteStore.Configuration.small()
        configuration.access = .readOnly
        let store = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
        let texts = try await Notes(over: store).texts()
        let latest = texts["last-0"]?.split(separator: "-").last.flatMap { Int($0) }
        XCTAssertGreaterThan(told, 0)
        XCTAssertGreaterThanOrEqual(latest ?? -1, told)
        await expectError(.permissionFailure, "vacuum") { try await store.vacuum() }
        await store.close()
    }

    private func filled(_ url: URL) async throws {
        let store = try await SQLiteStore.open(at: url, configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        await store.close()
    }

    private func expectUntouched(
        _ url: URL, _ code: ChangeFeedError.Code, _ detail: ChangeFeedError.Detail?, _ story: String
    ) async throws {
        let before = try Data(contentsOf: url)
        for access in [SQLiteStore.Configuration.Access.readWrite, .readOnly] {
            var configuration = SQLiteStore.Configuration.small()
            configuration.access = access
            await expectError(code, detail: detail, "\(story), \(access)") {
                try await SQLiteStore.open(at: url, configuration: configuration)
            }
            let after = try Data(contentsOf: url)
            let changed = zip(before.indices, zip(before, after)).filter { $1.0 != $1.1 }.map(\.0)
            XCTAssertEqual(after.count, before.count, "\(story), \(access)")
            XCTAssertEqual(changed, [], "\(story), \(access): these bytes were changed")
        }
    }
}
