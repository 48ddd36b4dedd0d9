import ChangeFeed
import SyncEngineCore

/// `engine.firstFetch`: an engine fetches 100 000 records, beside the bare loop over the pages.
///
/// `engine.oneRecord`: one record has changed since the last fetch; the time of one call of `fetchChanges`, beside that
/// of asking the database and the zone without an engine.
struct EngineFetchWorkload: Workload {
    private let firstID = "engine.firstFetch"
    private let oneID = "engine.oneRecord"
    private let count = 100_000

    var ids: [String] { [firstID, oneID] }

    func run(in session: Session) async throws -> [Figure] {
        var figures: [Figure] = []
        if session.wants(firstID) { figures.append(try await firstFetch(session)) }
        if session.wants(oneID) { figures.append(try await oneRecord(session)) }
        return figures
    }

    private func firstFetch(_ session: Session) async throws -> Figure {
        session.report("\(firstID): \(count) records")
        let zone = try await FeedZone()
        _ = try await zone.write(Note.generated(0..<count))
        var rounds = Rounds()
        for _ in 0..<session.rounds(25, quick: 7) {
            let app = EngineApp()
            let engine = try app.engine(of: zone.database)
            let watch = Stopwatch()
            try await engine.fetchChanges()
            let ours = Sample(seconds: watch.seconds, checksum: app.takeSum())
            try await engine.stop()

            let bare = Stopwatch()
            let sum = try await zone.firstRead()
            try rounds.add(ours: ours, baseline: Sample(seconds: bare.seconds, checksum: sum), of: firstID)
        }
        return Figure(id: firstID, records: count, rounds: rounds)
    }

    private func oneRecord(_ session: Session) async throws -> Figure {
        session.report("\(oneID): one of 10000 records")
        let notes = Note.generated(0..<10_000)
        let database = Container(identifier: "benchmarks").database(.private, for: "user")
        var follower = try await FeedFollower(of: database, zoneNames: ["Notes"], notes: notes)
        let app = EngineApp()
        let engine = try app.engine(of: database)
        try await engine.fetchChanges()
        _ = app.takeSum()
        var numbers = NumberSequence(seed: 1)
        Stopwatch.warmUp()
        var rounds = Rounds()
        for repetition in 0..<session.rounds(10_000, quick: 2_000) {
            let name = Note.name(Int(numbers.next() % UInt64(notes.count)))
            try await follower.change(name, in: "Notes", to: 1_000_000 + Int64(repetition))
            let watch = Stopwatch()
            try await engine.fetchChanges()
            let ours = Sample(seconds: watch.seconds, checksum: app.takeSum())
            try rounds.add(ours: ours, baseline: try await follower.fetch(), of: oneID)
        }
        try await engine.stop()
        return Figure(id: oneID, rounds: rounds)
    }
}
