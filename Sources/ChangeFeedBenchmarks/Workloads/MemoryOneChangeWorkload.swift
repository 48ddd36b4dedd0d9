import ChangeFeed

/// `memory.oneOfN.N`: one record of N has changed since the last fetch; the time of the fetch that gives it.
///
/// Each repetition changes another record, which is not measured.
struct MemoryOneChangeWorkload: Workload {
    private let counts = [10_000, 100_000, 1_000_000]

    var ids: [String] { counts.map(id) }

    private func id(_ count: Int) -> String { "memory.oneOfN.\(count)" }

    func run(in session: Session) async throws -> [Figure] {
        var figures: [Figure] = []
        for count in counts where session.wants(id(count)) {
            session.report("\(id(count)): writing \(count) records")
            figures.append(try await figure(count, in: session))
        }
        return figures
    }

    private func figure(_ count: Int, in session: Session) async throws -> Figure {
        let zone = try await FeedZone()
        var store = PlainStore()
        for part in (0..<count).batches(of: 10_000) {
            let notes = Note.generated(part)
            _ = try await zone.write(notes)
            _ = store.write(notes)
        }
        var token = try await zone.latestToken()
        var position = store.head
        var numbers = NumberSequence(seed: 1)
        Stopwatch.warmUp()

        var rounds = Rounds()
        for repetition in 0..<session.rounds(10_000, quick: 2_000) {
            let name = Note.name(Int(numbers.next() % UInt64(count)))
            let viewCount = 1_000_000 + Int64(repetition)
            try await zone.change(name, to: viewCount)
            let ours = try await fetch(from: zone, since: &token)
            store.change(name, to: viewCount)
            let baseline = fetch(from: store, since: &position)
            guard ours.checksum == viewCount else { throw MeasurementError.noChange(id: id(count)) }
            try rounds.add(ours: ours, baseline: baseline, of: id(count))
        }
        return Figure(id: id(count), rounds: rounds)
    }

    private func fetch(from zone: FeedZone, since token: inout ZoneChangeToken?) async throws -> Sample {
        let watch = Stopwatch()
        let page = try await zone.database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
        let sum = page.sumOfViewCounts
        token = page.changeToken
        return Sample(seconds: watch.seconds, checksum: sum)
    }

    private func fetch(from store: PlainStore, since position: inout Int) -> Sample {
        let watch = Stopwatch()
        let page = store.page(after: position)
        let sum = page.sumOfViewCounts
        position = page.position
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}
