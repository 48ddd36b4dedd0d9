import ChangeFeed

/// `memory.bytesPerRecord`: the heap that a stored record takes, of 100 000.
///
/// The allocator tells how many bytes are in use before the records are written and after, when everything that a
/// client made or got has been released: what is left is the store's own, with its indices, the room that they keep
/// to grow and the allocator's words beside each block. Nothing is asked of the clock, so one round is enough, and it
/// gives the same number in every run but for a fraction of a percent.
struct MemorySizeWorkload: Workload {
    private let id = "memory.bytesPerRecord"
    private let count = 100_000

    var ids: [String] { [id] }

    func run(in session: Session) async throws -> [Figure] {
        session.report("\(id): \(count) records")
        guard let ours = try await feedBytes(), let baseline = plainBytes() else {
            session.report("\(id): left out, because this system's C library does not tell")
            return []
        }
        let records = Double(count)
        return [Figure(id: id, unit: .bytes, ours: Double(ours) / records, baseline: Double(baseline) / records)]
    }

    private func feedBytes() async throws -> Int? {
        guard let before = HeapSize.bytesInUse else { return nil }
        let zone = try await FeedZone()
        for part in (0..<count).batches(of: FeedZone.batchSize) { _ = try await zone.write(Note.generated(part)) }
        let after = HeapSize.bytesInUse
        // Keeps the store alive until the heap has been looked at.
        _ = try await zone.database.recordZone(for: zone.zoneID)
        return after.map { $0 - before }
    }

    private func plainBytes() -> Int? {
        guard let before = HeapSize.bytesInUse else { return nil }
        var store = PlainStore()
        for part in (0..<count).batches(of: FeedZone.batchSize) { _ = store.write(Note.generated(part)) }
        let after = HeapSize.bytesInUse
        // Keeps the store alive until the heap has been looked at.
        guard store.head == count else { return nil }
        return withExtendedLifetime(store) { after.map { $0 - before } }
    }
}
