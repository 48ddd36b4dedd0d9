import ChangeFeed

/// `sqlite.bytesPerRecord`: how many bytes of the file a record takes, of 100 000, when the log has been brought into
/// it. Raw SQLite keeps a note's keys with each record, as the codec's bytes have them.
///
/// Nothing is asked of the clock, so one round is enough.
struct SQLiteSizeWorkload: Workload {
    private let id = "sqlite.bytesPerRecord"
    private let count = 100_000

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(count) records")
        let notes = Note.generatedWithUUIDs(0..<count)
        let stores = try await DurableStores(.normal)
        try await stores.zone().fill(notes)
        await stores.store.close()
        try stores.raw.withoutMeasuring { try stores.raw.save(notes) }
        let records = Double(count)
        return [
            Figure(
                id: id, unit: .bytes, ours: Double(try stores.bytesInFile()) / records,
                baseline: Double(try stores.raw.bytesInFile()) / records)
        ]
    }
}
