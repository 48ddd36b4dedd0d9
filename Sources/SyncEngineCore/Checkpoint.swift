import ChangeFeed

extension SyncEngine {
    /// What to store together with the data of an event (section 6.10).
    ///
    /// Both forms cover the event, and everything that was acknowledged or added before. They are made when they are
    /// asked for: ask within the handler, and store one of them in the same transaction as the data. If the handler
    /// throws, what was made must not be kept.
    public struct Checkpoint: Sendable {
        let core: EngineCore
        let delivery: Int

        /// The whole state.
        public var serialization: State.Serialization { core.serialization(in: delivery) }
        /// What has changed since the last form that an acknowledged handler asked for, in either form.
        public var increment: State.Increment { core.increment(in: delivery) }

        /// Whether the state after this event may take the place of a stored one: false if another engine has written
        /// that, or a later one of this engine (case B15).
        public func supersedes(_ stored: State.Serialization?) -> Bool {
            guard let stored else { return true }
            return core.withMachine { $0.basis.log.nextStamp }.supersedes(stored.stamp)
        }
    }
}
