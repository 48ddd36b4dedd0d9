import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// A tombstone that cannot be read fails alone: what is asked afterwards is answered as if it were not there.
final class DamagedTombstoneTests: XCTestCase {
    func testFZ10_afterADamagedTombstoneOthersAreFoundByTheirNames() async throws {
        let folder = try StoreFolder()
        let (store, notes) = try await storeWithADamagedTombstone(folder)
        await expectError(.internalError, detail: .damaged) { try await notes.save(["gone"], "two") }
        try await notes.save(["a"], "two")
        var names: [String] = []
        for try await page in notes.database.recordZoneChangePages(inZoneWith: notes.zoneID, since: nil) {
            names += page.modifications.map(\.recordID.recordName)
        }
        XCTAssertEqual(names.sorted(), ["a", "b"], "a note is there twice")
        await store.close()
    }

    func testTheCheckTellsOfADamagedTombstone() async throws {
        let folder = try StoreFolder()
        let (store, _) = try await storeWithADamagedTombstone(folder)
        let findings = try await store.integrityCheck()
        XCTAssertNotEqual(findings, [])
        await store.close()
    }

    func testFZ10_afterADamagedTombstoneReadersSeeWhatIsNew() async throws {
        let folder = try StoreFolder()
        let (store, notes) = try await storeWithADamagedTombstone(folder)
        for text in ["two", "three", "four"] {
            await expectError(.internalError, detail: .damaged, text) {
                try await notes.database.record(for: notes.note("gone", "").recordID)
            }
            for name in ["b", "a"] {
                try await notes.save([name], text)
                // As often as there are readers.
                for _ in 0..<2 {
                    let record = try? await notes.database.record(for: notes.note(name, "").recordID)
                    XCTAssertEqual(record?["text"], text, "\(name) as it was, or not at all")
                }
            }
        }
        await store.close()
    }

    /// Notes `a` and `b`, and one that is gone of a type that is not there.
    private func storeWithADamagedTombstone(_ folder: StoreFolder) async throws -> (SQLiteStore, Notes) {
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b", "gone"], "one")
        try await notes.database.deleteRecord(withID: notes.note("gone", "").recordID)
        await store.close()
        let connection = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        try connection.execute("UPDATE tombstone SET type = 999")
        connection.close()
        let again = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        return (again, Notes(over: again))
    }
}
