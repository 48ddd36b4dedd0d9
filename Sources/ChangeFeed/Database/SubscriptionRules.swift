/// How subscriptions are saved, deleted and looked up (rules SB1, SB5).
extension Feed {
    package func modifySubscriptions(
        _ request: SubscriptionModifyRequest, in databaseID: DatabaseID, to store: any StoreWriter
    ) throws(ChangeFeedError) -> SubscriptionModifyResults {
        try checkOffersSubscriptions(databaseID)
        try check(request)
        let keys = SubscriptionKeys(databaseID: databaseID)
        var saves: [SubscriptionModifyResults.Save] = []
        for subscription in request.saving {
            let id = subscription.subscriptionID
            do throws(ChangeFeedError) {
                try check(subscription, in: databaseID, of: store)
                try store.setMetaValue(subscription.storedBytes, for: keys.key(of: id), of: .subscriptions)
                saves.append(.init(subscriptionID: id, result: .success(subscription)))
            } catch {
                saves.append(.init(subscriptionID: id, result: .failure(error)))
            }
        }
        var deletions: [SubscriptionModifyResults.Deletion] = []
        for id in request.deleting {
            do throws(ChangeFeedError) {
                try checkSubscriptionID(id)
                let key = keys.key(of: id)
                guard try store.metaValue(key, of: .subscriptions) != nil else { throw unknownSubscription(id) }
                try store.setMetaValue(nil, for: key, of: .subscriptions)
                deletions.append(.init(subscriptionID: id, result: .success(())))
            } catch {
                deletions.append(.init(subscriptionID: id, result: .failure(error)))
            }
        }
        return SubscriptionModifyResults(saves: saves, deletions: deletions)
    }

    package func subscriptions(
        _ request: SubscriptionsRequest, in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        try checkOffersSubscriptions(databaseID)
        var results: [String: Result<Subscription, ChangeFeedError>] = [:]
        guard let ids = request.subscriptionIDs else {
            try scanSubscriptions(of: databaseID, from: store) { id, result in results[id] = result }
            return results
        }
        try checkItemCount(ids.count)
        let keys = SubscriptionKeys(databaseID: databaseID)
        for id in ids where results[id] == nil {
            if let bytes = try store.metaValue(keys.key(of: id), of: .subscriptions) {
                results[id] = subscription(id, storedBytes: bytes)
            } else {
                results[id] = .failure(unknownSubscription(id))
            }
        }
        return results
    }

    /// The readable subscriptions of a database, by id.
    func storedSubscriptions(
        of databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) -> [ByteString: Subscription] {
        var subscriptions: [ByteString: Subscription] = [:]
        try scanSubscriptions(of: databaseID, from: store) { id, result in
            if case .success(let subscription) = result { subscriptions[ByteString(id)] = subscription }
        }
        return subscriptions
    }

    private func scanSubscriptions(
        of databaseID: DatabaseID, from store: any StoreReader,
        _ visit: (String, Result<Subscription, ChangeFeedError>) -> Void
    ) throws(ChangeFeedError) {
        let keys = SubscriptionKeys(databaseID: databaseID)
        try store.scanMeta(of: .subscriptions, from: keys.prefix) { key, bytes in
            guard let id = keys.subscriptionID(ofKey: key) else { return .stop }
            visit(id, subscription(id, storedBytes: bytes))
            return .next
        }
    }

    private func subscription(_ id: String, storedBytes: [UInt8]) -> Result<Subscription, ChangeFeedError> {
        do throws(MalformedBytes) {
            return .success(try Subscription(subscriptionID: id, storedBytes: storedBytes))
        } catch {
            return .failure(
                ChangeFeedError(
                    .internalError,
                    "What is stored of the subscription \"\(id)\" cannot be read: it \(error.reason). Save it again.",
                    detail: .damaged))
        }
    }
}

// MARK: - Checks

extension Feed {
    private func checkOffersSubscriptions(_ databaseID: DatabaseID) throws(ChangeFeedError) {
        guard databaseID.scope == .private else {
            throw ChangeFeedError(
                .badDatabase,
                "The public database could have query subscriptions only, and these are not offered: "
                    + "subscribe in the private database.",
                rule: "SB1")
        }
    }

    private func check(_ request: SubscriptionModifyRequest) throws(ChangeFeedError) {
        let ids = request.saving.map(\.subscriptionID) + request.deleting
        guard !ids.isEmpty else {
            throw ChangeFeedError(
                .invalidArguments, "The request is empty: give at least one subscription to save or delete.",
                rule: "M1")
        }
        try checkItemCount(ids.count)
        var seen: Set<ByteString> = []
        for id in ids where !seen.insert(ByteString(id)).inserted {
            let message = "The subscription \"\(id.prefix(80))\" is in the request twice: one entry for each."
            throw ChangeFeedError(
                .invalidArguments, message, rule: "M1",
                partialErrors: [.subscription(id): ChangeFeedError(.invalidArguments, message, rule: "M1")])
        }
    }

    private func checkSubscriptionID(_ id: String) throws(ChangeFeedError) {
        if let fault = names.fault(inRecordName: id) {
            throw ChangeFeedError(
                .invalidArguments, "The subscription id \"\(id.prefix(80))\" \(fault).", rule: "N1")
        }
    }

    private func check(
        _ subscription: Subscription, in databaseID: DatabaseID, of store: any StoreReader
    ) throws(ChangeFeedError) {
        try checkSubscriptionID(subscription.subscriptionID)
        if let recordType = subscription.recordType, let fault = names.fault(inIdentifier: recordType) {
            throw ChangeFeedError(
                .invalidArguments,
                "The record type of the subscription \"\(subscription.subscriptionID)\" \(fault).", rule: "N5")
        }
        guard case .recordZone(let zoneID) = subscription.kind else { return }
        guard !zoneID.isDefault else {
            throw ChangeFeedError(
                .invalidArguments,
                "The subscription \"\(subscription.subscriptionID)\" is to the default zone, which does not track "
                    + "changes: subscribe to a zone of your own.",
                zoneID: zoneID, rule: "SB1")
        }
        _ = try liveZone(zoneID, in: databaseID, from: store)
    }

    private func unknownSubscription(_ id: String) -> ChangeFeedError {
        ChangeFeedError(.unknownItem, "There is no subscription \"\(id.prefix(80))\".", rule: "SB5")
    }
}

/// The keys under which a store keeps the subscriptions of one database. The user's id has its length before it, so
/// that no id of one user can be read as another's.
private struct SubscriptionKeys {
    let prefix: String

    init(databaseID: DatabaseID) {
        prefix = "\(databaseID.scope.rawValue)/\(databaseID.userID.utf8.count)/\(databaseID.userID)/"
    }

    func key(of subscriptionID: String) -> String { prefix + subscriptionID }

    /// The id of a subscription from its key; nil if it is another database's.
    func subscriptionID(ofKey key: String) -> String? {
        guard key.utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }
}
