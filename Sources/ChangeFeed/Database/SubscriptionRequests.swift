/// Asks to save and delete subscriptions of the user. Saves come before deletions; items do not depend on each other.
public struct SubscriptionModifyRequest: Sendable {
    /// The subscriptions to save, each in place of the one with the same id if there is one. Saving one that is there
    /// already is fine and unnecessary (rule SB5).
    public var saving: [Subscription]
    /// The ids of the subscriptions to delete.
    public var deleting: [String]

    /// The user under whom the request is meant; nil for whoever is signed in. It fails with `notAuthenticated` if that
    /// is somebody else by then, so that nothing of one user is ever seen or written by another (section 6.9a).
    public var ifUser: String?

    /// A request from its parts.
    public init(saving: [Subscription] = [], deleting: [String] = []) {
        self.saving = saving
        self.deleting = deleting
    }
}

/// What became of the items of a ``SubscriptionModifyRequest``: one result for each, in the order of the request.
public struct SubscriptionModifyResults: Sendable {
    /// What became of a subscription to be saved: the subscription as the server has it, or why not.
    public struct Save: Sendable {
        /// The subscription's id.
        public let subscriptionID: String
        /// What became of it.
        public let result: Result<Subscription, ChangeFeedError>

        /// A result from its parts.
        public init(subscriptionID: String, result: Result<Subscription, ChangeFeedError>) {
            self.subscriptionID = subscriptionID
            self.result = result
        }
    }

    /// What became of a subscription to be deleted.
    public struct Deletion: Sendable {
        /// The subscription's id.
        public let subscriptionID: String
        /// What became of it.
        public let result: Result<Void, ChangeFeedError>

        /// A result from its parts.
        public init(subscriptionID: String, result: Result<Void, ChangeFeedError>) {
            self.subscriptionID = subscriptionID
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

    /// The saves by subscription id.
    public var saveResults: [String: Result<Subscription, ChangeFeedError>] {
        Dictionary(saves.map { ($0.subscriptionID, $0.result) }) { first, _ in first }
    }

    /// The deletions by subscription id.
    public var deleteResults: [String: Result<Void, ChangeFeedError>] {
        Dictionary(deletions.map { ($0.subscriptionID, $0.result) }) { first, _ in first }
    }

    /// The errors of all items that failed.
    public var errors: [String: ChangeFeedError] {
        var errors: [String: ChangeFeedError] = [:]
        for save in saves {
            if case .failure(let error) = save.result { errors[save.subscriptionID] = error }
        }
        for deletion in deletions {
            if case .failure(let error) = deletion.result { errors[deletion.subscriptionID] = error }
        }
        return errors
    }
}

/// Asks for subscriptions of the user.
public struct SubscriptionsRequest: Sendable {
    /// The ids; nil for all that there are.
    public var subscriptionIDs: [String]?

    /// A request from its parts.
    public init(subscriptionIDs: [String]? = nil) {
        self.subscriptionIDs = subscriptionIDs
    }
}
