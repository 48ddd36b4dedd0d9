import ChangeFeed

/// A device that follows the files' zone: it keeps what it has fetched and two tokens, and knows nothing else of the
/// database.
struct FollowingDevice {
    /// What the device is called in a report.
    let name: String
    /// How many pages of zone changes it has fetched, in this run.
    private(set) var pages = 0
    /// How many modifications and deletions these pages had.
    private(set) var recordsFetched = 0

    private let database: any RecordDatabase
    private let pageLimit: Int
    private let storage: any DeviceStorage
    private var progress = DeviceProgress()

    /// A device that asks for `pageLimit` results a page, and keeps in `storage` what it has fetched.
    init(
        name: String, following database: any RecordDatabase, pageLimit: Int,
        storage: any DeviceStorage = MemoryDeviceStorage()
    ) {
        self.name = name
        self.database = database
        self.pageLimit = pageLimit
        self.storage = storage
    }

    /// Whether the zone has more for it than it has fetched, as far as it knows.
    var isBehind: Bool { progress.isBehind }

    /// Goes on from what its storage has: called before anything is fetched.
    mutating func resume() async throws(ReplayFailure) {
        progress = try await storage.progress()
    }

    /// What it holds, as its storage has it.
    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile] {
        try await storage.files()
    }

    /// Fetches all there is.
    mutating func fetchAll() async throws(ReplayFailure) {
        try await fetchDatabaseChanges()
        while isBehind { try await fetchPage() }
    }

    /// Asks which zones have changed. A zone that has stays noted until its last page is here, for the database will
    /// not name it again.
    mutating func fetchDatabaseChanges() async throws(ReplayFailure) {
        var moreComing = true
        while moreComing {
            let changes: DatabaseChanges
            do {
                changes = try await database.databaseChanges(since: progress.databaseToken, resultsLimit: pageLimit)
            } catch {
                throw failure("could not fetch the database's changes: \(error)")
            }
            if let deletion = changes.deletions.first {
                throw failure("was told that the zone \"\(deletion.zoneID)\" is gone, which nobody has deleted")
            }
            moreComing = changes.moreComing
            try requireProgress(moreComing, from: progress.databaseToken, to: changes.changeToken)
            var next = progress
            if changes.modifications.contains(FileRecord.zoneID) { next.isBehind = true }
            next.databaseToken = changes.changeToken
            try await keep(next, after: [])
        }
    }

    /// Fetches the zone's next page, goes by it, and keeps its token.
    mutating func fetchPage() async throws(ReplayFailure) {
        let page: ZoneChanges
        do {
            page = try await database.recordZoneChanges(
                inZoneWith: FileRecord.zoneID, since: progress.zoneToken, resultsLimit: pageLimit)
        } catch {
            throw failure("could not fetch the zone's changes: \(error)")
        }
        try requireProgress(page.moreComing, from: progress.zoneToken, to: page.changeToken)
        var changes: [DeviceChange] = []
        for change in page.changes { changes.append(try read(change)) }
        var next = progress
        next.zoneToken = page.changeToken
        next.isBehind = page.moreComing
        try await keep(next, after: changes)
        pages += 1
        recordsFetched += page.changes.count
    }

    /// Keeps a page, and nothing where nothing is new.
    private mutating func keep(_ next: DeviceProgress, after changes: [DeviceChange]) async throws(ReplayFailure) {
        guard next != progress || !changes.isEmpty else { return }
        try await storage.keep(next, after: changes)
        progress = next
    }

    private func read(_ change: ZoneChanges.Change) throws(ReplayFailure) -> DeviceChange {
        switch change {
        case .modified(let record):
            let (path, file) = try FileRecord.read(record)
            return .put(record: record.recordID.recordName, path: path, file)
        case .deleted(let deletion):
            return .remove(record: deletion.recordID.recordName)
        case .failed(let recordID, let error):
            throw failure("was not given the record \"\(recordID)\": \(error)")
        }
    }

    private func requireProgress<Token: Equatable>(
        _ moreComing: Bool, from before: Token?, to after: Token
    ) throws(ReplayFailure) {
        if moreComing, before == after { throw failure("was told that more is coming, and given nothing new") }
    }

    private func failure(_ what: String) -> ReplayFailure {
        ReplayFailure("the device \"\(name)\" \(what)")
    }
}
