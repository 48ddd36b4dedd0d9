import ChangeFeed

/// `sqlite.groupCommit16`: sixteen writers of single records, each write durable, beside one such writer.
/// `sqlite.readAmongTombstones`: the time of a first read of 10 000 records with nine tombstones for each, beside one
/// with none.
struct SQLiteConcurrencyWorkload: Workload {
    var ids: [String] { ["sqlite.groupCommit16", "sqlite.readAmongTombstones"] }

    func run(in session: Session) async throws -> [Figure] {
        var figures: [Figure] = []
        if session.wants("sqlite.groupCommit16") { figures.append(try await groupCommit(in: session)) }
        if session.wants("sqlite.readAmongTombstones") { figures.append(try await tombstones(in: session)) }
        return figures
    }

    private func groupCommit(in session: Session) async throws -> Figure {
        let count = 200
        session.report("sqlite.groupCommit16: \(count) records a writer")
        let stores = try await DurableStores()
        let notes = Note.generatedWithUUIDs(0..<count)
        var rates = Rounds()
        for round in 0..<session.rounds(9, quick: 3) {
            var watch = Stopwatch()
            try await write(notes, as: "one-\(round)", to: stores.zone)
            let alone = watch.seconds / Double(count)
            watch = Stopwatch()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<16 {
                    group.addTask { try await write(notes, as: "\(writer)-\(round)", to: stores.zone) }
                }
                try await group.waitForAll()
            }
            rates.add(ours: watch.seconds / Double(16 * count), baseline: alone)
        }
        await stores.store.close()
        return Figure(id: "sqlite.groupCommit16", records: 1, rounds: rates)
    }

    private func write(_ notes: [Note], as prefix: String, to zone: FeedZone) async throws {
        for note in notes {
            var record = Record(
                recordType: "Note", recordID: Record.ID(recordName: "\(prefix)-\(note.name)", zoneID: zone.zoneID))
            record["title"] = note.title
            try await zone.database.save(record)
        }
    }

    private func tombstones(in session: Session) async throws -> Figure {
        let count = 10_000
        session.report("sqlite.readAmongTombstones: \(count) records")
        let stores = try await DurableStores(.normal)
        let zone = stores.zone
        let notes = Note.generatedWithUUIDs(0..<10 * count)
        _ = try await zone.write(notes)
        for batch in notes.indices.batches(of: FeedZone.batchSize) {
            // Nine of ten, so that what stays lies among what goes.
            let going = notes[batch].enumerated().filter { $0.offset % 10 != 0 }.map(\.element)
            _ = try await zone.database.modifyRecords(
                saving: [], deleting: going.map { Record.ID(recordName: $0.name, zoneID: zone.zoneID) })
        }
        let plain = FeedZone(database: zone.database, zoneID: RecordZone.ID(zoneName: "Living"))
        try await zone.database.save(RecordZone(zoneID: plain.zoneID))
        _ = try await plain.write(notes.enumerated().filter { $0.offset % 10 == 0 }.map(\.element))
        var rounds = Rounds()
        for _ in 0..<session.rounds(25, quick: 9) {
            let ours = try await stores.reading { try await firstRead(zone) }
            let baseline = try await stores.reading { try await firstRead(plain) }
            try rounds.add(ours: ours, baseline: baseline, of: "sqlite.readAmongTombstones")
        }
        await stores.store.close()
        return Figure(id: "sqlite.readAmongTombstones", rounds: rounds)
    }

    private func firstRead(_ zone: FeedZone) async throws -> Sample {
        let watch = Stopwatch()
        let sum = try await zone.firstRead()
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}
