import ChangeFeed
import ChangeFeedSQLite
import ChangeFeedTesting
import Foundation
import XCTest

/// Bytes changed anywhere in a file give typed errors, and end no process: `CHANGEFEED_DAMAGES=5000` for more.
final class DamagedBytesTests: XCTestCase {
    func testFZ10_bytesChangedAnywhereEndNoProcess() async throws {
        let damages = ProcessInfo.processInfo.environment["CHANGEFEED_DAMAGES"].flatMap(Int.init) ?? 60
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b", "c"], "one")
        try await notes.database.deleteRecord(withID: notes.note("b", "").recordID)
        await store.close()
        let content = try Data(contentsOf: folder.file())
        // Most of the file is empty: only what is not is worth changing.
        let places = content.indices.filter { content[$0] != 0 }
        var random = SeededGenerator(seed: 8)
        for round in 0..<damages {
            var bytes = content
            for _ in 0...random.next() % 3 {
                guard let place = places.randomElement(using: &random) else { continue }
                bytes[place] = UInt8(truncatingIfNeeded: random.next())
            }
            let url = folder.file("\(round).db")
            try bytes.write(to: url)
            let (lines, endedByItself) = try Child("use", url.path).finish()
            XCTAssertTrue(endedByItself, "round \(round): the process was ended")
            XCTAssertEqual(lines.count, endedByItself ? 1 : 0, "round \(round): \(lines)")
            for suffix in ["", "-wal", "-shm", "-writer"] {
                try? FileManager.default.removeItem(atPath: url.path + suffix)
            }
        }
    }
}
