import ChangeFeed

extension SyncEngine {
    /// The bounds of a batch and of a page.
    public struct BatchLimits: Sendable, Hashable {
        /// The most items of a batch, saves and deletions together.
        public var items: Int
        /// The most bytes of changed fields of a batch; an item that has more travels alone.
        public var bytes: Int
        /// The most items of a page of changes; nil leaves it to the server.
        public var resultsPerPage: Int?
        /// The most records or zones of one other request.
        public var itemsPerLookup: Int
        /// Whether the next page is asked for while the handler of one is still at work: one page, never more.
        public var looksAhead: Bool

        /// Bounds from their parts; the defaults are CloudKit's (section 1.13). Below 1 is taken for 1.
        public init(
            items: Int = 250, bytes: Int = 2_000_000, resultsPerPage: Int? = nil, itemsPerLookup: Int = 400,
            looksAhead: Bool = true
        ) {
            self.items = max(1, items)
            self.bytes = max(1, bytes)
            self.resultsPerPage = resultsPerPage
            self.itemsPerLookup = max(1, itemsPerLookup)
            self.looksAhead = looksAhead
        }
    }

    /// What a provider says of a record that is to be saved.
    public enum ProvidedRecord: Sendable {
        /// The record as it is to be saved.
        case record(Record)
        /// The app has no such record any more: the change leaves pending.
        case gone
        /// Not this time: the change stays pending and is not asked for again in this send (rule P6).
        case skip
        /// The record could not be read: the change stays pending, and the error is reported (case B42).
        case failed(any Error)
    }

    /// Changes that are sent together. The engine divides them into requests where it has to, parents before children.
    public struct RecordZoneChangeBatch: Sendable {
        /// The records to save.
        public var recordsToSave: [Record]
        /// The records to delete. A deletion that names the version which the app knows is a conflict if somebody has
        /// changed the record since; one that names none takes the tag that was given with the pending change.
        public var recordsToDelete: [RecordModifyRequest.Deletion]
        /// Whether in each zone all items succeed or none (rule P10). It is a property of the request: what is refused
        /// with others stays pending.
        public var atomicByZone: Bool
        /// Records that the provider says are gone.
        public internal(set) var goneRecordIDs: [Record.ID] = []
        /// Records that the provider left out.
        public internal(set) var skippedRecordIDs: [Record.ID] = []
        /// Records that the provider could not read, with what it said.
        public internal(set) var failedRecordIDs: [Record.ID: String] = [:]

        /// A batch made by hand.
        public init(
            recordsToSave: [Record] = [], recordIDsToDelete: [Record.ID] = [], atomicByZone: Bool = false
        ) {
            self.init(
                recordsToSave: recordsToSave, recordsToDelete: recordIDsToDelete.map { .init(recordID: $0) },
                atomicByZone: atomicByZone)
        }

        /// A batch made by hand, with deletions that name the versions which the app knows.
        public init(
            recordsToSave: [Record] = [], recordsToDelete: [RecordModifyRequest.Deletion], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordsToDelete = recordsToDelete
            self.atomicByZone = atomicByZone
        }

        /// The next pending changes of a send, as many as make a batch, with what a provider says of each record that
        /// is to be saved. Nil if nothing is left that has not been asked for in this send.
        ///
        /// A record that links to another one which is pending too comes after it, in this batch or a later one.
        public init?(
            _ context: SendChangesContext, atomicByZone: Bool = false,
            recordProvider: (Record.ID) async -> ProvidedRecord
        ) async {
            var collector = BatchCollector(limits: context.limits)
            var place: UInt64 = 0
            while !collector.isFull {
                let next = context.candidates(after: place)
                guard let last = next.last else { break }
                place = last.place
                for candidate in next where !collector.isFull {
                    await collector.add(candidate.change, pending: context.isPendingSave, provider: recordProvider)
                }
            }
            guard let batch = collector.batch(atomicByZone: atomicByZone) else { return nil }
            self = batch
        }

