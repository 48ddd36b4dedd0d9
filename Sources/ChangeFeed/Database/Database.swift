/// One database of a ``Container``, as one user sees it.
///
/// A value: copies talk to the same data. Every call is one transaction of the store.
public struct Database: RecordDatabase {
    private let container: Container
    /// Which database of the store it is.
    public let databaseID: DatabaseID
    /// The user who talks to it.
    public let userID: String

    init(container: Container, databaseID: DatabaseID, userID: String) {
        self.container = container
        self.databaseID = databaseID
        self.userID = userID
    }

    /// A page of what has changed in the database since a token (sections 6.2 to 6.5).
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        let (feed, databaseID) = (container.feed, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.databaseChanges(request, in: databaseID, from: store)
        }
    }

    /// A page of what has changed in a zone since a token (sections 6.2 to 6.5).
    public func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        let (feed, databaseID) = (container.feed, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.zoneChanges(request, in: databaseID, from: store)
        }
    }

    /// Saves and deletes records (section 1.9).
    public func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        let (feed, databaseID, userID) = (container.feed, databaseID, userID)
        return try await write { (store) throws(ChangeFeedError) in
            try feed.modifyRecords(request, in: databaseID, by: userID, to: store)
        }.results
    }

    /// Saves and deletes zones (section 1.4).
    public func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        let (feed, databaseID) = (container.feed, databaseID)
        return try await write { (store) throws(ChangeFeedError) in
            try feed.modifyRecordZones(request, in: databaseID, to: store)
        }.results
    }

    /// Records by id.
    public func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        let (feed, databaseID) = (container.feed, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.records(request, in: databaseID, from: store)
        }
    }

    /// Zones by id, or all.
    public func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        let (feed, databaseID) = (container.feed, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.recordZones(request, in: databaseID, from: store)
        }
    }

    /// The user whose database this is.
    public func account() async throws(ChangeFeedError) -> Account {
        .available(userID: userID)
    }

    private func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try checkCancellation()
        return try await container.store.read(body)
    }

    private func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        // Only before the transaction: what has been written is reported, cancelled or not.
        try checkCancellation()
        return try await container.store.write(body)
    }

    private func checkCancellation() throws(ChangeFeedError) {
        if Task.isCancelled { throw .cancelled }
    }
}
