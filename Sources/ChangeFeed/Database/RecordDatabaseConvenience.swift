/// The friendly forms: extensions only, each of another full name than the requirement it calls.
extension RecordDatabase {
    /// A page of what has changed in the database since a token; nil reads from the beginning. One request: mind
    /// ``DatabaseChanges/moreComing``, or use ``databaseChangePages(since:resultsLimit:)``.
    public func databaseChanges(
        since token: DatabaseChangeToken?, resultsLimit: Int? = nil
    ) async throws(ChangeFeedError) -> DatabaseChanges {
        try await databaseChanges(DatabaseChangesRequest(since: token, resultsLimit: resultsLimit))
    }

    /// A page of what has changed in a zone since a token; nil reads from the beginning. One request: mind
    /// ``ZoneChanges/moreComing``, or use
    /// ``recordZoneChangePages(inZoneWith:since:desiredKeys:resultsLimit:)``.
    public func recordZoneChanges(
        inZoneWith zoneID: RecordZone.ID,
        since token: ZoneChangeToken?,
        desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil
    ) async throws(ChangeFeedError) -> ZoneChanges {
        try await recordZoneChanges(
            ZoneChangesRequest(
                zoneID: zoneID, since: token, desiredKeys: desiredKeys, resultsLimit: resultsLimit))
    }

    /// Saves and deletes records. Throws for the request as a whole; look at each result for the items.
    public func modifyRecords(
        saving records: [Record],
        deleting recordIDs: [Record.ID] = [],
        savePolicy: RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws(ChangeFeedError) -> RecordModifyResults {
        try await modifyRecords(
            RecordModifyRequest(
                saving: records,
                deleting: recordIDs.map { RecordModifyRequest.Deletion(recordID: $0) },
                savePolicy: savePolicy,
                atomically: atomically
            )
        )
    }

    /// Saves and deletes zones. Throws for the request as a whole; look at each result for the items.
    public func modifyRecordZones(
        saving zones: [RecordZone], deleting zoneIDs: [RecordZone.ID] = []
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        try await modifyRecordZones(RecordZoneModifyRequest(saving: zones, deleting: zoneIDs))
    }

    /// Saves one record and gives it back with its new system fields: keep these for the next save (rule M19).
    @discardableResult
    public func save(_ record: Record) async throws(ChangeFeedError) -> Record {
        let results = try await modifyRecords(RecordModifyRequest(saving: [record]))
        return try only(results.saves.first?.result).get()
    }

    /// Saves one zone and gives it back as the server has it. A zone that exists stays as it is (rule Z3).
    @discardableResult
    public func save(_ zone: RecordZone) async throws(ChangeFeedError) -> RecordZone {
        let results = try await modifyRecordZones(RecordZoneModifyRequest(saving: [zone]))
        return try only(results.saves.first?.result).get()
    }

    /// One record by id; throws `unknownItem` if there is none.
    public func record(for recordID: Record.ID) async throws(ChangeFeedError) -> Record {
        try only(try await records(RecordsRequest(recordIDs: [recordID]))[recordID]).get()
    }

    /// Records by id: one result for each. Throws for the request as a whole.
    public func records(
        for recordIDs: [Record.ID], desiredKeys: [String]? = nil
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        try await records(RecordsRequest(recordIDs: recordIDs, desiredKeys: desiredKeys))
    }

    /// One zone by id; throws `zoneNotFound` if there is none.
    public func recordZone(for zoneID: RecordZone.ID) async throws(ChangeFeedError) -> RecordZone {
        try only(try await recordZones(RecordZonesRequest(zoneIDs: [zoneID]))[zoneID]).get()
    }

    /// All zones, the default zone among them.
    public func allRecordZones() async throws(ChangeFeedError) -> [RecordZone] {
        let results = try await recordZones(RecordZonesRequest())
        var zones: [RecordZone] = []
        for result in results.values { zones.append(try result.get()) }
        return zones.sorted { precedesByBytes($0.zoneID.zoneName, $1.zoneID.zoneName) }
    }

    /// Deletes one record, whichever version of it is there. A record that is not there counts as deleted (rule M9).
    public func deleteRecord(withID recordID: Record.ID) async throws(ChangeFeedError) {
        let results = try await modifyRecords(RecordModifyRequest(deleting: [.init(recordID: recordID)]))
        try only(results.deletions.first?.result).get()
    }

    /// Deletes one zone with all its records; throws `zoneNotFound` if there is none.
    public func deleteRecordZone(withID zoneID: RecordZone.ID) async throws(ChangeFeedError) {
        let results = try await modifyRecordZones(RecordZoneModifyRequest(deleting: [zoneID]))
        try only(results.deletions.first?.result).get()
    }

    /// Saves and deletes subscriptions. Throws for the request as a whole; look at each result for the items.
    public func modifySubscriptions(
        saving subscriptions: [Subscription], deleting subscriptionIDs: [String] = []
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        try await modifySubscriptions(SubscriptionModifyRequest(saving: subscriptions, deleting: subscriptionIDs))
    }

    /// Saves one subscription, in place of the one with the same id if there is one (rule SB5).
    @discardableResult
    public func save(_ subscription: Subscription) async throws(ChangeFeedError) -> Subscription {
        let results = try await modifySubscriptions(SubscriptionModifyRequest(saving: [subscription]))
        return try only(results.saves.first?.result).get()
    }

    /// One subscription by id; throws `unknownItem` if there is none.
    public func subscription(for subscriptionID: String) async throws(ChangeFeedError) -> Subscription {
        let results = try await subscriptions(SubscriptionsRequest(subscriptionIDs: [subscriptionID]))
        return try only(results[subscriptionID]).get()
    }

    /// All subscriptions of the user, in the order of their ids.
    public func allSubscriptions() async throws(ChangeFeedError) -> [Subscription] {
        let results = try await subscriptions(SubscriptionsRequest())
        var subscriptions: [Subscription] = []
        for result in results.values { subscriptions.append(try result.get()) }
        return subscriptions.sorted { precedesByBytes($0.subscriptionID, $1.subscriptionID) }
    }

    /// Deletes one subscription; throws `unknownItem` if there is none.
    public func deleteSubscription(withID subscriptionID: String) async throws(ChangeFeedError) {
        let results = try await modifySubscriptions(SubscriptionModifyRequest(deleting: [subscriptionID]))
        try only(results.deletions.first?.result).get()
    }

    /// A database that answers with no result for an item broke the port's promise.
    private func only<Success>(
        _ result: Result<Success, ChangeFeedError>?
    ) throws(ChangeFeedError) -> Result<Success, ChangeFeedError> {
        guard let result else {
            throw ChangeFeedError(.internalError, "The database gave no result for the item.", rule: "M13")
        }
        return result
    }
}
