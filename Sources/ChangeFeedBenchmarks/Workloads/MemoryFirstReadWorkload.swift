import ChangeFeed

/// `memory.firstRead`: all of 100 000 records from the beginning, in pages of 200, looking at one field of each.
struct MemoryFirstReadWorkload: Workload {
    private let id = "memory.firstRead"
    private let count = 100_000

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("memory.firstRead: \(count) records")
        let notes = Note.generated(0..<count)
        let zone = try await FeedZone()
        _ = try await zone.write(notes)
        var store = PlainStore()
        _ = store.write(notes)
        let rounds = try await Rounds.measure(session.rounds(25, quick: 7), of: id) {
            let watch = Stopwatch()
            let sum = try await zone.firstRead()
            return Sample(seconds: watch.seconds, checksum: sum)
        } baseline: {
            let watch = Stopwatch()
            let sum = store.firstRead()
            return Sample(seconds: watch.seconds, checksum: sum)
        }
        return [Figure(id: id, records: count, rounds: rounds)]
    }
}
