import ChangeFeed

/// `sqlite.oneZoneOf1000`: one record in one of 1000 zones has changed since the last fetch; the time that it takes to
/// learn which zone it was, and to fetch what has changed in it, on the store's own threads.
///
/// Each repetition changes another zone, which is not measured. A zone has 20 records.
struct SQLiteOneZoneWorkload: Workload {
    private let id = "sqlite.oneZoneOf1000"
    private let zoneCount = 1000
    private let recordsPerZone = 20

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(zoneCount) zones of \(recordsPerZone) records")
        let notes = Note.generatedWithUUIDs(0..<recordsPerZone)
        return try await DurableStores.with(.normal) { stores in
            var feed = try await FeedFollower(
                of: stores.database, zoneNames: (0..<zoneCount).map(zoneName), notes: notes)
            var raw = try RawFollower(of: stores.raw, zoneCount: zoneCount, notes: notes)
            var numbers = NumberSequence(seed: 1)
            Stopwatch.warmUp()

            var rounds = Rounds()
            try await stores.reading {
                for repetition in 0..<session.rounds(3_000, quick: 1_000) {
                    let zone = Int(numbers.next() % UInt64(zoneCount))
                    let note = notes[Int(numbers.next() % UInt64(recordsPerZone))]
                    let viewCount = 1_000_000 + Int64(repetition)
                    try await feed.change(note.name, in: zoneName(zone), to: viewCount)
                    let ours = try await feed.fetch()
                    try raw.change(note, in: Int64(zone), to: viewCount)
                    let baseline = try raw.fetch()
                    guard ours.checksum == viewCount else { throw MeasurementError.noChange(id: id) }
                    try rounds.add(ours: ours, baseline: baseline, of: id)
                }
            }
            return [Figure(id: id, rounds: rounds)]
        }
    }

    private func zoneName(_ number: Int) -> String { "folder-\(number)" }
}

/// A client of raw SQLite that keeps the positions of the database and of each zone.
private struct RawFollower {
    private let zones: RawZones
    private var position: Int64
    private var zonePositions: [Int64: Int64] = [:]

    init(of store: RawStore, zoneCount: Int, notes: [Note]) throws {
        zones = try RawZones(store)
        for zone in 0..<Int64(zoneCount) {
            try zones.write(notes, to: zone)
            zonePositions[zone] = store.head
        }
        position = store.head
    }

    func change(_ note: Note, in zone: Int64, to viewCount: Int64) throws {
        try zones.write([note], adding: viewCount - note.viewCount, to: zone)
    }

    mutating func fetch() throws -> Sample {
        let watch = Stopwatch()
        var sum: Int64 = 0
        let changed = zones.changes(after: position)
        for zone in changed.zones {
            let page = try zones.store.page(after: zonePositions[zone] ?? 0, zone: zone)
            sum &+= page.sumOfViewCounts
            zonePositions[zone] = page.position
        }
        position = changed.position
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}
