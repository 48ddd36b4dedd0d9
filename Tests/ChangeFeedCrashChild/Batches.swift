import ChangeFeed
import ChangeFeedSQLite
import Foundation

/// What the process writes until somebody kills it.
///
/// Each writer W saves one atomic batch after the other: four new notes `W-ROUND-BATCH-N`, its note `last-W`, whose text
/// says which batch was the latest, and the deletion of the four notes of its batch three before. After each
/// acknowledged batch it says `W ROUND BATCH`. The first line says `ready`.
struct Batches {
    /// How many batches of a writer's latest are there at a time.
    private static let kept = 3

    private let file: String
    private let round: Int
    private let zoneID = RecordZone.ID(zoneName: "Notes")

    init(file: String, round: Int) {
        self.file = file
        self.round = round
    }

    func write(writers: Int) async throws {
        let store = await openOrEnd(file)
        let database = Container(identifier: "test", store: store).database(.private, for: "anna")
        try await database.save(RecordZone(zoneID: zoneID))
        say("ready")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for batch in 0..<1_000_000 {
                        let results = try await database.modifyRecords(
                            saving: (names(writer, batch) + ["last-\(writer)"]).map { note($0, "\(round)-\(batch)") },
                            deleting: batch < Batches.kept ? [] : names(writer, batch - Batches.kept).map(id),
                            savePolicy: .allKeys, atomically: true)
                        for save in results.saves { _ = try save.result.get() }
                        for deletion in results.deletions { try deletion.result.get() }
                        say("\(writer) \(round) \(batch)")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func names(_ writer: Int, _ batch: Int) -> [String] {
        (0..<4).map { "\(writer)-\(round)-\(batch)-\($0)" }
    }

    private func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zoneID)
    }

    private func note(_ name: String, _ text: String) -> Record {
        var record = Record(recordType: "Note", recordID: id(name))
        record["text"] = text
        return record
    }
}
