import ChangeFeed

/// `sqlite.oneOfN.N`: one record of N has changed since the last fetch; the time of the fetch that gives it, on the
/// store's own threads.
/// `sqlite.growth.write`: the rate at which the first 10 000 of 1 000 000 records were written over that of the last.
struct SQLiteOneChangeWorkload: Workload {
    private let counts = [10_000, 100_000, 1_000_000]
    private let growthID = "sqlite.growth.write"

    var ids: [String] { counts.map(id) + [growthID] }

    private func id(_ count: Int) -> String { "sqlite.oneOfN.\(count)" }

    func run(in session: Session) async throws -> [Figure] {
        let wanted = session.wants(growthID) ? counts : counts.filter { session.wants(id($0)) }
        guard let largest = wanted.last else { return [] }
        session.report("sqlite.oneOfN: \(largest) records")
        var figures: [Figure] = []
        // What is written is not measured but for its growth, which does not depend on the disk's patience.
        let stores = try await DurableStores(.normal)
        let raw = try stores.raw(durability: "NORMAL")
        var ours: [Double] = []
        var baseline: [Double] = []
        let part = 10_000
        for start in stride(from: 0, to: largest, by: part) {
            let notes = Note.generatedWithUUIDs(start..<start + part)
            var watch = Stopwatch()
            _ = try await stores.zone.write(notes)
            ours.append(watch.seconds)
            watch = Stopwatch()
            for batch in notes.indices.batches(of: FeedZone.batchSize) { try raw.save(notes[batch]) }
            baseline.append(watch.seconds)
            if session.wants(id(start + part)) {
                figures.append(try await figure(start + part, stores, raw, in: session))
            }
        }
        if session.wants(growthID) {
            // The median of the latest parts: one may have met a checkpoint.
            figures.append(
                Figure(
                    id: growthID, unit: .times, ours: Array(ours.suffix(9)).median / ours[0],
                    baseline: Array(baseline.suffix(9)).median / baseline[0]))
        }
        await stores.store.close()
        return figures
    }

    private func figure(
        _ count: Int, _ stores: DurableStores, _ raw: RawStore, in session: Session
    ) async throws -> Figure {
        var token = try await stores.zone.latestToken()
        var position = raw.head
        var numbers = NumberSequence(seed: 1)
        Stopwatch.warmUp()
        var rounds = Rounds()
        for repetition in 0..<session.rounds(3_000, quick: 600) {
            let number = Int(numbers.next() % UInt64(count))
            let viewCount = 1_000_000 + Int64(repetition)
            try await stores.zone.change(Note.uuidName(number), to: viewCount)
            let (zone, since) = (stores.zone, token)
            let (ours, next) = try await stores.reading {
                let watch = Stopwatch()
                let page = try await zone.database.recordZoneChanges(inZoneWith: zone.zoneID, since: since)
                let sum = page.sumOfViewCounts
                return (Sample(seconds: watch.seconds, checksum: sum), page.changeToken)
            }
            token = next
            let note = Note.generatedWithUUIDs(number..<number + 1)
            try raw.save(note, adding: viewCount - note[0].viewCount)
            let watch = Stopwatch()
            let page = raw.page(after: position)
            let baseline = Sample(seconds: watch.seconds, checksum: page.sum)
            position = page.position
            try rounds.add(ours: ours, baseline: baseline, of: id(count))
        }
        return Figure(id: id(count), rounds: rounds)
    }
}
