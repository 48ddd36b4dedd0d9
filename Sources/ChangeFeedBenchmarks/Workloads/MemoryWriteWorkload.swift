import ChangeFeed

/// `memory.write`: 100 000 notes into one empty zone, in atomic batches of 400.
/// `memory.update`: each of them saved again with one field changed, over the version that the write gave back.
///
/// Making the records of the notes is part of the work.
struct MemoryWriteWorkload: Workload {
    private let writeID = "memory.write"
    private let updateID = "memory.update"
    private let count = 100_000

    var ids: [String] { [writeID, updateID] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("memory.write, memory.update: \(count) records")
        let notes = Note.generated(0..<count)
        var written = Rounds()
        var updated = Rounds()
        for _ in 0..<session.rounds(9, quick: 3) {
            let ours = try await feedRound(notes, updating: session.wants(updateID))
            let baseline = plainRound(notes, updating: session.wants(updateID))
            try written.add(ours: ours.write, baseline: baseline.write, of: writeID)
            if let ourUpdate = ours.update, let baselineUpdate = baseline.update {
                try updated.add(ours: ourUpdate, baseline: baselineUpdate, of: updateID)
            }
        }
        return [
            Figure(id: writeID, records: count, rounds: written),
            Figure(id: updateID, records: count, rounds: updated),
        ]
    }

    /// What a round measured; no update if none was asked for.
    private struct Round {
        let write: Sample
        var update: Sample?
    }

    private func feedRound(_ notes: [Note], updating: Bool) async throws -> Round {
        let zone = try await FeedZone()
        let watch = Stopwatch()
        let records = try await zone.write(notes)
        var round = Round(write: Sample(seconds: watch.seconds, checksum: records.sum(of: \.viewCount)))
        if updating {
            let watch = Stopwatch()
            let updated = try await zone.update(records, of: notes)
            round.update = Sample(seconds: watch.seconds, checksum: updated.sum(of: \.viewCount))
        }
        return round
    }

    private func plainRound(_ notes: [Note], updating: Bool) -> Round {
        var store = PlainStore()
        let watch = Stopwatch()
        let records = store.write(notes)
        var round = Round(write: Sample(seconds: watch.seconds, checksum: records.sum(of: \.viewCount)))
        if updating {
            let watch = Stopwatch()
            let updated = store.update(records, of: notes)
            round.update = Sample(seconds: watch.seconds, checksum: updated.sum(of: \.viewCount))
        }
        return round
    }
}

extension Sequence {
    fileprivate func sum(of value: (Element) -> Int64) -> Int64 {
        reduce(0) { $0 &+ value($1) }
    }
}
