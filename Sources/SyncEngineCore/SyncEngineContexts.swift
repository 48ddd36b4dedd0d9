import ChangeFeed

extension SyncEngine {
    /// What a handler may do with the engine while it handles an event.
    public struct EventContext: Sendable {
        let core: EngineCore
        let delivery: Int

        /// The engine's state. Changes made to it now are part of the event's checkpoint.
        public var state: State { State(core: core, delivery: delivery) }

        /// Sets one record of the page aside, because it cannot be applied; the others count as applied. It is kept in
        /// ``State/quarantinedRecords`` until it comes again or ``SyncEngine/fetchQuarantinedRecords()`` brings it.
        ///
        /// To have the whole page again, throw. After the handler has returned this does nothing.
        public func quarantine(_ record: Record, reason: String) {
            core.quarantine(
                .init(recordID: record.recordID, recordChangeTag: record.recordChangeTag, reason: reason),
                in: delivery)
        }
    }

    /// A send that is under way.
    public struct SendChangesContext: Sendable {
        struct Content: Sendable, Hashable {
            let reason: Reason
            let options: SendChangesOptions
        }

        let content: Content
        let core: EngineCore

        /// Who wanted it.
        public var reason: Reason { content.reason }
        /// What it sends.
        public var options: SendChangesOptions { content.options }
        /// The engine's state.
        public var state: State { State(core: core, delivery: nil) }
        /// The bounds of a batch.
        public var limits: BatchLimits { core.configuration.limits }

        /// The pending changes that this send may still take up, in order: within its scope, and not asked for yet.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            core.withMachine { $0.candidates(after: 0, limit: .max) }.map(\.change)
        }

        func candidates(after place: UInt64) -> [SendPass.Candidate] {
            core.withMachine { $0.candidates(after: place, limit: limits.items) }
        }

        func isPendingSave(_ recordID: Record.ID) -> Bool { core.withMachine { $0.isPendingSave(recordID) } }
    }
}
