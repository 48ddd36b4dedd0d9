import ChangeFeed

/// `sqlite.groupCommit16`: sixteen concurrent writers of single records, each write durable before its writer goes on;
/// the rate of all beside that of one such writer alone.
struct SQLiteGroupCommitWorkload: Workload {
    private let id = "sqlite.groupCommit16"
    private let writerCount = 16
    private let recordsPerWriter = 200

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(recordsPerWriter) records a writer")
        let roundCount = session.rounds(9, quick: 5)
        // A note for each writer, those that are together and the one that is alone, in each round.
        let notes = Note.generatedWithUUIDs(0..<roundCount * (writerCount + 1) * recordsPerWriter)
        var parts = notes.indices.batches(of: recordsPerWriter).map { Array(notes[$0]) }[...]
        return try await DurableStores.with { stores in
            let zone = try await stores.zone()
            var rounds = Rounds()
            for _ in 0..<roundCount {
                let together = parts.prefix(writerCount)
                var watch = Stopwatch()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for part in together { group.addTask { try await zone.writeOneByOne(part) } }
                    try await group.waitForAll()
                }
                let seconds = watch.seconds / Double(writerCount * recordsPerWriter)
                let alone = parts[parts.startIndex + writerCount]
                watch = Stopwatch()
                try await zone.writeOneByOne(alone)
                rounds.add(ours: seconds, baseline: watch.seconds / Double(recordsPerWriter))
                parts = parts.dropFirst(writerCount + 1)
            }
            let expected = notes.reduce(0) { $0 &+ $1.viewCount }
            guard try await zone.firstRead() == expected else { throw MeasurementError.differentWork(id: id) }
            return [Figure(id: id, records: 1, rounds: rounds)]
        }
    }
}

extension FeedZone {
    /// Writes each note in a request of its own, one after the other.
    fileprivate func writeOneByOne(_ notes: [Note]) async throws {
        for note in notes { try await database.save(Record(note, in: zoneID)) }
    }
}
