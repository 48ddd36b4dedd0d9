/// One page of what has changed in a database: which zones, not what in them (rule FD2).
public struct DatabaseChanges: Sendable {
    /// A zone that is gone.
    public struct Deletion: Sendable, Hashable {
        /// Why a zone is gone (rule FD3).
        public enum Reason: Int, Sendable, Hashable, Codable, CaseIterable {
            /// Somebody deleted it: delete what is kept of it.
            case deleted = 0
            /// The user removed the app's data in the system's settings: delete what is kept of it, and do not upload
            /// it again without asking (rule FD4).
            case purged = 1
            /// The user reset the encrypted data. Keep what is there and let the user decide (U1).
            case encryptedDataReset = 2
            /// The user may no longer see it.
            case accessRevoked = 3
        }

        /// The zone.
        public let zoneID: RecordZone.ID
        /// Why it is gone.
        public let reason: Reason

        /// A deletion from its parts.
        public init(zoneID: RecordZone.ID, reason: Reason) {
            self.zoneID = zoneID
            self.reason = reason
        }
    }

    /// One entry of the page.
    public enum Change: Sendable, Hashable {
        /// The zone is new, or something in it has changed.
        case modified(RecordZone.ID)
        /// The zone is gone. If it was created again since, its modification follows (rule 6.5).
        case deleted(Deletion)
    }

    /// All entries in the order of the feed (rule 6.3.5). Do not depend on the order across stores.
    public let changes: [Change]
    /// Where to go on: covers this page and no more (rule T4). Store it with the page's data.
    public let changeToken: DatabaseChangeToken
    /// Whether there is more to fetch with ``changeToken``. If so, the page is not empty (rule 6.3.2).
    public let moreComing: Bool

    /// A page from its parts.
    public init(changes: [Change], changeToken: DatabaseChangeToken, moreComing: Bool) {
        self.changes = changes
        self.changeToken = changeToken
        self.moreComing = moreComing
    }

    /// The zones that are new or have changed.
    public var modifications: [RecordZone.ID] {
        changes.compactMap { change in
            guard case .modified(let zoneID) = change else { return nil }
            return zoneID
        }
    }

    /// The zones that are gone.
    public var deletions: [Deletion] {
        changes.compactMap { change in
            guard case .deleted(let deletion) = change else { return nil }
            return deletion
        }
    }
}
