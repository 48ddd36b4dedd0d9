import ChangeFeed
import ChangeFeedSQLite
import Foundation

/// A process that writes to a store until somebody kills it: `ChangeFeedCrashChild FILE ROUND WRITERS`.
///
/// Each writer saves one atomic batch after the other: four new notes, and its note `last-W` that says which batch was
/// the latest. After each acknowledged batch it prints `W ROUND BATCH`. The first line says `ready`.
@main
struct Main {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let round = Int(arguments[2]), let writers = Int(arguments[3]) else { exit(2) }
        let store: SQLiteStore
        do {
            store = try await SQLiteStore.open(at: URL(fileURLWithPath: arguments[1]))
        } catch {
            say("refused: \(error.message)")
            exit(1)
        }
        let database = Container(identifier: "test", store: store).database(.private, for: "anna")
        let zoneID = try await database.save(RecordZone(zoneName: "Notes")).zoneID
        say("ready")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for batch in 0..<1_000_000 {
                        let names = (0..<4).map { "\(writer)-\(round)-\(batch)-\($0)" } + ["last-\(writer)"]
                        let records = names.map { name in
                            var record = Record(
                                recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
                            record["text"] = "\(round)-\(batch)"
                            return record
                        }
                        let results = try await database.modifyRecords(
                            saving: records, savePolicy: .allKeys, atomically: true)
                        for save in results.saves { _ = try save.result.get() }
                        say("\(writer) \(round) \(batch)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// One line in one write, so that the lines of several writers do not mix.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
