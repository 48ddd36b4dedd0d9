import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Numbers that no store would write, where a store counts: they give typed errors, and end no process (rule FZ10).
final class DamagedCounterTests: XCTestCase {
    func testFZ10_aHeadOfNoPositionEndsNoProcess() async throws {
        try await expectTypedAnswers(after: "UPDATE state SET head = ")
    }

    func testFZ10_aCountOfEpochsThatIsNoneEndsNoProcess() async throws {
        try await expectTypedAnswers(after: "UPDATE state SET epochs = ")
    }

    func testFZ10_aNumberOfEntriesThatIsNoneEndsNoProcess() async throws {
        try await expectTypedAnswers(after: "UPDATE state SET entries = ")
    }

    func testFZ10_aNumberOfZonesThatIsNoneEndsNoProcess() async throws {
        try await expectTypedAnswers(after: "UPDATE state SET zones = ")
    }

    func testFZ10_anEpochThatBeginsNowhereEndsNoProcess() async throws {
        try await expectTypedAnswers(after: "UPDATE epoch SET first_position = ")
    }

    func testFZ10_aZoneAtNoPositionEndsNoProcess() async throws {
        for column in ["position", "incarnation", "horizon", "bytes", "created", "tombstones"] {
            try await expectTypedAnswers(after: "UPDATE zone SET \(column) = ")
        }
    }

    func testFZ10_aDatabaseWithoutAHorizonEndsNoProcess() async throws {
        for column in ["zone_horizon", "past_deletion_horizon"] {
            try await expectTypedAnswers(after: "UPDATE \"database\" SET \(column) = ")
        }
    }

    func testFZ10_anEntryNowhereEndsNoProcess() async throws {
        try await expectTypedAnswers(after: "UPDATE entry SET id = -number + 0 * ")
        try await expectTypedAnswers(after: "UPDATE entry SET live = 1 - live + 0 * ")
    }

    func testAStoreThatWasMendedIsWrittenToAndReadAgain() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        let connection = try SQLiteConnection(path: folder.file().path, access: .readWrite)
        let head = try XCTUnwrap(connection.number("SELECT head FROM state"))
        for round in ["two", "three"] {
            try connection.execute("UPDATE state SET head = -1")
            await expectError(.internalError, detail: .damaged, "write") { try await notes.save(["a"], round) }
            await expectError(.internalError, detail: .damaged, "read") { try await notes.texts() }
            try connection.execute("UPDATE state SET head = \(head + 10)")
            try await notes.save(["a"], round)
            // As often as there are readers.
            for _ in 0..<2 {
                let texts = try await notes.texts()
                XCTAssertEqual(texts, ["a": round])
            }
        }
        connection.close()
        await store.close()
    }

    /// Another process uses a copy of a store with a number in a place; what it says is `done` or a typed error.
    private func expectTypedAnswers(
        after damage: String, file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b"], "one")
        try await notes.database.deleteRecord(withID: notes.note("b", "").recordID)
        await store.close()
        for number in [Int64.min, -1, 0, Int64.max] {
            let url = folder.file("\(number).db")
            try FileManager.default.copyItem(at: folder.file(), to: url)
            let connection = try SQLiteConnection(path: url.path, access: .readWrite)
            // The least of all numbers has no literal.
            try connection.execute(damage + (number == .min ? "(-9223372036854775807 - 1)" : "\(number)"))
            connection.close()
            let (lines, endedByItself) = try Child("use", url.path).finish()
            XCTAssertTrue(endedByItself, "\(damage)\(number): the process was ended", file: file, line: line)
            XCTAssertEqual(lines.count, endedByItself ? 1 : 0, "\(damage)\(number): \(lines)", file: file, line: line)
            try FileManager.default.removeItem(at: url)
        }
    }
}
