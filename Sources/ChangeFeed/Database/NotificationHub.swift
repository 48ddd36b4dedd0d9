/// Tells those who listen what has been written, once it is committed.
///
/// A write in a database where nobody listens costs one look into a dictionary. Where somebody does, the database's
/// subscriptions are read once and kept until they are modified or the last listener leaves. Only modifications
/// through this hub's own container are noticed.
package final class NotificationHub: Sendable {
    /// What is known of a database while somebody listens to it.
    private struct Desk {
        /// In the order in which they began to listen.
        var mailboxes: [(number: Int, mailbox: NotificationMailbox)] = []
        /// The database's subscriptions; nil until they are needed.
        var subscriptions: [ByteString: Subscription]?
        /// Differs whenever what is being read of the subscriptions may be out of date.
        var stamp: Int
    }

    private struct State {
        var desks: [DatabaseID: Desk] = [:]
        /// The source of stamps and of the numbers of mailboxes.
        var counter = 0

        mutating func next() -> Int {
            counter += 1
            return counter
        }
    }

    private let store: any ChangeStore
    private let feed: Feed
    private let randomness: @Sendable () -> UInt64
    private let state = Locked(State())

    init(store: any ChangeStore, feed: Feed, randomness: @escaping @Sendable () -> UInt64) {
        self.store = store
        self.feed = feed
        self.randomness = randomness
    }

    deinit {
        for (mailbox, _) in allMailboxes() { mailbox.end() }
    }

    // MARK: Listening

    /// How many listen, to whichever database.
    package var listenerCount: Int {
        state.withLock { $0.desks.values.reduce(0) { $0 + $1.mailboxes.count } }
    }

    /// Begins to listen to a database: to the hints of a subscription, or with nil to the bell alone, which rings
    /// after every write. It ends when the bell is let go or its task is cancelled.
    func listen(
        to databaseID: DatabaseID, subscriptionID: String?, deviceID: String?, session: ObjectIdentifier?,
        limit: Int = 1
    ) -> NotificationListener {
        let (bell, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let mailbox = NotificationMailbox(
            subscriptionID: subscriptionID.map(ByteString.init), deviceID: deviceID, session: session, limit: limit,
            bell: continuation)
        let number = state.withLock { $0.next() }
        // Before the mailbox is known to anybody who could end it.
        continuation.onTermination = { [weak self] _ in self?.forget(number, in: databaseID) }
        state.withLock { state in
            state.desks[databaseID, default: Desk(stamp: number)].mailboxes.append((number, mailbox))
        }
        return NotificationListener(mailbox: mailbox, bell: bell)
    }

    private func forget(_ number: Int, in databaseID: DatabaseID) {
        state.withLock { state in
            state.desks[databaseID]?.mailboxes.removeAll { $0.number == number }
            if state.desks[databaseID]?.mailboxes.isEmpty == true { state.desks[databaseID] = nil }
        }
    }

    /// Ends what a session listens to. What has not been heard by then never is.
    func end(_ session: ObjectIdentifier) {
        // Outside the lock: ending a mailbox makes the hub forget it.
        for (mailbox, _) in allMailboxes() where mailbox.session == session { mailbox.end() }
    }

    /// All that listen to whichever database, in the order in which they began.
    private func allMailboxes() -> [(mailbox: NotificationMailbox, databaseID: DatabaseID)] {
        let entries = state.withLock { state in
            state.desks.flatMap { databaseID, desk in desk.mailboxes.map { ($0.number, $0.mailbox, databaseID) } }
        }
        return entries.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
    }

    // MARK: Subscriptions

    /// To be called when a request that modifies subscriptions is over, whatever came of it, before it is answered.
    func subscriptionsWereModified(in databaseID: DatabaseID) {
        state.withLock { state in
            let stamp = state.next()
            state.desks[databaseID]?.subscriptions = nil
            state.desks[databaseID]?.stamp = stamp
        }
    }

    /// To be called when another history has taken the place of a store's: nothing that was read holds, everybody who
    /// waits is to look again, and one pruned hint stands for whatever is different now.
    func storeWasReplaced() {
        state.withLock { state in
            let stamp = state.next()
            for databaseID in state.desks.keys {
                state.desks[databaseID]?.subscriptions = nil
                state.desks[databaseID]?.stamp = stamp
            }
        }
        for (mailbox, databaseID) in allMailboxes() { tellOfAnything(mailbox, in: databaseID) }
    }

    private func subscriptions(
        of databaseID: DatabaseID
    ) async throws(ChangeFeedError) -> [ByteString: Subscription] {
        guard let desk = state.withLock({ $0.desks[databaseID] }) else { return [:] }
        if let known = desk.subscriptions { return known }
        let feed = feed
        let read = try await store.read { (store) throws(ChangeFeedError) in
            try feed.storedSubscriptions(of: databaseID, from: store)
        }
        state.withLock { state in
            if state.desks[databaseID]?.stamp == desk.stamp { state.desks[databaseID]?.subscriptions = read }
        }
        // Right for the write that is told of, which was committed before the read, even if it is not kept.
        return read
    }

    // MARK: Telling

    /// Tells of a write that has been committed. It never fails and never waits for a listener.
    func publish(_ changes: [WrittenZone], in databaseID: DatabaseID, from deviceID: String?) async {
        guard !changes.isEmpty else { return }
        let mailboxes = state.withLock { $0.desks[databaseID]?.mailboxes.map(\.mailbox) ?? [] }
        guard !mailboxes.isEmpty else { return }
        for mailbox in mailboxes where mailbox.subscriptionID == nil { mailbox.ring() }
        let consumers = mailboxes.filter { $0.subscriptionID != nil }
        guard !consumers.isEmpty else { return }

        let subscriptions = try? await subscriptions(of: databaseID)
        var told: [ByteString: [ChangeNotification]] = [:]
        for consumer in consumers {
            guard let subscriptionID = consumer.subscriptionID else { continue }
            guard let subscriptions else {
                // Who is to be told cannot be found out: one hint too many does less harm than one too few.
                tellOfAnything(consumer, in: databaseID)
                continue
            }
            guard let subscription = subscriptions[subscriptionID] else { continue }
            if subscription.excludesOriginatingDevice, let deviceID, let own = consumer.deviceID,
                sameBytes(deviceID, own)
            {
                continue
            }
            let kind = subscription.kind.notificationKind
            let notifications =
                told[subscriptionID]
                ?? changes.filter(subscription.matches).map {
                    notification(for: subscriptionID, kind: kind, in: databaseID, zoneID: $0.zoneID)
                }
            told[subscriptionID] = notifications
            for notification in notifications { consumer.put(notification) }
        }
    }

    private func tellOfAnything(_ mailbox: NotificationMailbox, in databaseID: DatabaseID) {
        guard let subscriptionID = mailbox.subscriptionID else { return mailbox.ring() }
        mailbox.put(notification(for: subscriptionID, kind: .database, in: databaseID).pruned)
    }

    private func notification(
        for subscriptionID: ByteString, kind: ChangeNotification.Kind, in databaseID: DatabaseID,
        zoneID: RecordZone.ID? = nil
    ) -> ChangeNotification {
        ChangeNotification(
            notificationID: hexadecimal(randomness()) + hexadecimal(randomness()),
            subscriptionID: subscriptionID.string,
            databaseScope: databaseID.scope,
            zoneID: zoneID,
            kind: kind,
            isPruned: false
        )
    }

    private func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Subscription.Kind {
    fileprivate var notificationKind: ChangeNotification.Kind {
        switch self {
        case .database: .database
        case .recordZone: .recordZone
        }
    }
}
