import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Backups where something stands in the way, or was left behind.
final class BackupLeftoverTests: XCTestCase {
    func testABackupIsNotChangedByTheLogOfAFileThatWasThereBefore() async throws {
        let folder = try StoreFolder()
        let target = folder.file("copy.db")
        // Given: a store of which the file was removed, but not the log that its process left when it was killed.
        let child = try Child(target.path, "0", "1")
        for _ in 0..<20 { _ = child.nextLine() }
        child.kill()
        XCTAssertTrue(FileManager.default.fileExists(atPath: target.path + "-wal"))
        try FileManager.default.removeItem(at: target)

        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b"], "one")
        // When: a backup is made in its place; it may be refused, but not be another.
        do {
            try await store.backup(to: target)
            let copy = try await SQLiteStore.open(at: target, configuration: .small())
            let texts = try await Notes(over: copy).texts()
            XCTAssertEqual(texts, ["a": "one", "b": "one"])
            let findings = try await copy.integrityCheck()
            XCTAssertEqual(findings, [])
            await copy.close()
        } catch let error as ChangeFeedError {
            XCTAssertEqual(error.code, .invalidArguments, "\(error)")
        }
        await store.close()
    }

    func testABackupThatCannotBeMadeLeavesNothing() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        await expectError(.internalError, "no directory") { try await store.backup(to: folder.file("none/copy.db")) }
        await expectError(.invalidArguments, "the store itself") { try await store.backup(to: folder.file()) }
        await expectError(.invalidArguments, "a directory") { try await store.backup(to: folder.url) }
        await store.close()
        await expectError(.serviceUnavailable, "closed") { try await store.backup(to: folder.file("copy.db")) }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        XCTAssertEqual(files.filter { $0.contains("copy") }, [])
    }

    func testABackupWithAFaultIsWholeOrNotThere() async throws {
        for operation in [FaultyFileSystem.Operation.write, .sync, .open, .read, .truncate, .delete] {
            for number in 1...40 {
                let folder = try StoreFolder()
                let fileSystem = try FaultyFileSystem()
                let store = try await SQLiteStore.open(
                    at: folder.file(), configuration: .small(.full, fileSystem: fileSystem.name))
                let notes = Notes(over: store)
                try await notes.makeZone()
                try await notes.save(["a"], "one")
                let before = fileSystem.count(of: operation)
                fileSystem.fail(operation, number: before + number)
                let story = "\(operation) \(number)"
                let target = folder.file("copy.db")
                var wasMade = true
                do throws(ChangeFeedError) { try await store.backup(to: target) } catch { wasMade = false }
                let isLast = fileSystem.count(of: operation) - before < number
                fileSystem.reset()
                XCTAssertEqual(FileManager.default.fileExists(atPath: target.path), wasMade, story)
                if wasMade {
                    let copy = try await SQLiteStore.open(at: target, configuration: .small())
                    let texts = try await Notes(over: copy).texts()
                    XCTAssertEqual(texts, ["a": "one"], story)
                    await copy.close()
                }
                try await notes.save(["b"], "two")
                let texts = try await notes.texts()
                XCTAssertEqual(texts, ["a": "one", "b": "two"], story)
                await store.close()
                if isLast { break }
            }
        }
    }
}
