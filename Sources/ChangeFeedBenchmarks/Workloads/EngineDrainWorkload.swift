import ChangeFeed
import SyncEngineCore

/// `engine.drain.N`: N pending changes are added, sent in batches, 1 % of them in conflict with the server, resolved,
/// and sent again until nothing is pending: the time of all that.
struct EngineDrainWorkload: Workload {
    private let counts = [12_000, 120_000]

    var ids: [String] { counts.map(id) }

    private func id(_ count: Int) -> String { "engine.drain.\(count)" }

    func run(in session: Session) async throws -> [Figure] {
        var figures: [Figure] = []
        for count in counts where session.wants(id(count)) {
            session.report("\(id(count)): \(count) pending changes")
            var seconds: [Double] = []
            for _ in 0..<session.rounds(5, quick: 3) { seconds.append(try await round(count)) }
            figures.append(Figure(id: id(count), unit: .microseconds, ours: seconds.median * 1e6, baseline: nil))
        }
        return figures
    }

    private func round(_ count: Int) async throws -> Double {
        let zone = try await FeedZone()
        let notes = Note.generated(0..<count)
        // One in a hundred is on the server already, with other content.
        _ = try await zone.write(stride(from: 0, to: count, by: 100).map { notes[$0] })
        let records = notes.map { note in
            var record = Record(note, in: zone.zoneID)
            record.viewCount += 1
            return record
        }
        let app = EngineApp()
        let engine = try app.engine(of: zone.database, store: InMemoryStateStore())
        app.keep(records)
        let watch = Stopwatch()
        engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
        var sends = 0
        while engine.state.needsSend, sends < 10 {
            sends += 1
            do {
                try await engine.sendChanges()
            } catch {
                // The conflicts, which are resolved and pending again.
            }
        }
        let seconds = watch.seconds
        guard !engine.state.needsSend, app.conflictCount == (count + 99) / 100 else {
            throw MeasurementError.noChange(id: id(count))
        }
        try await engine.stop()
        return seconds
    }
}

/// `engine.persistOneAdd`: how many bytes are stored for one more pending change where 120 000 are pending, beside the
/// bytes where ten are.
struct EnginePersistWorkload: Workload {
    private let id = "engine.persistOneAdd"

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): one more of 120 000")
        let ours = try await bytes(pending: 120_000)
        let baseline = try await bytes(pending: 10)
        return [Figure(id: id, unit: .bytes, ours: Double(ours), baseline: Double(baseline))]
    }

    private func bytes(pending count: Int) async throws -> Int {
        let store = InMemoryStateStore()
        let zone = try await FeedZone()
        let engine = try EngineApp().engine(of: zone.database, store: store)
        try await engine.addDurably(
            pendingRecordZoneChanges: (0..<count).map {
                .saveRecord(Record.ID(recordName: Note.name($0), zoneID: zone.zoneID))
            })
        let before = store.byteCount
        try await engine.addDurably(pendingRecordZoneChanges: [
            .saveRecord(Record.ID(recordName: Note.name(9_999_999), zoneID: zone.zoneID))
        ])
        return store.byteCount - before
    }
}
