/// A database as a device sees it: that of whoever is signed in at each request (section 6.9a).
///
/// Without a user who can act, requests fail with `notAuthenticated`, `permissionFailure` or
/// `accountTemporarilyUnavailable`, as ``Device/account`` says; reading the public database needs no user.
public struct DeviceDatabase: RecordDatabase {
    /// The session.
    public let device: Device
    /// Which of the user's databases it is.
    public let scope: DatabaseScope

    init(device: Device, scope: DatabaseScope) {
        self.device = device
        self.scope = scope
    }

    /// The database of the present user: what happens to the account later does not change whose request it is.
    private func present(for access: Device.Access) throws(ChangeFeedError) -> Database {
        try device.withDatabase(scope, for: access) { $0 }
    }

    /// A page of what has changed in the database since a token (sections 6.2 to 6.5).
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        try await present(for: .reading).databaseChanges(request)
    }

    /// A page of what has changed in a zone since a token (sections 6.2 to 6.5).
    public func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        try await present(for: .reading).recordZoneChanges(request)
    }

    /// Saves and deletes records (section 1.9).
    public func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        try await present(for: .writing).modifyRecords(request)
    }

    /// Saves and deletes zones (section 1.4).
    public func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        try await present(for: .writing).modifyRecordZones(request)
    }

    /// Records by id.
    public func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        try await present(for: .reading).records(request)
    }

    /// Zones by id, or all.
    public func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        try await present(for: .reading).recordZones(request)
    }

    /// Saves and deletes subscriptions of the user (section 1.11).
    public func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        try await present(for: .writing).modifySubscriptions(request)
    }

    /// Subscriptions of the user by id, or all.
    public func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        try await present(for: .reading).subscriptions(request)
    }

    /// The state of the device's account.
    public func account() async throws(ChangeFeedError) -> Account {
        device.account
    }

    // MARK: Hearing of changes

    /// The hints of a subscription of the present user, from this call on: see
    /// ``Database/notifications(for:bufferingLimit:)``.
    ///
    /// The sequence ends when the account changes, and what it still held is dropped, so that nothing of one user is
    /// shown under another; without a user who can act it ends at once. Ask again after the change.
    public func notifications(for subscriptionID: String, bufferingLimit: Int = 16) -> ChangeNotifications {
        do throws(ChangeFeedError) {
            return try device.withDatabase(scope, for: .reading) {
                $0.notifications(for: subscriptionID, bufferingLimit: bufferingLimit)
            }
        } catch {
            return .ended
        }
    }

    /// Waits until there is a change after a token: see ``Database/waitForChanges(since:timeout:)``.
    ///
    /// Throws `notAuthenticated` if the account changes during the wait.
    public func waitForChanges(
        since token: DatabaseChangeToken?, timeout: Duration
    ) async throws(ChangeFeedError) -> Bool {
        // Heard from before the account can change, so that the change ends the wait.
        let (database, listener) = try device.withDatabase(scope, for: .reading) { ($0, $0.listen()) }
        return try await database.waitForChanges(since: token, timeout: timeout, hearing: listener)
    }
}
