import ChangeFeed

extension SyncEngine {
    /// A change of a record that the server has not heard of yet.
    public enum PendingRecordZoneChange: Sendable, Hashable, Codable {
        /// The record is to be saved; its content is asked for when it is sent.
        case saveRecord(Record.ID)
        /// The record is to be deleted.
        case deleteRecord(Record.ID)

        /// The record.
        public var recordID: Record.ID {
            switch self {
            case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
            }
        }
    }

    /// A change of a zone that the server has not heard of yet.
    public enum PendingDatabaseChange: Sendable, Hashable {
        /// The zone is to be created.
        case saveZone(RecordZone)
        /// The zone is to be deleted, with all its records.
        case deleteZone(RecordZone.ID)

        /// The zone.
        public var zoneID: RecordZone.ID {
            switch self {
            case .saveZone(let zone): zone.zoneID
            case .deleteZone(let zoneID): zoneID
            }
        }
    }

    /// Why a pending change is not sent by itself, or was not sent this time.
    public struct UnresolvedPendingChange: Sendable {
        /// Why.
        public enum Reason: Sendable {
            /// The provider left it out (rule P6).
            case skipped
            /// The provider could not read it.
            case providerFailed(String)
            /// The server refused it, and says it may work once something else has changed: room was made, the parent
            /// or the zone came to be, the conflict was resolved.
            case refused(ChangeFeedError)
            /// The server refused one version of it twice: nothing is sent until the record or the server's version
            /// changes.
            case conflictNotResolved(ChangeFeedError)
        }

        /// The change, which is still pending.
        public let change: PendingRecordZoneChange
        /// Why it was not sent.
        public let reason: Reason
    }

    /// A record that the app has set aside, because it could not be applied.
    public struct QuarantinedRecord: Sendable, Hashable, Codable {
        /// The record.
        public let recordID: Record.ID
        /// The version that could not be applied; nil if the server could not give it.
        public let recordChangeTag: String?
        /// What the app or the server said.
        public let reason: String
    }
}
