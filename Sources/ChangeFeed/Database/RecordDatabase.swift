/// The port that a client talks to: one database of one user, wherever it is.
///
/// Each requirement takes one request, makes one round trip to the server and throws typed errors. An implementer
/// conforms to these nine and no more; everything friendlier is an extension over `any RecordDatabase`.
public protocol RecordDatabase: Sendable {
    /// A page of what has changed in the database since a token.
    func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges
    /// A page of what has changed in a zone since a token.
    func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges
    /// Saves and deletes records: exactly one result for each item.
    func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults
    /// Saves and deletes zones: exactly one result for each item.
    func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults
    /// Records by id: exactly one result for each.
    func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>]
    /// Zones by id, or all.
    func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>]
    /// Saves and deletes subscriptions: exactly one result for each item.
    func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults
    /// Subscriptions by id, or all.
    func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>]
    /// Whether there is a user, and who.
    func account() async throws(ChangeFeedError) -> Account
}
