import ChangeFeed

/// `sqlite.write`: 100 000 notes under UUIDs into one empty zone, in atomic batches of 400, each durable.
/// `sqlite.update`: each of them saved again with one field changed, in the same order.
///
/// Making the records of the notes, or the bytes of their fields, is part of the work.
struct SQLiteWriteWorkload: Workload {
    private let writeID = "sqlite.write"
    private let updateID = "sqlite.update"
    private let count = 100_000

    var ids: [String] { [writeID, updateID] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(writeID), \(updateID): \(count) records")
        let notes = Note.generatedWithUUIDs(0..<count)
        var written = Rounds()
        var updated = Rounds()
        for _ in 0..<session.rounds(7, quick: 1) {
            try await DurableStores.with { stores in
                let zone = try await stores.zone()
                var watch = Stopwatch()
                let records = try await zone.write(notes)
                let ourWrite = Sample(seconds: watch.seconds, checksum: records.sumOfViewCounts)
                watch = Stopwatch()
                var sum = try stores.raw.write(notes)
                try written.add(ours: ourWrite, baseline: Sample(seconds: watch.seconds, checksum: sum), of: writeID)
                guard records.first.map(\.base.payload.encoded) == notes.first.map(RawPayload.encoded)
                else { throw MeasurementError.differentWork(id: writeID) }

                guard session.wants(updateID) else { return }
                watch = Stopwatch()
                let again = try await zone.update(records, of: notes)
                let ourUpdate = Sample(seconds: watch.seconds, checksum: again.sumOfViewCounts)
                watch = Stopwatch()
                sum = try stores.raw.write(notes, adding: 1)
                try updated.add(ours: ourUpdate, baseline: Sample(seconds: watch.seconds, checksum: sum), of: updateID)
            }
        }
        return [
            Figure(id: writeID, records: count, rounds: written),
            Figure(id: updateID, records: count, rounds: updated),
        ]
    }
}

extension [Record] {
    fileprivate var sumOfViewCounts: Int64 { reduce(0) { $0 &+ $1.viewCount } }
}

extension RawPayload {
    fileprivate static func encoded(_ note: Note) -> [UInt8] {
        var bytes: [UInt8] = []
        encode(note, viewCount: note.viewCount, into: &bytes)
        return bytes
    }
}
