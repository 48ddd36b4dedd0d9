import ChangeFeed

/// `sqlite.readAmongTombstones`: a first read of 10 000 records with nine tombstones for each, on the store's own
/// threads; the time beside that of the same records in a zone without a tombstone.
struct SQLiteTombstonesWorkload: Workload {
    private let id = "sqlite.readAmongTombstones"
    private let count = 10_000
    private let tombstonesPerRecord = 9

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(count) records")
        let every = tombstonesPerRecord + 1
        let notes = Note.generatedWithUUIDs(0..<count * every)
        return try await DurableStores.with(.normal) { stores in
            let alone = try await stores.zone(named: "Alone")
            try await alone.fill(notes.indices.filter { $0 % every == 0 }.map { notes[$0] })
            // What stays lies among what goes.
            let among = try await stores.zone(named: "Among")
            try await among.fill(notes)
            for batch in notes.indices.batches(of: FeedZone.batchSize) {
                let recordIDs = batch.filter { $0 % every != 0 }.map { index in
                    Record.ID(recordName: notes[index].name, zoneID: among.zoneID)
                }
                for deletion in try await stores.database.modifyRecords(saving: [], deleting: recordIDs).deletions {
                    try deletion.result.get()
                }
            }

            var rounds = Rounds()
            try await stores.reading {
                for _ in 0..<session.rounds(25, quick: 15) {
                    let sample = try await among.timedFirstRead()
                    try rounds.add(ours: sample, baseline: try await alone.timedFirstRead(), of: id)
                }
            }
            return [Figure(id: id, rounds: rounds)]
        }
    }
}
