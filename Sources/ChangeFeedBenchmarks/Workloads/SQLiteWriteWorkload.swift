import ChangeFeed

/// `sqlite.write`: 100 000 notes with UUIDs for names into one empty zone, in atomic batches of 400, each durable.
/// `sqlite.update`: each of them saved again with one field changed, in the same order.
/// `sqlite.firstRead`: all of them from the beginning, in pages of 200, looking at one field of each.
/// `sqlite.readAfterRewrite`: the rate of a first read after all were saved again in random order, over the fresh one.
/// `sqlite.bytesPerRecord`: the size of the file after the first write.
struct SQLiteWriteWorkload: Workload {
    private let count = 100_000

    var ids: [String] {
        ["sqlite.write", "sqlite.update", "sqlite.firstRead", "sqlite.readAfterRewrite", "sqlite.bytesPerRecord"]
    }

    func run(in session: Session) async throws -> [Figure] {
        session.report("sqlite.write and what follows: \(count) records")
        let notes = Note.generatedWithUUIDs(0..<count)
        var written = Rounds()
        var updated = Rounds()
        var read = Rounds()
        var rewritten = Rounds()
        var bytes = (ours: 0, raw: 0)
        for round in 0..<session.rounds(5, quick: 1) {
            let stores = try await DurableStores()
            let zone = stores.zone
            let raw = try stores.raw()
            var watch = Stopwatch()
            let records = try await zone.write(notes)
            let ours = Sample(seconds: watch.seconds, checksum: records.reduce(0) { $0 &+ $1.viewCount })
            watch = Stopwatch()
            var sum: Int64 = 0
            for batch in notes.indices.batches(of: FeedZone.batchSize) { sum &+= try raw.save(notes[batch]) }
            try written.add(ours: ours, baseline: Sample(seconds: watch.seconds, checksum: sum), of: "sqlite.write")
            if round == 0 {
                try await stores.store.vacuum()
                bytes = (try stores.bytes(of: "feed.db"), try raw.bytesInFile())
            }

            var fresh = Rounds()
            for _ in 0..<5 {
                let ours = try await stores.reading { try await firstRead(zone) }
                let watch = Stopwatch()
                let sum = raw.firstRead()
                let baseline = Sample(seconds: watch.seconds, checksum: sum)
                try read.add(ours: ours, baseline: baseline, of: "sqlite.firstRead")
                try fresh.add(ours: ours, baseline: baseline, of: "sqlite.firstRead")
            }

            watch = Stopwatch()
            let again = try await zone.update(records, of: notes)
            let ourUpdate = Sample(seconds: watch.seconds, checksum: again.reduce(0) { $0 &+ $1.viewCount })
            watch = Stopwatch()
            sum = 0
            for batch in notes.indices.batches(of: FeedZone.batchSize) {
                sum &+= try raw.save(notes[batch], adding: 1)
            }
            try updated.add(
                ours: ourUpdate, baseline: Sample(seconds: watch.seconds, checksum: sum), of: "sqlite.update")

            if session.wants("sqlite.readAfterRewrite") {
                var numbers = NumberSequence(seed: 9)
                let order = notes.indices.shuffled(using: &numbers)
                _ = try await zone.update(order.map { again[$0] }, of: order.map { notes[$0] })
                for _ in 0..<5 {
                    let after = try await stores.reading { try await firstRead(zone) }
                    rewritten.add(ours: after.seconds, baseline: fresh.ours.median)
                }
            }
            await stores.store.close()
        }
        return [
            Figure(id: "sqlite.write", records: count, rounds: written),
            Figure(id: "sqlite.update", records: count, rounds: updated),
            Figure(id: "sqlite.firstRead", records: count, rounds: read),
            Figure(id: "sqlite.readAfterRewrite", records: count, rounds: rewritten),
            Figure(
                id: "sqlite.bytesPerRecord", unit: .bytes, ours: Double(bytes.ours) / Double(count),
                baseline: Double(bytes.raw) / Double(count)),
        ]
    }

    private func firstRead(_ zone: FeedZone) async throws -> Sample {
        let watch = Stopwatch()
        let sum = try await zone.firstRead()
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}

extension NumberSequence: RandomNumberGenerator {}