        /// Some pending changes, as many of them as make a batch, with what a provider says of each record that is to
        /// be saved. Nil if there are none.
        public init?(
            pendingChanges: some Sequence<PendingRecordZoneChange>, limits: BatchLimits = BatchLimits(),
            atomicByZone: Bool = false, recordProvider: (Record.ID) async -> ProvidedRecord
        ) async {
            var collector = BatchCollector(limits: limits)
            let changes = Array(pendingChanges)
            let saves = Set(
                changes.compactMap { change -> Record.ID? in
                    if case .saveRecord(let recordID) = change { recordID } else { nil }
                })
            for change in changes where !collector.isFull {
                await collector.add(change, pending: saves.contains, provider: recordProvider)
            }
            guard let batch = collector.batch(atomicByZone: atomicByZone) else { return nil }
            self = batch
        }
    }
}

/// Collects a batch, asking for records one by one.
struct BatchCollector {
    private let limits: SyncEngine.BatchLimits
    private var seen: Set<Record.ID> = []
    private var records: [Record] = []
    private var deletions: [Record.ID] = []
    private var bytes = 0
    private var gone: [Record.ID] = []
    private var skipped: [Record.ID] = []
    private var failed: [Record.ID: String] = [:]

    init(limits: SyncEngine.BatchLimits) {
        self.limits = limits
    }

    var isFull: Bool { records.count + deletions.count >= limits.items || bytes >= limits.bytes }

    /// Adds a change, and the pending saves that it needs to come first.
    mutating func add(
        _ change: SyncEngine.PendingRecordZoneChange, pending: (Record.ID) -> Bool,
        provider: (Record.ID) async -> SyncEngine.ProvidedRecord
    ) async {
        guard case .saveRecord(let first) = change else {
            if seen.insert(change.recordID).inserted { deletions.append(change.recordID) }
            return
        }
        // What a record needs is asked for even if the batch gets longer than it may be: it is cut afterwards, with
        // what is needed first.
        var open = [first]
        while let recordID = open.popLast() {
            guard seen.insert(recordID).inserted else { continue }
            switch await provider(recordID) {
            case .record(let record):
                records.append(record)
                bytes += record.changedByteCount
                open += record.linkedRecordIDs.filter { !seen.contains($0) && pending($0) }
            case .gone: gone.append(recordID)
            case .skip: skipped.append(recordID)
            case .failed(let error): failed[recordID] = "\(error)"
            }
        }
    }

    /// What was collected, cut to what a batch may be; nil if it is nothing.
    func batch(atomicByZone: Bool) -> SyncEngine.RecordZoneChangeBatch? {
        if records.isEmpty, deletions.isEmpty, gone.isEmpty, skipped.isEmpty, failed.isEmpty { return nil }
        var saves: [Record] = []
        var bytes = 0
        let needs = records.linkIndices
        // Records that need one that could not be had wait for it.
        let missing = Set(skipped).union(failed.keys)
        var waiting = Set<Int>()
        for group in ReferenceOrder.groups(needs: needs) {
            let members = group.map { records[$0] }
            let waits =
                group.contains { needs[$0].contains(where: waiting.contains) }
                || members.contains { $0.linkedRecordIDs.contains(where: missing.contains) }
            if waits {
                waiting.formUnion(group)
                continue
            }
            let size = members.reduce(0) { $0 + $1.changedByteCount }
            let fits = saves.count + members.count <= limits.items && bytes + size <= limits.bytes
            if !saves.isEmpty, !fits { break }
            saves += members
            bytes += size
        }
        var batch = SyncEngine.RecordZoneChangeBatch(
            recordsToSave: saves,
            recordIDsToDelete: Array(deletions.prefix(max(saves.isEmpty ? 1 : 0, limits.items - saves.count))),
            atomicByZone: atomicByZone)
        batch.goneRecordIDs = gone
        batch.skippedRecordIDs = skipped + waiting.sorted().map { records[$0].recordID }
        batch.failedRecordIDs = failed
        return batch
    }
}

extension [Record] {
    /// For each record, the indices of those among them that it links to, itself left out.
    var linkIndices: [[Int]] {
        var indices: [Record.ID: Int] = [:]
        for (index, record) in enumerated() { indices[record.recordID] = index }
        return enumerated().map { index, record in
            record.linkedRecordIDs.compactMap { indices[$0] }.filter { $0 != index }
        }
    }
}
