import ChangeFeed

/// `sqlite.firstRead`: all of 100 000 records from the beginning, in pages of 200, looking at one field of each, on the
/// store's own threads.
/// `sqlite.readAfterRewrite`: the same after each record was saved again, in random order; the rate beside that of the
/// same store before.
struct SQLiteFirstReadWorkload: Workload {
    private let freshID = "sqlite.firstRead"
    private let rewrittenID = "sqlite.readAfterRewrite"
    private let count = 100_000

    var ids: [String] { [freshID, rewrittenID] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(freshID), \(rewrittenID): \(count) records")
        let notes = Note.generatedWithUUIDs(0..<count)
        return try await DurableStores.with(.normal) { stores in
            let zone = try await stores.zone()
            let records = try await zone.fill(notes)
            try stores.raw.withoutMeasuring { try stores.raw.save(notes) }
            let roundCount = session.rounds(25, quick: 7)
            let fresh = try await stores.reading {
                try await Rounds.measure(roundCount, of: freshID) {
                    try await zone.timedFirstRead()
                } baseline: {
                    let watch = Stopwatch()
                    let sum = try stores.raw.firstRead()
                    return Sample(seconds: watch.seconds, checksum: sum)
                }
            }
            var figures = [Figure(id: freshID, records: count, rounds: fresh)]
            guard session.wants(rewrittenID) else { return figures }

            var numbers = NumberSequence(seed: 1)
            let order = notes.indices.shuffled(using: &numbers)
            _ = try await zone.update(order.map { records[$0] }, of: order.map { notes[$0] })
            let sum = notes.reduce(0) { $0 &+ $1.viewCount + 1 }
            var rounds = Rounds()
            for seconds in fresh.ours {
                let again = try await stores.reading { try await zone.timedFirstRead() }
                guard again.checksum == sum else { throw MeasurementError.differentWork(id: rewrittenID) }
                rounds.add(ours: again.seconds, baseline: seconds)
            }
            figures.append(Figure(id: rewrittenID, records: count, rounds: rounds))
            return figures
        }
    }
}

extension FeedZone {
    /// Reads everything from the beginning.
    func timedFirstRead() async throws -> Sample {
        let watch = Stopwatch()
        let sum = try await firstRead()
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}

extension NumberSequence: RandomNumberGenerator {}
