/// One database of a ``Container``, as one user sees it.
///
/// A value: copies talk to the same data. Every call is one transaction of the store. What it wrote, those who listen
/// have been told of when the call returns.
public struct Database: RecordDatabase {
    let container: Container
    /// Which database of the store it is.
    public let databaseID: DatabaseID
    /// The user who talks to it.
    public let userID: String
    /// The device that the user talks through, if it is known.
    public let deviceID: String?
    /// The device's session, which ends what is listened to.
    let session: ObjectIdentifier?

    init(
        container: Container, databaseID: DatabaseID, userID: String, deviceID: String? = nil,
        session: ObjectIdentifier? = nil
    ) {
        self.container = container
        self.databaseID = databaseID
        self.userID = userID
        self.deviceID = deviceID
        self.session = session
    }

    /// A page of what has changed in the database since a token (sections 6.2 to 6.5).
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        try checkUser(request.ifUser)
        let (feed, databaseID) = (container.feed, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.databaseChanges(request, in: databaseID, from: store)
        }
    }

    /// A page of what has changed in a zone since a token (sections 6.2 to 6.5).
    public func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        try checkUser(request.ifUser)
        let (feed, assets, databaseID) = (container.feed, container.assets, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            // Within the transaction, so that no content is collected before the page keeps it.
            assets.giving(try feed.zoneChanges(request, in: databaseID, from: store), of: databaseID)
        }
    }

    /// Saves and deletes records (section 1.9).
    public func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        let (feed, databaseID, userID, deviceID) = (container.feed, databaseID, userID, deviceID)
        try checkCancellation()
        try checkUser(request.ifUser)
        try feed.checkItemCount(request.saving.count + request.deleting.count, first: { request.itemID(at: $0) })
        // The contents come first, and are kept from being collected until records refer to them.
        let assets = container.assets
        let prepared = try assets.prepare(request, in: databaseID, limit: feed.limits.assetBytes)
        let results = try await writeAndTell { (store) throws(ChangeFeedError) in
            let written = try feed.modifyRecords(
                request, in: databaseID, by: userID, device: deviceID, assets: prepared, to: store)
            return Written(results: assets.giving(written.results, of: databaseID), changes: written.changes)
        }
        return withExtendedLifetime(prepared) { results }
    }

    /// Saves and deletes zones (section 1.4).
    public func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        try checkUser(request.ifUser)
        let (feed, databaseID) = (container.feed, databaseID)
        return try await writeAndTell { (store) throws(ChangeFeedError) in
            try feed.modifyRecordZones(request, in: databaseID, to: store)
        }
    }

    /// Records by id.
    public func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        try checkUser(request.ifUser)
        let (feed, assets, databaseID) = (container.feed, container.assets, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.records(request, in: databaseID, from: store).mapValues { assets.giving($0, of: databaseID) }
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

    /// Saves and deletes subscriptions of the user (section 1.11). In the public database it throws `badDatabase`.
    public func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        try checkUser(request.ifUser)
        let (feed, databaseID) = (container.feed, databaseID)
        // Whatever comes of it: a store may fail after it has committed.
        defer { container.hub.subscriptionsWereModified(in: databaseID) }
        return try await write { (store) throws(ChangeFeedError) in
            try feed.modifySubscriptions(request, in: databaseID, to: store)
        }
    }

    /// Subscriptions of the user by id, or all.
    public func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        let (feed, databaseID) = (container.feed, databaseID)
        return try await read { (store) throws(ChangeFeedError) in
            try feed.subscriptions(request, in: databaseID, from: store)
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
        if let memory = container.memory { return try memory.readNow(body) }
        return try await container.store.read(body)
    }

    private func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        // Only before the transaction: what has been written is reported, cancelled or not.
        try checkCancellation()
        if let memory = container.memory { return try memory.writeNow(body) }
        return try await container.store.write(body)
    }

    private func writeAndTell<Results: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Written<Results>
    ) async throws(ChangeFeedError) -> Results {
        let written = try await write(body)
        await container.hub.publish(written.changes, in: databaseID, from: deviceID)
        return written.results
    }

    private func checkUser(_ expected: String?) throws(ChangeFeedError) {
        guard let expected, !sameBytes(expected, userID) else { return }
        throw ChangeFeedError(
            .notAuthenticated,
            "The request is meant for the user \"\(expected)\", and another one is signed in: look the account up, then ask "
                + "again.", rule: "6.9a")
    }

    private func checkCancellation() throws(ChangeFeedError) {
        if Task.isCancelled { throw .cancelled }
    }
}
