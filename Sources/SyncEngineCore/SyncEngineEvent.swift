import ChangeFeed

extension SyncEngine {
    /// What an engine tells its delegate, one event at a time (section 2.2).
    public enum Event: Sendable {
        /// The state has changed: store it. Only needed where no ``StateStore`` does it.
        case stateUpdate(StateUpdate)
        /// Another user is signed in than the state is of. The gate stays closed until the handler has returned.
        case accountChange(AccountChange)
        /// A page of changes of the database: which zones have changed or are gone.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// A page of changes of a zone.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// What came of a request to save and delete zones.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// What came of a request to save and delete records.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(FetchChangesContext)
        /// The changes of a zone are going to be fetched.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The changes of a zone have been fetched, or not.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// A fetch has ended.
        case didFetchChanges(FetchChangesContext)
        /// A send begins.
        case willSendChanges(SendChangesContext)
        /// A send has ended.
        case didSendChanges(SendChangesContext)
    }

    /// The state has changed.
    public struct StateUpdate: Sendable {
        /// What to store.
        public let checkpoint: Checkpoint
        /// The whole state, made now.
        public var stateSerialization: State.Serialization { checkpoint.serialization }
    }

    /// Another user is signed in (section 2.9). Pending changes of the old account are parked with it, and come back
    /// when that user signs in again (section 6.9a).
    public enum AccountChange: Sendable, Hashable {
        /// A user is signed in where nobody was.
        case signIn(currentUser: String)
        /// The user is gone. Keep, hide or delete what is local: nothing is deleted by the engine.
        case signOut(previousUser: String, unsentChanges: UnsentChanges)
        /// Another user is signed in.
        case switchAccounts(previousUser: String, currentUser: String, unsentChanges: UnsentChanges)
    }

    /// What an account has not sent.
    public struct UnsentChanges: Sendable, Hashable {
        /// Changes of records.
        public let recordZoneChanges: [PendingRecordZoneChange]
        /// Changes of zones.
        public let databaseChanges: [PendingDatabaseChange]
    }

    /// A page of changes of the database.
    public struct FetchedDatabaseChanges: Sendable {
        /// A zone that is gone.
        public struct Deletion: Sendable, Hashable {
            /// The zone.
            public let zoneID: RecordZone.ID
            /// Why.
            public let reason: DatabaseChanges.Deletion.Reason
            /// What was to be sent to it. It is set aside, and nothing of it is sent unless the app takes it up again
            /// by ``SyncEngine/State/restoreParkedChanges(inZoneWith:)`` (section 6.9).
            public let parkedChanges: [PendingRecordZoneChange]
        }

        /// The zones that are new or in which something has changed.
        public let modifications: [RecordZone.ID]
        /// The zones that are gone.
        public let deletions: [Deletion]
        /// Set on the last page after the database was read from the beginning because its token had expired: all
        /// zones that there are. What is kept of any other zone is gone, for reasons that nobody knows any more.
        public let resyncedZoneIDs: Set<RecordZone.ID>?
        /// What to store together with this.
        public let checkpoint: Checkpoint
    }

    /// A page of changes of a zone. It is acknowledged by the handler's return; if the handler throws, it comes again.
    public struct FetchedRecordZoneChanges: Sendable {
        /// The zone.
        public let zoneID: RecordZone.ID
        /// The page as the server gave it, in its order.
        public let changes: ZoneChanges
        /// Whether it is part of a reading from the beginning after the zone's token had expired.
        public let isResync: Bool
        /// What to store in the same transaction as the page.
        public let checkpoint: Checkpoint

        /// The records that are new or have changed.
        public var modifications: [Record] { changes.modifications }
        /// The records that are gone.
        public var deletions: [ZoneChanges.Deletion] { changes.deletions }
        /// The records that the server could not give; they are in quarantine from now on (rule FZ10).
        public var failures: [Record.ID: ChangeFeedError] { changes.failures }
    }

    /// What came of a request to save and delete zones.
    public struct SentDatabaseChanges: Sendable {
        /// A zone that was not saved.
        public struct FailedZoneSave: Sendable {
            /// The zone.
            public let zone: RecordZone
            /// Why.
            public let error: ChangeFeedError
        }

        /// The zones that were saved, as the server has them.
        public let savedZones: [RecordZone]
        /// The zones that were not saved, and are no longer pending.
        public let failedZoneSaves: [FailedZoneSave]
        /// The zones that were deleted.
        public let deletedZoneIDs: [RecordZone.ID]
        /// The zones that were not deleted, and are no longer pending.
        public let failedZoneDeletes: [RecordZone.ID: ChangeFeedError]
        /// What to store together with this.
        public let checkpoint: Checkpoint
    }

