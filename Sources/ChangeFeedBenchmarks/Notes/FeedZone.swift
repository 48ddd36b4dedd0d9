import ChangeFeed

extension Record {
    /// The record of a note.
    init(_ note: Note, in zoneID: RecordZone.ID) {
        self.init(recordType: "Note", recordID: Record.ID(recordName: note.name, zoneID: zoneID))
        self["title"] = note.title
        self["text"] = note.text
        self["viewCount"] = note.viewCount
        self["revision"] = note.revision
        self["rating"] = note.rating
        self["editedAt"] = note.editedAt
        self["isPinned"] = note.isPinned
        self["digest"] = note.digest
    }

    /// The value of the field that the workloads look at and change; 0 if it has none.
    var viewCount: Int64 {
        get { self[Note.countedKey] ?? 0 }
        set { self[Note.countedKey] = newValue }
    }
}

/// One zone of a database in memory, as its app sees it: every call goes through the public interface.
struct FeedZone: Sendable {
    /// How many records one request writes.
    static let batchSize = 400
    /// How many changes a page may have.
    static let pageSize = 200

    let database: Database
    let zoneID: RecordZone.ID

    /// The only zone of a fresh container.
    init() async throws {
        database = Container(identifier: "benchmarks").database(.private, for: "user")
        zoneID = RecordZone.ID(zoneName: "Notes")
        try await database.save(RecordZone(zoneID: zoneID))
    }

    /// A zone of a database that has it.
    init(database: Database, zoneID: RecordZone.ID) {
        self.database = database
        self.zoneID = zoneID
    }

    /// Writes the notes in atomic batches; gives the records as the server has them.
    func write(_ notes: [Note]) async throws -> [Record] {
        var kept: [Record] = []
        for batch in notes.indices.batches(of: FeedZone.batchSize) {
            let records = notes[batch].map { Record($0, in: zoneID) }
            let results = try await database.modifyRecords(saving: records)
            for save in results.saves { kept.append(try save.result.get()) }
        }
        return kept
    }

    /// Saves the records of the notes again, each with one field changed.
    func update(_ records: [Record], of notes: [Note]) async throws -> [Record] {
        var kept: [Record] = []
        for batch in records.indices.batches(of: FeedZone.batchSize) {
            let changed = batch.map { index in
                var record = records[index]
                record.viewCount = notes[index].viewCount + 1
                return record
            }
            let results = try await database.modifyRecords(saving: changed)
            for save in results.saves { kept.append(try save.result.get()) }
        }
        return kept
    }

    /// Reads everything from the beginning, looking at one field of each record; gives the sum of what it saw.
    func firstRead() async throws -> Int64 {
        var sum: Int64 = 0
        let pages = database.recordZoneChangePages(inZoneWith: zoneID, since: nil, resultsLimit: FeedZone.pageSize)
        for try await page in pages { sum &+= page.sumOfViewCounts }
        return sum
    }

    /// Changes one field of one record.
    func change(_ name: String, to viewCount: Int64) async throws {
        var record = try await database.record(for: Record.ID(recordName: name, zoneID: zoneID))
        record.viewCount = viewCount
        try await database.save(record)
    }

    /// The token after everything that has been written.
    func latestToken() async throws -> ZoneChangeToken? {
        var token: ZoneChangeToken?
        for try await page in database.recordZoneChangePages(inZoneWith: zoneID, since: nil) {
            token = page.changeToken
        }
        return token
    }
}

extension ZoneChanges {
    /// What a reader does with a page here: it looks at one field of each record.
    var sumOfViewCounts: Int64 {
        var sum: Int64 = 0
        for case .modified(let record) in changes { sum &+= record.viewCount }
        return sum
    }
}
