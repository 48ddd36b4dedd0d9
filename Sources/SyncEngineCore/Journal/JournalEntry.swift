import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SyncEngine {
    /// One thing that happened in an engine, and why: from the entries one can tell why a device did or did not see a
    /// change at a given time.
    public struct JournalEntry: Sendable, Hashable, Codable {
        /// The entry's number: each engine counts from 1 without gaps.
        public let number: Int
        /// When it happened, by the engine's calendar clock.
        public let time: Date
        /// The fetch or send that it belongs to, numbered from 1; nil if to none.
        public let pass: Int?
        /// What happened.
        public let event: Event

        /// What happened.
        public enum Event: Sendable, Hashable, Codable {
            /// The engine was made, from a state of this revision, or from none.
            case created(revision: UInt64?, userID: String?, policy: String)
            /// The engine was stopped.
            case stopped
            /// A trigger came, and this was decided.
            case triggered(TriggerKind, Decision, situation: Situation)
            /// The app called for something, and this was decided.
            case called(String, Decision, situation: Situation)
            /// A caller gave up.
            case cancelled(String)
            /// A pass began, for these triggers.
            case began(String, reason: Reason, triggers: [TriggerKind])
            /// A pass ended, with this result.
            case ended(String)
            /// A request was made.
            case requested(String)
            /// A request was answered.
            case answered(String)
            /// A request failed.
            case failed(String, code: String, retryAfter: Duration?)
            /// An answer came for a pass that was over, and was dropped.
            case dropped(String)
            /// An event was handed to the delegate; the number tells the delivery.
            case delivered(String, delivery: Int)
            /// The delegate's handler returned.
            case acknowledged(String, delivery: Int)
            /// The delegate's handler threw, so that nothing of the event counts as done.
            case refused(String, delivery: Int, error: String)
            /// The delegate was asked for something, and this it gave.
            case asked(String, answer: String)
            /// A zone is read from the beginning again, for this reason.
            case resync(RecordZone.ID?, because: String)
            /// A record was set aside.
            case quarantined(Record.ID, reason: String)
            /// Pending changes of a zone that is gone were set aside.
            case parked(RecordZone.ID, changes: Int)
            /// A record's change will not be sent for now, for this reason.
            case held(Record.ID, because: String)
            /// A pending change turned out to have nothing in it, or to be on the server already.
            case satisfied(Record.ID, because: String)
            /// A request was divided, because it was too large or because a part of it was refused.
            case divided(items: Int, parts: Int, because: String)
            /// The account was looked up, with this result.
            case account(String)
            /// Something failed in a way that is worth repeating, and this will be, by itself if the policy acts.
            case retryScheduled(delay: Duration, floor: Duration?, work: String)
            /// Pending changes were added or removed; how many there are now.
            case pending(added: Int, removed: Int, total: Int)
            /// The state was stored, by the engine's own store.
            case persisted(revision: UInt64, bytes: Int)
            /// The state could not be stored.
            case notPersisted(String)
        }
    }
}
