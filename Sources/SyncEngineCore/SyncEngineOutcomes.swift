import ChangeFeed

extension SyncEngine {
    /// What a call of ``SyncEngine/fetchChanges(_:)`` did: a fetch that did nothing can be told from one that found
    /// nothing (section 6.8).
    public enum FetchOutcome: Sendable {
        /// The server was asked.
        case fetched(FetchSummary)
        /// Another fetch that had not asked the server yet served this call too.
        case joined(FetchSummary)
        /// The server was not asked.
        case skipped(SkipReason)

        /// Why the server was not asked.
        public enum SkipReason: String, Sendable, Hashable, Codable {
            /// Nobody is signed in, or the account cannot be used.
            case noAccount
            /// The `.cloudKit` policy knows of no reason to ask.
            case notDirty
        }

        /// What was fetched; nil if the server was not asked.
        public var summary: FetchSummary? {
            switch self {
            case .fetched(let summary), .joined(let summary): summary
            case .skipped: nil
            }
        }
    }

    /// What a fetch found.
    public struct FetchSummary: Sendable {
        /// What came of a zone.
        public struct Zone: Sendable {
            /// The zone.
            public let zoneID: RecordZone.ID
            /// How many pages were acknowledged.
            public internal(set) var pageCount = 0
            /// How many records came that are new or have changed.
            public internal(set) var modificationCount = 0
            /// How many records came that are gone.
            public internal(set) var deletionCount = 0
            /// Whether it was read from the beginning again.
            public internal(set) var isResync = false
            /// Why it was not read to its end; nil if it was.
            public internal(set) var error: ChangeFeedError?

            init(zoneID: RecordZone.ID) {
                self.zoneID = zoneID
            }
        }

        /// The zones that were asked, in that order.
        public internal(set) var zones: [Zone] = []
        /// How many zones the database reported as changed or new.
        public internal(set) var modifiedZoneCount = 0
        /// How many zones the database reported as gone.
        public internal(set) var deletedZoneCount = 0
        /// The zones that were not read to their end, or not asked any more.
        public internal(set) var unfinishedZoneIDs: [RecordZone.ID] = []

        /// How many records came that are new, changed or gone.
        public var recordCount: Int { zones.reduce(0) { $0 + $1.modificationCount + $1.deletionCount } }
        /// Whether there is nothing left of what was asked for.
        public var isComplete: Bool { unfinishedZoneIDs.isEmpty }
        /// Whether the server had nothing new.
        public var isEmpty: Bool { recordCount == 0 && modifiedZoneCount == 0 && deletedZoneCount == 0 }
    }

    /// What a send did.
    public struct SendOutcome: Sendable {
        /// Why nothing was sent; nil if the engine could send.
        public internal(set) var skipped: FetchOutcome.SkipReason?
        /// The zones that were saved.
        public internal(set) var savedZoneIDs: [RecordZone.ID] = []
        /// The zones that were deleted.
        public internal(set) var deletedZoneIDs: [RecordZone.ID] = []
        /// The zones that were neither.
        public internal(set) var failedZones: [RecordZone.ID: ChangeFeedError] = [:]
        /// How many records were saved.
        public internal(set) var savedCount = 0
        /// How many records were deleted.
        public internal(set) var deletedCount = 0
        /// The records that were neither, for reasons that the engine does not repeat by itself.
        public internal(set) var failedRecords: [Record.ID: ChangeFeedError] = [:]
        /// What is still pending and will be sent again by itself.
        public internal(set) var retryingCount = 0
        /// What is still pending and was left out by the provider.
        public internal(set) var skippedRecordIDs: [Record.ID] = []
        /// How many requests were made.
        public internal(set) var requestCount = 0

        /// Whether something failed that is not repeated by itself.
        public var hasFailures: Bool { !failedRecords.isEmpty || !failedZones.isEmpty }
    }
}
