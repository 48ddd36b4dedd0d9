import ChangeFeed

/// `memory.oneZoneOf1000`: one record in one of 1000 zones has changed since the last fetch; the time that it takes to
/// learn which zone it was, and to fetch what has changed in it.
///
/// Each repetition changes another zone, which is not measured. A zone has 20 records.
struct MemoryOneZoneWorkload: Workload {
    private let id = "memory.oneZoneOf1000"
    private let zoneCount = 1000
    private let recordsPerZone = 20

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(zoneCount) zones of \(recordsPerZone) records")
        let notes = Note.generated(0..<recordsPerZone)
        let database = Container(identifier: "benchmarks").database(.private, for: "user")
        var feed = try await FeedFollower(of: database, zoneNames: (0..<zoneCount).map(zoneName), notes: notes)
        var plain = PlainReader(zoneCount: zoneCount, notes: notes)
        var numbers = NumberSequence(seed: 1)
        Stopwatch.warmUp()

        var rounds = Rounds()
        for repetition in 0..<session.rounds(10_000, quick: 2_000) {
            let zoneName = zoneName(Int(numbers.next() % UInt64(zoneCount)))
            let name = Note.name(Int(numbers.next() % UInt64(recordsPerZone)))
            let viewCount = 1_000_000 + Int64(repetition)
            try await feed.change(name, in: zoneName, to: viewCount)
            let ours = try await feed.fetch()
            plain.change(name, in: zoneName, to: viewCount)
            let baseline = plain.fetch()
            guard ours.checksum == viewCount else { throw MeasurementError.noChange(id: id) }
            try rounds.add(ours: ours, baseline: baseline, of: id)
        }
        return [Figure(id: id, rounds: rounds)]
    }
}

private func zoneName(_ number: Int) -> String { "folder-\(number)" }

/// The same client of plain Swift.
private struct PlainReader {
    private var database = PlainDatabase()
    private var databasePosition = 0
    private var zonePositions: [String: Int] = [:]

    init(zoneCount: Int, notes: [Note]) {
        for number in 0..<zoneCount {
            let name = zoneName(number)
            _ = database.write(to: name) { $0.write(notes) }
            zonePositions[name] = database[name]?.head
        }
        databasePosition = database.head
    }

    mutating func change(_ name: String, in zoneName: String, to viewCount: Int64) {
        database.write(to: zoneName) { $0.change(name, to: viewCount) }
    }

    mutating func fetch() -> Sample {
        let watch = Stopwatch()
        var sum: Int64 = 0
        let zones = database.changes(after: databasePosition)
        for zoneName in zones.zoneNames {
            guard let page = database[zoneName]?.page(after: zonePositions[zoneName] ?? 0) else { continue }
            sum &+= page.sumOfViewCounts
            zonePositions[zoneName] = page.position
        }
        databasePosition = zones.position
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}
