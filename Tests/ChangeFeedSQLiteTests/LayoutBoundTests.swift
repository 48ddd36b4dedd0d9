import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// What happens at the bounds of the layout's numbers.
final class LayoutBoundTests: XCTestCase {
    func testPastTheLastPositionWritesAreRefusedAndReadsGoOn() async throws {
        let folder = try StoreFolder()
        let last: Int64 = 1 << 40 - 1
        let store = try await self.store(folder, after: "UPDATE state SET head = \(last - 2)")
        let notes = Notes(over: store)
        await expectError(.limitExceeded, "three more, as a whole") { try await notes.save(["b", "c", "d"], "two") }
        var texts = try await notes.texts()
        XCTAssertEqual(texts, ["a": "one"])
        try await notes.save(["b", "c"], "two")
        await expectError(.limitExceeded, "one more") { try await notes.save(["d"], "three") }
        texts = try await notes.texts()
        XCTAssertEqual(texts, ["a": "one", "b": "two", "c": "two"])
        let findings = try await store.integrityCheck()
        XCTAssertEqual(findings, [])
        await store.close()
    }

    func testPastTheLastLifeOfAZoneNewOnesAreRefused() async throws {
        let folder = try StoreFolder()
        let store = try await self.store(folder, after: "UPDATE state SET zones = \((1 << 23) - 2)")
        let notes = Notes(over: store)
        let other = RecordZone.ID(zoneName: "Other")
        try await notes.database.save(RecordZone(zoneID: other))
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "b", zoneID: other))
        record["text"] = "in the last zone"
        try await notes.database.save(record)
        await expectError(.limitExceeded) { try await notes.database.save(RecordZone(zoneName: "Third")) }
        let page = try await notes.database.recordZoneChanges(inZoneWith: other, since: nil)
        XCTAssertEqual(page.modifications.map(\.recordID.recordName), ["b"])
        let texts = try await notes.texts()
        XCTAssertEqual(texts, ["a": "one"])
        await store.close()
    }

    func testMoreSetsOfKeysThanTheTableHoldsAreKeptAllTheSame() async throws {
        let folder = try StoreFolder()
        let count = 4_096 + 300
        var store = try await self.store(folder, after: "")
        var notes = Notes(over: store)
        for start in stride(from: 0, to: count, by: 400) {
            let records = (start..<min(start + 400, count)).map { number in
                var record = notes.note("r\(number)", "")
                for key in LayoutBoundTests.keys(of: number) { record[key] = number }
                return record
            }
            let results = try await notes.database.modifyRecords(saving: records, savePolicy: .allKeys)
            for save in results.saves { _ = try save.result.get() }
        }
        await store.close()
        store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        notes = Notes(over: store)
        var seen = 0
        for try await page in notes.database.recordZoneChangePages(inZoneWith: notes.zoneID, since: nil) {
            for record in page.modifications where record.recordID.recordName != "a" {
                let number = try XCTUnwrap(Int(record.recordID.recordName.dropFirst()))
                let keys = LayoutBoundTests.keys(of: number)
                XCTAssertEqual(Set(record.allKeys), Set(keys + ["text"]), record.recordID.recordName)
                for key in keys { XCTAssertEqual(record[key], number, record.recordID.recordName) }
                seen += 1
            }
        }
        XCTAssertEqual(seen, count)
        await store.close()
    }

    /// Another set of keys for each number, of few keys.
    private static func keys(of number: Int) -> [String] {
        (0..<13).filter { number >> $0 & 1 == 1 }.map { "key\($0)" }
    }

    /// A store with one note, changed by hand.
    private func store(_ folder: StoreFolder, after change: String) async throws -> SQLiteStore {
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        await store.close()
        let connection = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        try connection.execute(change)
        connection.close()
        return try await SQLiteStore.open(at: folder.file(), configuration: .small())
    }
}
