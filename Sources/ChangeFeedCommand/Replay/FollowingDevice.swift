import ChangeFeed

/// A device that follows the files' zone: it keeps what it has fetched and two tokens, and knows nothing else of the
/// database.
struct FollowingDevice {
    /// What the device is called in a report.
    let name: String
    /// What it holds.
    private(set) var files: [[UInt8]: GitFile] = [:]
    /// Whether the zone has more for it than it has fetched, as far as it knows.
    private(set) var isBehind = false
    /// How many pages of zone changes it has fetched.
    private(set) var pages = 0
    /// How many modifications and deletions these pages had.
    private(set) var recordsFetched = 0

    private let database: any RecordDatabase
    private let pageLimit: Int
    /// The path of each record that it holds: a deletion names the record alone.
    private var paths: [Record.ID: [UInt8]] = [:]
    private var databaseToken: DatabaseChangeToken?
    private var zoneToken: ZoneChangeToken?

    /// A device that has fetched nothing yet, and asks for `pageLimit` results a page.
    init(name: String, following database: any RecordDatabase, pageLimit: Int) {
        self.name = name
        self.database = database
        self.pageLimit = pageLimit
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
                changes = try await database.databaseChanges(since: databaseToken, resultsLimit: pageLimit)
            } catch {
                throw failure("could not fetch the database's changes: \(error)")
            }
            if let deletion = changes.deletions.first {
                throw failure("was told that the zone \"\(deletion.zoneID)\" is gone, which nobody has deleted")
            }
            if changes.modifications.contains(FileRecord.zoneID) { isBehind = true }
            moreComing = changes.moreComing
            try requireProgress(moreComing, from: databaseToken, to: changes.changeToken)
            databaseToken = changes.changeToken
        }
    }

    /// Fetches the zone's next page, goes by it, and keeps its token.
    mutating func fetchPage() async throws(ReplayFailure) {
        let page: ZoneChanges
        do {
            page = try await database.recordZoneChanges(
                inZoneWith: FileRecord.zoneID, since: zoneToken, resultsLimit: pageLimit)
        } catch {
            throw failure("could not fetch the zone's changes: \(error)")
        }
        try requireProgress(page.moreComing, from: zoneToken, to: page.changeToken)
        for change in page.changes { try apply(change) }
        zoneToken = page.changeToken
        isBehind = page.moreComing
        pages += 1
        recordsFetched += page.changes.count
    }

    private mutating func apply(_ change: ZoneChanges.Change) throws(ReplayFailure) {
        switch change {
        case .modified(let record):
            let (path, file) = try FileRecord.read(record)
            if let before = paths.updateValue(path, forKey: record.recordID), before != path { files[before] = nil }
            files[path] = file
        case .deleted(let deletion):
            // It may never have been here: what came and went between two fetches is told of as gone.
            if let path = paths.removeValue(forKey: deletion.recordID) { files[path] = nil }
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
