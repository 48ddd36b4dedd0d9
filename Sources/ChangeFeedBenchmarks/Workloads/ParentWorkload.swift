import ChangeFeed

/// `write.withParent`: 100 000 records that have a parent each, a hundred to a parent, in atomic batches of 400. Beside
/// it the same records without.
struct ParentWorkload: Workload {
    private let id = "write.withParent"
    private let count = 100_000
    private let childrenPerParent = 100

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(count) records")
        let notes = Note.generated(0..<count)
        var rounds = Rounds()
        for _ in 0..<session.rounds(9, quick: 5) {
            let ours = try await round(notes, withParents: true)
            rounds.add(ours: ours, baseline: try await round(notes, withParents: false))
        }
        return [Figure(id: id, records: count, rounds: rounds)]
    }

    /// The seconds that saving the notes took; the parents are there before.
    private func round(_ notes: [Note], withParents: Bool) async throws -> Double {
        let zone = try await FeedZone()
        let parents = (0..<count / childrenPerParent).map { parentID($0, in: zone) }
        for batch in parents.indices.batches(of: FeedZone.batchSize) {
            let records = parents[batch].map { Record(recordType: "Folder", recordID: $0) }
            for save in try await zone.database.modifyRecords(saving: records).saves { _ = try save.result.get() }
        }
        let watch = Stopwatch()
        for batch in notes.indices.batches(of: FeedZone.batchSize) {
            let records = batch.map { index in
                var record = Record(notes[index], in: zone.zoneID)
                if withParents { record.setParent(parents[index / childrenPerParent]) }
                return record
            }
            for save in try await zone.database.modifyRecords(saving: records).saves { _ = try save.result.get() }
        }
        return watch.seconds
    }

    private func parentID(_ number: Int, in zone: FeedZone) -> Record.ID {
        Record.ID(recordName: "folder-\(number)", zoneID: zone.zoneID)
    }
}
