import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Copies of a store, and what tokens and tags say when one is put back (rule 6.1.5).
final class BackupTests: XCTestCase {
    func testABackupHasWhatTheStoreHadAndTheStoreGoesOn() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        try await store.backup(to: folder.file("copy.db"))
        try await notes.save(["a", "b"], "two")

        let copy = try await SQLiteStore.open(at: folder.file("copy.db"), configuration: .small())
        let copied = try await Notes(over: copy).texts()
        XCTAssertEqual(copied, ["a": "one"])
        let texts = try await notes.texts()
        XCTAssertEqual(texts, ["a": "two", "b": "two"])
        await expectError(.invalidArguments, "over a file") { try await store.backup(to: folder.file("copy.db")) }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        XCTAssertEqual(files.filter { $0.contains("partial") }, [])
    }

    func testABackupIsTakenWhileOthersWrite() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for batch in 0..<40 { try await notes.save((0..<5).map { "\(batch)-\($0)" }, String(batch)) }
            }
            for number in 0..<5 {
                group.addTask { try await store.backup(to: folder.file("copy-\(number).db")) }
            }
            try await group.waitForAll()
        }
        for number in 0..<5 {
            let copy = try await SQLiteStore.open(at: folder.file("copy-\(number).db"), configuration: .small())
            let texts = try await Notes(over: copy).texts()
            XCTAssertEqual(texts.count % 5, 0, "a batch is there in part")
            let findings = try await copy.integrityCheck()
            XCTAssertEqual(findings, [])
        }
    }

    func test6_1_5_aCopyPutBackByHandIsNoticedByTokensAndTags() async throws {
        let folder = try StoreFolder()
        let url = folder.file()
        var store = try await SQLiteStore.open(at: url, configuration: .small())
        var notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b"], "one")
        var held: [String: String] = [:]
        let early = try await notes.follow(&held, since: nil)
        try await store.backup(to: folder.file("copy.db"))
        let lost = try await notes.save(["a"], "lost")
        let late = try await notes.follow(&held, since: early)
        await store.close()

        // When: the copy is put back while the store is closed, and the history goes on in another way.
        try FileManager.default.removeItem(at: url)
        try FileManager.default.copyItem(at: folder.file("copy.db"), to: url)
        store = try await SQLiteStore.open(at: url, configuration: .small())
        notes = Notes(over: store)
        await expectError(.changeTokenExpired, detail: .historyReset, "before the first write") {
            try await notes.database.recordZoneChanges(inZoneWith: notes.zoneID, since: late)
        }
        let other = try await notes.save(["b"], "other")

        // Then: what was given after the copy was made is told apart, and what was given before lives on.
        await expectError(.changeTokenExpired, detail: .historyReset, "after it") {
            try await notes.database.recordZoneChanges(inZoneWith: notes.zoneID, since: late)
        }
        XCTAssertNotEqual(lost.first?.recordChangeTag, other.first?.recordChangeTag)
        await expectError(.serverRecordChanged, "a tag of the lost history") {
            try await notes.database.save(try XCTUnwrap(lost.first))
        }
        let page = try await notes.database.recordZoneChanges(inZoneWith: notes.zoneID, since: early)
        XCTAssertEqual(page.modifications.map(\.recordID.recordName), ["b"])
        await store.close()
    }

    func test6_1_5_aSnapshotIsPutBackUnderReadersThatKnowOtherNumbers() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let container = Container(identifier: "test", store: store)
        let database = container.database(.private, for: "anna")
        let zoneID = try await database.save(RecordZone(zoneName: "Notes")).zoneID
        func save(_ name: String, type: String, key: String) async throws {
            var record = Record(recordType: type, recordID: Record.ID(recordName: name, zoneID: zoneID))
            record[key] = name
            try await database.save(record)
        }
        try await save("a", type: "Note", key: "title")
        let snapshot = try await store.snapshot()
        try await save("b", type: "Before", key: "before")
        _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)

        try await container.restoreFromSnapshot(snapshot)
        // The same numbers of the file mean something else now.
        try await save("c", type: "After", key: "after")
        let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        XCTAssertEqual(page.modifications.map(\.recordType), ["Note", "After"])
        XCTAssertEqual(page.modifications.map(\.allKeys), [["title"], ["after"]])
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [])
    }

    func testVacuumGivesBackWhatCompactionFreed() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        let names = (0..<300).map { "r\($0)" }
        try await notes.save(names, String(repeating: "x", count: 2000))
        let results = try await notes.database.modifyRecords(
            saving: [], deleting: names.map { notes.note($0, "").recordID })
        XCTAssertEqual(results.deletions.count, 300)
        while try await !notes.container.compact(before: .date(.distantFuture)).isComplete {}
        let size = try await store.sizeOnDisk()
        var steps = 0
        while try await store.vacuum(pages: 20) > 0 { steps += 1 }
        XCTAssertGreaterThan(steps, 3)
        let after = try await store.sizeOnDisk()
        XCTAssertLessThan(after, size / 3)
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [])
        await expectError(.invalidArguments) { try await store.vacuum(pages: 0) }
    }

    func testTheCheckTellsOfAZoneThatCannotBeRead() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        await store.close()
        let connection = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        try connection.execute("UPDATE zone SET bytes = -1")
        connection.close()
        let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let findings = try await again.integrityCheck()
        XCTAssertEqual(findings.count, 1, "\(findings)")
        XCTAssertTrue(findings.first?.contains("the zone \"Notes\" is damaged") == true, "\(findings)")
        await expectError(.internalError, detail: .damaged) { try await Notes(over: again).save(["a"], "one") }
        await again.close()
    }

    func testTheCheckFindsWhatWasChangedByHand() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b"], "one")
        await store.close()
        let connection = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        try connection.execute("UPDATE record SET modified = 0 WHERE name = 'a'; DELETE FROM entry WHERE number = 2")
        connection.close()
        let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let findings = try await again.integrityCheck()
        XCTAssertEqual(findings.count, 3, "\(findings)")
        XCTAssertTrue(findings.contains { $0.contains("Notes/a") }, "\(findings)")
        XCTAssertTrue(findings.contains("1 × a record without an entry"), "\(findings)")
    }
}

extension SQLiteStore {
    fileprivate func sizeOnDisk() async throws -> Int {
        try await vacuum(pages: 1)
        return try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int ?? 0
    }
}
