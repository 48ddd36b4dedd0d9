#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One page of what has changed in a zone.
///
/// Apply a page so that applying it twice does no harm: a record that changes while pages are being read comes again
/// later with its new content (rule 6.3.6), and a commit of several records may be cut by the end of a page (6.3.7).
public struct ZoneChanges: Sendable {
    /// A record that is gone.
    public struct Deletion: Sendable, Hashable {
        /// Why a record is gone.
        public enum Reason: Int, Sendable, Hashable, Codable, CaseIterable {
            /// Somebody deleted it.
            case deleted = 0
            /// Its reference, with the action `deleteSelf`, named a record that was deleted (rule R11).
            case cascaded = 1
        }

        /// The record.
        public let recordID: Record.ID
        /// Its type.
        public let recordType: String
        /// The tag of its last version, if known.
        public let recordChangeTag: String?
        /// Why it is gone.
        public let reason: Reason

        /// A deletion from its parts.
        public init(recordID: Record.ID, recordType: String, recordChangeTag: String?, reason: Reason) {
            self.recordID = recordID
            self.recordType = recordType
            self.recordChangeTag = recordChangeTag
            self.reason = reason
        }
    }

    /// One entry of the page.
    public enum Change: Sendable {
        /// The record is new or has changed; with its present content.
        case modified(Record)
        /// The record is new or has changed, but cannot be given. The token moves past it (rule FZ10): keep its id and
        /// ask for it again by ``RecordDatabase/record(for:)``.
        indirect case failed(Record.ID, ChangeFeedError)
        /// The record is gone.
        indirect case deleted(Deletion)
    }

    /// All entries in the order of the feed (rule 6.3.5). Do not depend on the order across stores.
    public let changes: [Change]
    /// Where to go on: covers this page and no more (rule T4). Store it with the page's data.
    public let changeToken: ZoneChangeToken
    /// What the most recent modify request on the zone carried (rule FZ12).
    public let clientChangeTokenData: Data?
    /// Whether there is more to fetch with ``changeToken``. If so, the page is not empty (rule 6.3.2).
    public let moreComing: Bool

    /// A page from its parts.
    public init(changes: [Change], changeToken: ZoneChangeToken, clientChangeTokenData: Data?, moreComing: Bool) {
        self.changes = changes
        self.changeToken = changeToken
        self.clientChangeTokenData = clientChangeTokenData
        self.moreComing = moreComing
    }

    /// The records that are new or have changed.
    public var modifications: [Record] {
        changes.compactMap { change in
            guard case .modified(let record) = change else { return nil }
            return record
        }
    }

    /// The records that could not be given.
    public var failures: [Record.ID: ChangeFeedError] {
        var failures: [Record.ID: ChangeFeedError] = [:]
        for case .failed(let recordID, let error) in changes { failures[recordID] = error }
        return failures
    }

    /// The records that are gone.
    public var deletions: [Deletion] {
        changes.compactMap { change in
            guard case .deleted(let deletion) = change else { return nil }
            return deletion
        }
    }
}

extension ZoneChanges.Deletion {
    /// Whether all parts are the same bytes.
    public static func == (left: ZoneChanges.Deletion, right: ZoneChanges.Deletion) -> Bool {
        left.recordID == right.recordID && sameBytes(left.recordType, right.recordType)
            && left.recordChangeTag == right.recordChangeTag && left.reason == right.reason
    }
}
