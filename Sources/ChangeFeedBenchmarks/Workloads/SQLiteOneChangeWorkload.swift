import ChangeFeed

/// `sqlite.oneOfN.N`: one record of N has changed since the last fetch; the time of the fetch that gives it, in a task
/// that prefers `SQLiteStore.taskExecutor`, the documented way where latency matters: it reads on the store's own
/// threads, as raw SQLite reads on the thread that asks.
/// `sqlite.oneOfN.100000.switching`: the same in a task without that preference, which changes threads for each call.
/// `sqlite.growth.write`: how many times slower records are written when there are 1 000 000 than when there are
/// 10 000.
///
/// Each repetition changes another record, which is not measured. All amounts are met by one store that grows.
struct SQLiteOneChangeWorkload: Workload {
    private let counts = [10_000, 100_000, 1_000_000]
    private let switchingCount = 100_000
    private let growthID = "sqlite.growth.write"
    /// How many records are made at a time, and how many a measurement of growth writes.
    private let partSize = 10_000

    var ids: [String] { counts.map(id) + [switchingID, growthID] }

    private var switchingID: String { id(switchingCount) + ".switching" }

    private func id(_ count: Int) -> String { "sqlite.oneOfN.\(count)" }

    func run(in session: Session) async throws -> [Figure] {
        let wanted = counts.filter { count in
            session.wants(id(count)) || count == switchingCount && session.wants(switchingID)
                || count == counts.last && session.wants(growthID)
        }
        guard let largest = wanted.last else { return [] }
        // How fast the disk is would hide how the work grows, so no commit waits for it.
        return try await DurableStores.with(.normal) { stores in
            let zone = try await stores.zone()
            var figures: [Figure] = []
            var count = 0
            for next in wanted {
                session.report("\(id(next)): \(next) records")
                // The last parts are written as if somebody looked.
                let measured = next == largest && session.wants(growthID) ? session.rounds(9, quick: 3) : 0
                try await fill(count..<next - measured * partSize, of: zone, stores.raw)
                if measured > 0 {
                    let large = try await written(next - measured * partSize..<next, to: zone, stores.raw)
                    figures.append(try await growth(to: large, in: session))
                }
                count = next
                try await stores.reading {
                    if session.wants(id(count)) {
                        figures.append(try await figure(id(count), of: count, zone, stores.raw, in: session))
                    }
                }
                if count == switchingCount, session.wants(switchingID) {
                    figures.append(try await figure(switchingID, of: count, zone, stores.raw, in: session))
                }
            }
            return figures
        }
    }

    // MARK: - One change

    private func figure(
        _ id: String, of count: Int, _ zone: FeedZone, _ raw: RawStore, in session: Session
    ) async throws -> Figure {
        var token = try await zone.latestToken()
        var position = raw.head
        var numbers = NumberSequence(seed: 1)
        Stopwatch.warmUp()

        var rounds = Rounds()
        for repetition in 0..<session.rounds(3_000, quick: 1_000) {
            let number = Int(numbers.next() % UInt64(count))
            let viewCount = 1_000_000 + Int64(repetition)
            try await zone.change(Note.uuidName(number), to: viewCount)
            let ours = try await fetch(from: zone, since: &token)
            let note = Note.generatedWithUUIDs(number..<number + 1)
            try raw.save(note, adding: viewCount - note[0].viewCount)
            let baseline = try fetch(from: raw, since: &position)
            guard ours.checksum == viewCount else { throw MeasurementError.noChange(id: id) }
            try rounds.add(ours: ours, baseline: baseline, of: id)
        }
        return Figure(id: id, rounds: rounds)
    }

    private func fetch(from zone: FeedZone, since token: inout ZoneChangeToken?) async throws -> Sample {
        let watch = Stopwatch()
        let page = try await zone.database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
        let sum = page.sumOfViewCounts
        token = page.changeToken
        return Sample(seconds: watch.seconds, checksum: sum)
    }

    private func fetch(from raw: RawStore, since position: inout Int64) throws -> Sample {
        let watch = Stopwatch()
        let page = try raw.page(after: position)
        position = page.position
        return Sample(seconds: watch.seconds, checksum: page.sumOfViewCounts)
    }

    // MARK: - Growth

    private func fill(_ numbers: Range<Int>, of zone: FeedZone, _ raw: RawStore) async throws {
        let parts = numbers.batches(of: partSize)
        for part in parts { try await zone.fill(Note.generatedWithUUIDs(part)) }
        try raw.withoutMeasuring {
            for part in parts { try raw.save(Note.generatedWithUUIDs(part)) }
        }
    }

    private func written(_ numbers: Range<Int>, to zone: FeedZone, _ raw: RawStore) async throws -> Rounds {
        var rounds = Rounds()
        for part in numbers.batches(of: partSize) {
            let notes = Note.generatedWithUUIDs(part)
            var watch = Stopwatch()
            let sum = try await zone.write(notes).reduce(0) { $0 &+ $1.viewCount }
            let ours = Sample(seconds: watch.seconds, checksum: sum)
            watch = Stopwatch()
            let rawSum = try raw.write(notes)
            try rounds.add(ours: ours, baseline: Sample(seconds: watch.seconds, checksum: rawSum), of: growthID)
        }
        return rounds
    }

    /// The time of what was written last, over the time of as much in fresh stores.
    private func growth(to large: Rounds, in session: Session) async throws -> Figure {
        var ours: [Double] = []
        var baseline: [Double] = []
        for _ in 0..<session.rounds(9, quick: 3) {
            let small = try await DurableStores.with(.normal) { stores in
                try await written(0..<partSize, to: try await stores.zone(), stores.raw)
            }
            ours += small.ours
            baseline += small.baseline
        }
        return Figure(
            id: growthID, unit: .times, ours: large.ours.median / ours.median,
            baseline: large.baseline.median / baseline.median)
    }
}
