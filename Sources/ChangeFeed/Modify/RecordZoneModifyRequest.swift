/// Asks to save and delete zones. Saves come before deletions; items do not depend on each other (rule Z4).
public struct RecordZoneModifyRequest: Sendable {
    /// The zones to save. Saving a zone that exists changes nothing (rule Z3).
    public var saving: [RecordZone]
    /// The zones to delete, with all their records.
    public var deleting: [RecordZone.ID]

    /// The user under whom the request is meant; nil for whoever is signed in. It fails with `notAuthenticated` if that
    /// is somebody else by then, so that nothing of one user is ever seen or written by another (section 6.9a).
    public var ifUser: String?

    /// A request from its parts.
    public init(saving: [RecordZone] = [], deleting: [RecordZone.ID] = []) {
        self.saving = saving
        self.deleting = deleting
    }
}

/// What became of the items of a ``RecordZoneModifyRequest``: one result for each, in the order of the request.
public struct RecordZoneModifyResults: Sendable {
    /// What became of a zone to be saved: the zone as the server has it, or why not.
    public struct Save: Sendable {
        /// The zone.
        public let zoneID: RecordZone.ID
        /// What became of it.
        public let result: Result<RecordZone, ChangeFeedError>

        /// A result from its parts.
        public init(zoneID: RecordZone.ID, result: Result<RecordZone, ChangeFeedError>) {
            self.zoneID = zoneID
            self.result = result
        }
    }

    /// What became of a zone to be deleted.
    public struct Deletion: Sendable {
        /// The zone.
        public let zoneID: RecordZone.ID
        /// What became of it.
        public let result: Result<Void, ChangeFeedError>

        /// A result from its parts.
        public init(zoneID: RecordZone.ID, result: Result<Void, ChangeFeedError>) {
            self.zoneID = zoneID
            self.result = result
        }
    }

    /// The saves, in the order of the request.
    public let saves: [Save]
    /// The deletions, in the order of the request.
    public let deletions: [Deletion]

    /// Results from their parts.
    public init(saves: [Save], deletions: [Deletion]) {
        self.saves = saves
        self.deletions = deletions
    }

    /// The saves by zone id.
    public var saveResults: [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        Dictionary(saves.map { ($0.zoneID, $0.result) }) { first, _ in first }
    }

    /// The deletions by zone id.
    public var deleteResults: [RecordZone.ID: Result<Void, ChangeFeedError>] {
        Dictionary(deletions.map { ($0.zoneID, $0.result) }) { first, _ in first }
    }

    /// The errors of all items that failed.
    public var errors: [RecordZone.ID: ChangeFeedError] {
        var errors: [RecordZone.ID: ChangeFeedError] = [:]
        for save in saves { if case .failure(let error) = save.result { errors[save.zoneID] = error } }
        for deletion in deletions { if case .failure(let error) = deletion.result { errors[deletion.zoneID] = error } }
        return errors
    }
}
