#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What somebody writes who needs a feed and has no library: a dictionary by name, and an append-only log.
///
/// No validation, no conflicts, no deletions, no tokens, no lock. It is the bar, not a competitor.
struct PlainStore {
    /// The latest version of each record.
    private var records: [String: PlainRecord] = [:]
    /// Every write in order. An entry that is not its record's latest is superseded.
    private var log: [(position: Int, name: String)] = []

    /// The position of the last write.
    var head: Int { log.count }

    /// Stores records and gives them back with their positions.
    mutating func save(_ batch: [PlainRecord]) -> [PlainRecord] {
        var saved = batch
        for index in saved.indices {
            let position = log.count + 1
            saved[index].position = position
            records[saved[index].name] = saved[index]
            log.append((position, saved[index].name))
        }
        return saved
    }

    subscript(name: String) -> PlainRecord? {
        records[name]
    }

    /// At most `limit` records that were written after a position, each once.
    func page(after position: Int, limit: Int = 200) -> Page {
        var page = Page(position: position)
        // Positions have no gaps, so the first entry after a position has it for an index.
        for entry in log[position...] {
            guard let record = records[entry.name], record.position == entry.position else { continue }
            if page.records.count == limit {
                page.moreComing = true
                return page
            }
            page.records.append(record)
            page.position = entry.position
        }
        page.position = log.count
        return page
    }

    struct Page {
        var records: [PlainRecord] = []
        /// Where to go on.
        var position: Int
        var moreComing = false
    }
}

/// A record with a dictionary of fields.
struct PlainRecord {
    let name: String
    var fields: [String: PlainValue]
    /// Where the record was written; 0 before it was.
    var position = 0
}

/// The value of a field.
enum PlainValue {
    case string(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bool(Bool)
    case bytes(Data)
}

extension PlainRecord {
    /// The record of a note.
    init(_ note: Note) {
        name = note.name
        fields = [
            "title": .string(note.title),
            "text": .string(note.text),
            "viewCount": .int64(note.viewCount),
            "revision": .int64(note.revision),
            "rating": .double(note.rating),
            "editedAt": .date(note.editedAt),
            "isPinned": .bool(note.isPinned),
            "digest": .bytes(note.digest),
        ]
    }

    /// The value of the field that the workloads look at and change; 0 if it has none.
    var viewCount: Int64 {
        get {
            guard case .int64(let count) = fields[Note.countedKey] else { return 0 }
            return count
        }
        set { fields[Note.countedKey] = .int64(newValue) }
    }
}

// MARK: - The work of the workloads

extension PlainStore {
    /// Writes the notes in batches; gives the records with their positions.
    mutating func write(_ notes: [Note]) -> [PlainRecord] {
        var kept: [PlainRecord] = []
        for batch in notes.indices.batches(of: FeedZone.batchSize) {
            kept += save(notes[batch].map { PlainRecord($0) })
        }
        return kept
    }

    /// Saves the records of the notes again, each with one field changed.
    mutating func update(_ records: [PlainRecord], of notes: [Note]) -> [PlainRecord] {
        var kept: [PlainRecord] = []
        for batch in records.indices.batches(of: FeedZone.batchSize) {
            kept += save(
                batch.map { index in
                    var record = records[index]
                    record.viewCount = notes[index].viewCount + 1
                    return record
                })
        }
        return kept
    }

    /// Reads everything from the beginning, looking at one field of each record; gives the sum of what it saw.
    func firstRead() -> Int64 {
        var sum: Int64 = 0
        var page = page(after: 0)
        while true {
            sum &+= page.sumOfViewCounts
            guard page.moreComing else { return sum }
            page = self.page(after: page.position)
        }
    }

    /// Changes one field of one record.
    mutating func change(_ name: String, to viewCount: Int64) {
        guard var record = self[name] else { return }
        record.viewCount = viewCount
        _ = save([record])
    }
}

extension PlainStore.Page {
    /// What a reader does with a page here: it looks at one field of each record.
    var sumOfViewCounts: Int64 {
        var sum: Int64 = 0
        for record in records { sum &+= record.viewCount }
        return sum
    }
}
