import CSQLite
import ChangeFeed
import ChangeFeedSQLite
import ChangeFeedTesting
import Foundation
import XCTest

/// What opening a file does, and what it refuses without touching it.
final class OpeningTests: XCTestCase {
    func testWhatWasWrittenIsThereAfterOpeningAgain() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b"], "one")
        try await notes.database.deleteRecord(withID: notes.note("b", "").recordID)
        var held: [String: String] = [:]
        let token = try await notes.follow(&held, since: nil)
        await store.close()

        let again = Notes(over: try await SQLiteStore.open(at: folder.file(), configuration: .small()))
        let texts = try await again.texts()
        XCTAssertEqual(texts, ["a": "one"])
        try await again.save(["c"], "two")
        try await again.follow(&held, since: token)
        XCTAssertEqual(held, ["a": "one", "c": "two"])
    }

    func testASecondWriterIsToldSoInASentence() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let error = await expectError(.serviceUnavailable) {
            try await SQLiteStore.open(at: folder.file(), configuration: .small())
        }
        XCTAssertTrue(error?.message.contains("is open for writing already, by process \(getpid())") == true)
        await store.close()
        let after = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        await after.close()
    }

    func testReadersReadBesideTheWriterAndMayNotWrite() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        var configuration = SQLiteStore.Configuration.small()
        configuration.access = .readOnly
        let reading = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
        for text in ["one", "two"] {
            try await notes.save(["a"], text)
            let texts = try await Notes(over: reading).texts()
            XCTAssertEqual(texts, ["a": text])
        }
        await expectError(.permissionFailure) { try await Notes(over: reading).save(["b"], "three") }
    }

    func testCallsAfterClosingAreRefused() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        await store.close()
        await store.close()
        await expectError(.serviceUnavailable, "write") { try await notes.save(["a"], "one") }
        await expectError(.serviceUnavailable, "read") { try await notes.texts() }
        await expectError(.serviceUnavailable, "check") { try await store.integrityCheck() }
        await expectError(.serviceUnavailable, "vacuum") { try await store.vacuum() }
    }

    func testForeignNewerAndDamagedFilesAreRefusedAndNotTouched() async throws {
        let folder = try StoreFolder()
        let cases: [(String, ChangeFeedError.Code, ChangeFeedError.Detail?, (URL) throws -> Void)] = [
            (
                "a database of something else", .invalidArguments, .foreign,
                { try OpeningTests.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)", at: $0) }
            ),
            (
                "another application's", .invalidArguments, .foreign,
                { try OpeningTests.execute("PRAGMA application_id = 7; PRAGMA user_version = 1", at: $0) }
            ),
            (
                "a later version's", .incompatibleVersion, nil,
                { url in
                    let id: Int64 = 0x4346_5351
                    try OpeningTests.execute(
                        "PRAGMA application_id = \(id); PRAGMA user_version = 99; CREATE TABLE later (x)", at: url)
                }
            ),
            ("a text", .internalError, .damaged, { try Data(repeating: 65, count: 5000).write(to: $0) }),
        ]
        for (index, (name, code, detail, make)) in cases.enumerated() {
            let url = folder.file("\(index).db")
            try make(url)
            let before = try Data(contentsOf: url)
            for access in [SQLiteStore.Configuration.Access.readWrite, .readOnly] {
                var configuration = SQLiteStore.Configuration.small()
                configuration.access = access
                await expectError(code, detail: detail, "\(name), \(access)") {
                    try await SQLiteStore.open(at: url, configuration: configuration)
                }
            }
            XCTAssertEqual(try Data(contentsOf: url), before, name)
            for suffix in ["-wal", "-shm", "-journal", "-writer"] {
                XCTAssertFalse(FileManager.default.fileExists(atPath: url.path + suffix), "\(name): \(suffix)")
            }
        }
    }

    func testADirectoryAndAMissingDirectoryAreRefused() async throws {
        let folder = try StoreFolder()
        await expectError(.internalError, "a directory") {
            try await SQLiteStore.open(at: folder.url, configuration: .small())
        }
        await expectError(.internalError, "no directory") {
            try await SQLiteStore.open(at: folder.file("nowhere/feed.db"), configuration: .small())
        }
        var reading = SQLiteStore.Configuration.small()
        reading.access = .readOnly
        await expectError(.internalError, "nothing to read") {
            try await SQLiteStore.open(at: folder.file("nothing.db"), configuration: reading)
        }
        XCTAssertFalse(FileManager.default.fileExists(atPath: folder.file("nothing.db").path))
    }

    func testATruncatedFileNeverGivesWhatWasNotWritten() async throws {
        let folder = try StoreFolder()
        let whole = try await OpeningTests.filled(folder.file("whole.db"))
        let content = try Data(contentsOf: folder.file("whole.db"))
        for count in stride(from: 512, to: content.count, by: 4096 * 3 + 512) {
            let url = folder.file("cut-\(count).db")
            try content.prefix(count).write(to: url)
            do {
                let store = try await SQLiteStore.open(at: url, configuration: .small())
                let texts = try await Notes(over: store).texts()
                XCTAssertEqual(texts, whole, "cut at \(count)")
                await store.close()
            } catch let error as Notes.Unreadable {
                XCTAssertEqual(error.error.detail, .damaged, "cut at \(count): \(error)")
            } catch let error as ChangeFeedError {
                XCTAssertEqual(error.detail, .damaged, "cut at \(count): \(error)")
            }
        }
    }

    func testFZ10_damagedPagesGiveErrorsOrWhatWasWritten() async throws {
        let folder = try StoreFolder()
        let whole = try await OpeningTests.filled(folder.file("whole.db"))
        let content = try Data(contentsOf: folder.file("whole.db"))
        var random = SeededGenerator(seed: 5)
        var damaged = 0
        for round in 0..<150 {
            var bytes = content
            let place = Int(random.next() % UInt64(bytes.count - 64))
            for index in place..<place + 1 + Int(random.next() % 40) {
                bytes[index] = UInt8(truncatingIfNeeded: random.next())
            }
            let url = folder.file("damaged-\(round).db")
            try bytes.write(to: url)
            do {
                let store = try await SQLiteStore.open(at: url, configuration: .small())
                let notes = Notes(over: store)
                let texts = try await notes.texts()
                for (name, text) in texts { XCTAssertEqual(text, whole[name], "round \(round): \(name)") }
                _ = try? await notes.save(["r1", "r77", "new"], "after")
                await store.close()
            } catch is Notes.Unreadable {
                damaged += 1
            } catch is ChangeFeedError {
                damaged += 1
            }
            try? FileManager.default.removeItem(at: url)
        }
        XCTAssertGreaterThan(damaged, 10)
    }

    /// A closed store with 300 notes; gives their texts.
    private static func filled(_ url: URL) async throws -> [String: String] {
        let store = try await SQLiteStore.open(at: url, configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        for part in 0..<3 { try await notes.save((0..<100).map { "r\(part * 100 + $0)" }, "text of part \(part)") }
        let texts = try await notes.texts()
        await store.close()
        return texts
    }

    private static func execute(_ sql: String, at url: URL) throws {
        let connection = try SQLiteConnection(path: url.path, access: .create)
        try connection.execute(sql)
    }
}
