import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SyncEngine {
    /// What an engine is given. Clocks and randomness can be replaced, so that a test decides about them.
    public struct Configuration: Sendable {
        /// The database that is kept in step with.
        public var database: any RecordDatabase
        /// The state to go on from; nil to begin anew.
        public var stateSerialization: State.Serialization?
        /// Who is told. The engine holds it until ``SyncEngine/stop()``.
        public var delegate: any SyncEngineDelegate
        /// What is done about triggers.
        public var policy: TriggerPolicy
        /// Where the state is stored; nil if the delegate does it.
        public var stateStore: (any StateStore)?
        /// A name for the server's store, such as its host and environment. A state that was saved under another name
        /// keeps what is pending and reads everything anew.
        public var storeIdentifier = ""
        /// A subscription that the engine saves once for each account, so that hints come; nil if it is not to.
        public var subscriptionID: String?
        /// The bounds of batches and pages.
        public var limits = BatchLimits()
        /// How many entries of the journal are kept in memory.
        public var journalLimit = 1_000
        /// Where all entries of the journal go.
        public var journalSinks: [any JournalSink] = []
        /// The clock that delays are measured by.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The calendar clock, for the journal. It decides nothing.
        public var now: @Sendable () -> Date = { Date() }
        /// The source of the ids of requests and of jitter.
        public var randomness: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        /// Where the engine's tasks run; nil for the system's pool.
        public var executor: (any TaskExecutor)?

        /// A configuration as of CKSyncEngine: the delegate stores the state.
        public init(
            database: any RecordDatabase, stateSerialization: State.Serialization?,
            delegate: any SyncEngineDelegate, policy: TriggerPolicy = .automatic
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
            self.policy = policy
        }

        /// A configuration whose state is read from a store now, and stored there from then on.
        ///
        /// Throws what ``StateStore/load()`` throws.
        public init(
            database: any RecordDatabase, stateStore: any StateStore, delegate: any SyncEngineDelegate,
            policy: TriggerPolicy = .automatic
        ) throws(SyncEngineError) {
            self.init(
                database: database, stateSerialization: try stateStore.load(), delegate: delegate, policy: policy)
            self.stateStore = stateStore
        }
    }
}
