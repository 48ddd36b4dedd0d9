/// Hearing of changes without asking again and again: hints and the long poll.
extension Database {
    /// The hints of a subscription of this user, from this call on (rule SB3).
    ///
    /// A hint is there once the write that it tells of has returned. Hints that have not been taken are coalesced, one
    /// for each zone; if more than `bufferingLimit` zones wait, one pruned hint stands for all. A consumer that does
    /// not keep up, or has gone, holds up nobody. A subscription that is not there yields nothing until it is saved;
    /// in the public database, which has none, the sequence ends at once.
    public func notifications(for subscriptionID: String, bufferingLimit: Int = 16) -> ChangeNotifications {
        if databaseID.scope == .public { return .ended }
        return ChangeNotifications(
            listener: container.hub.listen(
                to: databaseID, subscriptionID: subscriptionID, deviceID: deviceID, session: session,
                limit: bufferingLimit))
    }

    /// Waits until there is a change after a token, at most as long as the timeout (section 6.13.4).
    ///
    /// The answer is a hint: true if there is something to fetch, which a token of nil reads from the beginning; false
    /// if at the timeout there was nothing. A timeout of zero or less looks once. The time is that of
    /// ``Container/Configuration/clock``. Throws what ``databaseChanges(_:)`` throws for the token, also when it
    /// expires during the wait, and `operationCancelled` if the task is cancelled.
    public func waitForChanges(
        since token: DatabaseChangeToken?, timeout: Duration
    ) async throws(ChangeFeedError) -> Bool {
        try await waitForChanges(since: token, timeout: timeout, hearing: listen())
    }

    /// Begins to hear of every write in the database.
    func listen() -> NotificationListener {
        container.hub.listen(to: databaseID, subscriptionID: nil, deviceID: deviceID, session: session)
    }

    /// How a wait came to its end.
    private enum Wait {
        case changed
        case timedOut
        case ended
        case failed(ChangeFeedError)
    }

    func waitForChanges(
        since token: DatabaseChangeToken?, timeout: Duration, hearing listener: NotificationListener
    ) async throws(ChangeFeedError) -> Bool {
        // The listener was there before this look, so no write falls between the look and the wait.
        if try await hasChanges(since: token) { return true }
        guard timeout > .zero else { return false }
        let clock = container.configuration.clock
        let wait = await withTaskGroup(of: Wait.self) { group in
            group.addTask { await changed(since: token, hearing: listener) }
            group.addTask {
                do {
                    // Clocks do not count to the end of time: a wait of a hundred years is one without end.
                    try await clock.sleep(for: min(timeout, .seconds(100 * 365 * 86_400)))
                    return .timedOut
                } catch {
                    return .ended
                }
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .ended
        }
        switch wait {
        case .changed: return true
        case .failed(let error): throw error
        // A change may have come in the very moment.
        case .timedOut: return try await hasChanges(since: token)
        case .ended: break
        }
        if Task.isCancelled { throw .cancelled }
        throw ChangeFeedError(
            .notAuthenticated, "The device's account changed during the wait: ask again.", rule: "6.9a")
    }

    private func changed(since token: DatabaseChangeToken?, hearing listener: NotificationListener) async -> Wait {
        do throws(ChangeFeedError) {
            for await _ in listener.bell {
                if try await hasChanges(since: token) { return .changed }
            }
            return .ended
        } catch {
            return .failed(error)
        }
    }

    private func hasChanges(since token: DatabaseChangeToken?) async throws(ChangeFeedError) -> Bool {
        let page = try await databaseChanges(DatabaseChangesRequest(since: token, resultsLimit: 1))
        return !page.changes.isEmpty || page.moreComing
    }
}
