#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The server: a store, the rules over it, and any number of users.
///
/// There is no default container and no registry: make one, hand out its databases, keep it as long as they are used.
/// Making a container opens the store anew, so its first write begins an epoch (rule 6.1.5).
public final class Container: Sendable {
    /// The container's name.
    public let identifier: String
    /// What the container was given.
    public let configuration: Configuration
    let store: any ChangeStore
    /// The store, if it is in memory: there nothing waits, and a call that the compiler can see through costs a third.
    let memory: InMemoryStore?
    let feed: Feed
    let compactionCursor = Locked(CompactionCursor())
    package let hub: NotificationHub
    let assets: AssetLibrary

    /// A container over a store, and a store for the contents of assets beside it. Give both as they belong together:
    /// records refer to contents by their hash.
    public init(
        identifier: String,
        store: any ChangeStore = InMemoryStore(),
        assets: any AssetStore = InMemoryAssetStore(),
        configuration: Configuration = .init()
    ) {
        self.identifier = identifier
        self.assets = AssetLibrary(store: assets)
        self.store = store
        memory = store as? InMemoryStore
        self.configuration = configuration
        feed = Feed(configuration: configuration)
        hub = NotificationHub(store: store, feed: feed, randomness: configuration.randomness)
    }

    /// A database as one user sees it.
    public func database(_ scope: DatabaseScope, for userID: String) -> Database {
        Database(
            container: self,
            databaseID: scope == .public ? .public : .private(userID),
            userID: userID
        )
    }

    /// A new session of a device, with nobody signed in: see ``Device``. The container does not keep it.
    public func device(_ deviceID: String) -> Device {
        Device(deviceID: deviceID, container: self)
    }
}

// MARK: - What a server does by itself

extension Container {
    /// Does what happens when the user removes the app's data of a zone in the system's settings: the zone goes with
    /// the reason `purged` (rule FD3). Throws `zoneNotFound` if there is none.
    public func purgeZone(_ zoneID: RecordZone.ID, for userID: String) async throws(ChangeFeedError) {
        try await remove(zoneID, of: userID, because: .purged)
    }

    /// Does what happens when the user resets end-to-end encrypted data: the zone goes with the reason
    /// `encryptedDataReset` (rule FD3). Throws `zoneNotFound` if there is none.
    public func resetEncryptedData(
        inZoneWith zoneID: RecordZone.ID, for userID: String
    ) async throws(ChangeFeedError) {
        try await remove(zoneID, of: userID, because: .encryptedDataReset)
    }

    private func remove(
        _ zoneID: RecordZone.ID, of userID: String, because reason: DatabaseChanges.Deletion.Reason
    ) async throws(ChangeFeedError) {
        let (feed, databaseID) = (feed, DatabaseID.private(userID))
        try await store.write { (store) throws(ChangeFeedError) in
            try feed.delete(zoneID, because: reason, in: databaseID, date: feed.now(), from: store)
        }
        await hub.publish([WrittenZone(zoneID: zoneID)], in: databaseID, from: nil)
    }
}
