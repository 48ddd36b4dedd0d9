import ChangeFeed

/// `cascade.N`: one record is deleted and N go with it: a tree of `deleteSelf` references, 500 records to a branch. The
/// time is that of the one request.
struct CascadeWorkload: Workload {
    private let counts = [10_000, 100_000]
    private let branchSize = 500

    var ids: [String] { counts.map(id) }

    func run(in session: Session) async throws -> [Figure] {
        var figures: [Figure] = []
        for count in counts where session.wants(id(count)) {
            session.report("\(id(count)): \(count) records that go with one")
            var seconds: [Double] = []
            for _ in 0..<session.rounds(7, quick: 5) { seconds.append(try await round(count)) }
            figures.append(
                Figure(id: id(count), unit: .microseconds, ours: seconds.median * 1e6, baseline: nil))
        }
        return figures
    }

    private func id(_ count: Int) -> String { "cascade.\(count)" }

    private func round(_ count: Int) async throws -> Double {
        let zone = try await FeedZone()
        let root = Record(recordType: "Node", recordID: nodeID("root", in: zone))
        try await zone.database.save(root)
        let branches = count / branchSize
        try await save(branches, in: zone, named: { "branch-\($0)" }, under: { _ in root.recordID })
        try await save(
            count - branches, in: zone, named: { "leaf-\($0)" },
            under: { nodeID("branch-\($0 % branches)", in: zone) })

        let watch = Stopwatch()
        try await zone.database.deleteRecord(withID: root.recordID)
        let seconds = watch.seconds
        guard try await zone.firstReadCount() == 0 else { throw MeasurementError.noChange(id: id(count)) }
        return seconds
    }

    private func save(
        _ count: Int, in zone: FeedZone, named name: (Int) -> String, under owner: (Int) -> Record.ID
    ) async throws {
        for batch in (0..<count).batches(of: FeedZone.batchSize) {
            let records = batch.map { number in
                var record = Record(recordType: "Node", recordID: nodeID(name(number), in: zone))
                record["owner"] = Record.Reference(recordID: owner(number), action: .deleteSelf)
                return record
            }
            for save in try await zone.database.modifyRecords(saving: records).saves { _ = try save.result.get() }
        }
    }

    private func nodeID(_ name: String, in zone: FeedZone) -> Record.ID {
        Record.ID(recordName: name, zoneID: zone.zoneID)
    }
}

extension FeedZone {
    /// How many records a first read gives.
    fileprivate func firstReadCount() async throws -> Int {
        var count = 0
        let pages = database.recordZoneChangePages(inZoneWith: zoneID, since: nil, resultsLimit: FeedZone.pageSize)
        for try await page in pages { count += page.changes.count }
        return count
    }
}
