import ChangeFeed

/// `compact.maxStep`: 1 000 000 tombstones are discarded in steps of 1 000, each a transaction of its own. The time is
/// that of the longest step: how long at most a writer has to wait.
struct CompactionWorkload: Workload {
    private let id = "compact.maxStep"
    private let count = 1_000_000
    private let stepBudget = 1_000

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): making \(count) tombstones")
        let container = Container(identifier: "benchmarks")
        let zone = FeedZone(
            database: container.database(.private, for: "user"), zoneID: RecordZone.ID(zoneName: "Notes"))
        try await zone.database.save(RecordZone(zoneID: zone.zoneID))
        for batch in (0..<count).batches(of: FeedZone.batchSize) {
            let recordIDs = batch.map { Record.ID(recordName: "note-\($0)", zoneID: zone.zoneID) }
            let records = recordIDs.map { Record(recordType: "Note", recordID: $0) }
            for save in try await zone.database.modifyRecords(saving: records).saves { _ = try save.result.get() }
            for deletion in try await zone.database.modifyRecords(saving: [], deleting: recordIDs).deletions {
                try deletion.result.get()
            }
        }

        var discarded = 0
        var longest = 0.0
        var isComplete = false
        while !isComplete {
            let watch = Stopwatch()
            let step = try await container.compact(before: .date(.distantFuture), stepBudget: stepBudget)
            longest = max(longest, watch.seconds)
            discarded += step.recordTombstones
            isComplete = step.isComplete
        }
        guard discarded == count else { throw MeasurementError.noChange(id: id) }
        return [Figure(id: id, unit: .microseconds, ours: longest * 1e6, baseline: nil)]
    }
}
