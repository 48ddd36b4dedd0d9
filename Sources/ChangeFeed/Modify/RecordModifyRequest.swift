#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which versions a save may replace (rules M2 to M6).
public enum RecordSavePolicy: Int, Sendable, Hashable, Codable, CaseIterable {
    /// Only the version that the client changed; any other is a conflict.
    case ifServerRecordUnchanged = 0
    /// Any version: the changed keys are written over it.
    case changedKeys = 1
    /// Any version: all of the client's keys are written over it. Keys that only the server has stay.
    case allKeys = 2
}

/// Asks to save and delete records.
public struct RecordModifyRequest: Sendable {
    /// A record to be deleted.
    public struct Deletion: Sendable, Hashable {
        /// The record.
        public var recordID: Record.ID
        /// The tag of the version that the client knows; nil deletes whichever is there (rule M9).
        public var recordChangeTag: String?

        /// A deletion of a record, in the version of the tag if there is one.
        public init(recordID: Record.ID, recordChangeTag: String? = nil) {
            self.recordID = recordID
            self.recordChangeTag = recordChangeTag
        }
    }

    /// The records to save.
    public var saving: [Record]
    /// The records to delete.
    public var deleting: [Deletion]
    /// Which versions a save may replace.
    public var savePolicy: RecordSavePolicy
    /// Whether in a zone that can do it all items succeed or none (rule M10). Each zone is a unit of its own.
    public var atomically: Bool
    /// A marker that comes back with the changes of the zones that are written to (rule FZ12).
    public var clientChangeTokenData: Data?
    /// Makes a repeated request harmless, for one whose answer was lost (error 34): within a zone, a request of the
    /// same user and device with the same id and the same content is answered with what it was answered the first
    /// time, if that wrote anything; one with other content fails with `invalidArguments` (section 6.13.6).
    public var requestID: String?
    /// Writes only if each of these zones is still where its token says: nothing has been written to it since
    /// (section 6.13.1).
    public var ifZonesAt: [RecordZone.ID: ZoneChangeToken]

    /// The user under whom the request is meant; nil for whoever is signed in. It fails with `notAuthenticated` if that
    /// is somebody else by then, so that nothing of one user is ever seen or written by another (section 6.9a).
    public var ifUser: String?

    /// A request from its parts.
    public init(
        saving: [Record] = [],
        deleting: [Deletion] = [],
        savePolicy: RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true,
        clientChangeTokenData: Data? = nil,
        requestID: String? = nil,
        ifZonesAt: [RecordZone.ID: ZoneChangeToken] = [:]
    ) {
        self.saving = saving
        self.deleting = deleting
        self.savePolicy = savePolicy
        self.atomically = atomically
        self.clientChangeTokenData = clientChangeTokenData
        self.requestID = requestID
        self.ifZonesAt = ifZonesAt
    }
}

/// What became of the items of a ``RecordModifyRequest``: one result for each, in the order of the request.
public struct RecordModifyResults: Sendable {
    /// What became of a record to be saved: the record with its new system fields, or why not (rule M19).
    public struct Save: Sendable {
        /// The record.
        public let recordID: Record.ID
        /// What became of it.
        public let result: Result<Record, ChangeFeedError>

        /// A result from its parts.
        public init(recordID: Record.ID, result: Result<Record, ChangeFeedError>) {
            self.recordID = recordID
            self.result = result
        }
    }

    /// What became of a record to be deleted.
    public struct Deletion: Sendable {
        /// The record.
        public let recordID: Record.ID
        /// What became of it.
        public let result: Result<Void, ChangeFeedError>

        /// A result from its parts.
        public init(recordID: Record.ID, result: Result<Void, ChangeFeedError>) {
            self.recordID = recordID
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

    /// The saves by record id.
    public var saveResults: [Record.ID: Result<Record, ChangeFeedError>] {
        Dictionary(saves.map { ($0.recordID, $0.result) }) { first, _ in first }
    }

    /// The deletions by record id.
    public var deleteResults: [Record.ID: Result<Void, ChangeFeedError>] {
        Dictionary(deletions.map { ($0.recordID, $0.result) }) { first, _ in first }
    }

    /// The errors of all items that failed.
    public var errors: [Record.ID: ChangeFeedError] {
        var errors: [Record.ID: ChangeFeedError] = [:]
        for save in saves {
            if case .failure(let error) = save.result { errors[save.recordID] = error }
        }
        for deletion in deletions {
            if case .failure(let error) = deletion.result { errors[deletion.recordID] = error }
        }
        return errors
    }
}