    /// What came of one request to save and delete records.
    ///
    /// What failed in a way that passes by itself (section 2.7) is not here: it stays pending and is sent again.
    public struct SentRecordZoneChanges: Sendable {
        /// A record that was not saved.
        public struct FailedRecordSave: Sendable {
            /// The record as it was to be saved.
            public let record: Record
            /// Why. In a conflict, and where the user may not write, it carries the server's record.
            public let error: ChangeFeedError
            /// Whether the change is still pending, because it may work once something else has changed.
            public let remainsPending: Bool
        }

        /// The request's id.
        public let batchID: String
        /// The records that were saved, with their new system fields: keep these for the next save (rule M19).
        public let savedRecords: [Record]
        /// The records that were not saved.
        public let failedRecordSaves: [FailedRecordSave]
        /// The records that were deleted.
        public let deletedRecordIDs: [Record.ID]
        /// The records that were not deleted.
        public let failedRecordDeletes: [Record.ID: ChangeFeedError]
        /// Which adding of each record's change was sent: a later one is still pending (case B39).
        public let generations: [Record.ID: UInt64]
        /// What to store together with this.
        public let checkpoint: Checkpoint
    }

    /// The changes of a zone are going to be fetched.
    public struct WillFetchRecordZoneChanges: Sendable, Hashable {
        /// The zone.
        public let zoneID: RecordZone.ID
        /// Whether the zone is read from the beginning again, because its token has expired (section 6.7).
        public let isResync: Bool
    }

    /// The changes of a zone have been fetched, or not.
    public struct DidFetchRecordZoneChanges: Sendable {
        /// The zone.
        public let zoneID: RecordZone.ID
        /// Why the zone was not read to its end; nil if it was.
        public let error: ChangeFeedError?
        /// Set if the zone was read from the beginning again, and to its end.
        public let resync: Resync?

        /// The end of a resync.
        public enum Resync: Sendable {
            /// Every record of the zone that is kept and not among these is gone from the server. If the handler
            /// throws, this comes again at the next fetch.
            case completed(LiveRecordIDs)
        }
    }

    /// The records that a zone has, after a resync: a lookup and a sequence.
    ///
    /// A record that is to be saved is among them though the server does not have it, for it is not to be removed.
    public struct LiveRecordIDs: Sendable, Sequence {
        let zoneID: RecordZone.ID
        let names: Set<ByteString>
        let pending: Set<Record.ID>

        /// The records that are spared and that the server does not have.
        var missing: [Record.ID] { pending.filter { !names.contains(ByteString($0.recordName)) } }

        /// Whether the record is to be kept.
        public func contains(_ recordID: Record.ID) -> Bool {
            pending.contains(recordID) || recordID.zoneID == zoneID && names.contains(ByteString(recordID.recordName))
        }

        /// Walks the records of the server, then those that are to be saved and are not there, in no order.
        public func makeIterator() -> AnyIterator<Record.ID> {
            let zoneID = zoneID
            let names = names
            var onServer = names.makeIterator()
            var others = pending.makeIterator()
            return AnyIterator {
                if let name = onServer.next() { return Record.ID(recordName: name.string, zoneID: zoneID) }
                while let recordID = others.next() {
                    if !names.contains(ByteString(recordID.recordName)) { return recordID }
                }
                return nil
            }
        }
    }
}

extension SyncEngine.Event {
    /// The event's name, as in CKSyncEngine.
    public var name: String {
        switch self {
        case .stateUpdate: "stateUpdate"
        case .accountChange: "accountChange"
        case .fetchedDatabaseChanges: "fetchedDatabaseChanges"
        case .fetchedRecordZoneChanges: "fetchedRecordZoneChanges"
        case .sentDatabaseChanges: "sentDatabaseChanges"
        case .sentRecordZoneChanges: "sentRecordZoneChanges"
        case .willFetchChanges: "willFetchChanges"
        case .willFetchRecordZoneChanges: "willFetchRecordZoneChanges"
        case .didFetchRecordZoneChanges: "didFetchRecordZoneChanges"
        case .didFetchChanges: "didFetchChanges"
        case .willSendChanges: "willSendChanges"
        case .didSendChanges: "didSendChanges"
        }
    }
}
