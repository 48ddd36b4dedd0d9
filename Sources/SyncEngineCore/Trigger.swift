import ChangeFeed

extension SyncEngine {
    /// A reason to do something, given by the host of the engine to ``SyncEngine/receive(_:)``. The engine observes no
    /// notifications itself (section 6.8).
    public enum Trigger: Sendable, Hashable, Codable {
        /// The app has been launched.
        case launch
        /// A hint has come from the server.
        case push(ChangeNotification)
        /// The app has come to the foreground.
        case enteredForeground
        /// There is a network again.
        case networkBecameAvailable
        /// Another user may be signed in. Nothing is sent or fetched from now on until the account is known.
        case accountChanged
        /// The app has added pending changes. The engine gives itself this one.
        case pendingChangesAdded
        /// Nothing has been heard for a while. The engine gives itself this one.
        case periodic
        /// The time to try again has come. The engine gives itself this one.
        case retryDue

        /// The trigger without what it carries.
        public var kind: TriggerKind {
            switch self {
            case .launch: .launch
            case .push: .push
            case .enteredForeground: .enteredForeground
            case .networkBecameAvailable: .networkBecameAvailable
            case .accountChanged: .accountChanged
            case .pendingChangesAdded: .pendingChangesAdded
            case .periodic: .periodic
            case .retryDue: .retryDue
            }
        }
    }

    /// The kinds of triggers.
    public enum TriggerKind: String, Sendable, Hashable, Codable, CaseIterable {
        /// See ``Trigger/launch``.
        case launch
        /// See ``Trigger/push(_:)``.
        case push
        /// See ``Trigger/enteredForeground``.
        case enteredForeground
        /// See ``Trigger/networkBecameAvailable``.
        case networkBecameAvailable
        /// See ``Trigger/accountChanged``.
        case accountChanged
        /// See ``Trigger/pendingChangesAdded``.
        case pendingChangesAdded
        /// See ``Trigger/periodic``.
        case periodic
        /// See ``Trigger/retryDue``.
        case retryDue
    }

    /// What an engine does about a trigger. Each trigger has exactly one, which is in the journal.
    public enum Decision: Sendable, Hashable, Codable {
        /// It starts now.
        case starts
        /// What is about to start serves it.
        case joins
        /// It starts once what is under way has ended.
        case queued
        /// It starts later by itself.
        case deferred(until: Duration, reason: DeferralReason)
        /// It does nothing.
        case ignored(IgnoreReason)
    }

    /// Why a trigger waits.
    public enum DeferralReason: String, Sendable, Hashable, Codable {
        /// The server has asked to be left alone for a while. The time is that from now until it ends.
        case coolingDown
    }

    /// Why a trigger does nothing.
    public enum IgnoreReason: String, Sendable, Hashable, Codable {
        /// The policy says so.
        case policy
        /// Nobody is signed in: the next account change starts everything.
        case noAccount
        /// The engine has been stopped.
        case stopped
        /// There is nothing to be sent.
        case nothingPending
        /// The hint is of another database or subscription, or is a repeated one.
        case notForThisEngine
    }

    /// What an engine is doing, as far as it matters to a trigger.
    public enum Situation: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nothing.
        case idle
        /// It fetches, and has not asked the database yet.
        case fetchingBeforeDatabaseStep
        /// It fetches, and has asked the database.
        case fetchingAfterDatabaseStep
        /// It sends.
        case sending
        /// It does nothing, because the server has asked to be left alone for a while.
        case coolingDown
        /// It does nothing, because nobody is signed in.
        case noAccount
        /// It has been stopped.
        case stopped
    }
}
