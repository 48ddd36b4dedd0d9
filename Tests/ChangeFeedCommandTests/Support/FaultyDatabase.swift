import ChangeFeed

/// A database in memory whose answers a test spoils on their way to whoever asked.
struct FaultyDatabase: RecordDatabase {
    var base: any RecordDatabase = Container(identifier: "test").database(.private, for: "test")
    /// Called before and after each request that writes, on either side of what it does.
    var step: @Sendable () throws(ChangeFeedError) -> Void = {}
    var spoilDatabaseChanges: @Sendable (DatabaseChanges) -> DatabaseChanges = { $0 }
    var spoilPage: @Sendable (ZoneChanges) -> ZoneChanges = { $0 }
    var spoilResults: @Sendable (RecordModifyResults) -> RecordModifyResults = { $0 }

    func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        spoilDatabaseChanges(try await base.databaseChanges(request))
    }

    func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        spoilPage(try await base.recordZoneChanges(request))
    }

    func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        try step()
        let results = spoilResults(try await base.modifyRecords(request))
        try step()
        return results
    }

    func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        try step()
        let results = try await base.modifyRecordZones(request)
        try step()
        return results
    }

    func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        try await base.records(request)
    }

    func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        try await base.recordZones(request)
    }

    func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        try await base.modifySubscriptions(request)
    }

    func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        try await base.subscriptions(request)
    }

    func account() async throws(ChangeFeedError) -> Account {
        try await base.account()
    }
}

extension ZoneChanges {
    /// The same page with other entries.
    func with(_ changes: [Change], moreComing: Bool? = nil) -> ZoneChanges {
        ZoneChanges(
            changes: changes,
            changeToken: changeToken,
            clientChangeTokenData: clientChangeTokenData,
            moreComing: moreComing ?? self.moreComing
        )
    }
}
