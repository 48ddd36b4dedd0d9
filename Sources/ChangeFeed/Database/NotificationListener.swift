/// What the hub keeps of one who listens: where hints are put, and a bell that wakes the listener.
///
/// Whoever puts a hint never waits. The bell remembers that it was rung, once, until the listener hears it.
final class NotificationMailbox: Sendable {
    /// The subscription whose hints are put here; nil where only the bell is wanted.
    let subscriptionID: ByteString?
    /// The device that listens, if it is one.
    let deviceID: String?
    /// The session with which the listening ends.
    let session: ObjectIdentifier?
    private let buffer: Locked<NotificationBuffer>
    private let bell: AsyncStream<Void>.Continuation

    init(
        subscriptionID: ByteString?, deviceID: String?, session: ObjectIdentifier?, limit: Int,
        bell: AsyncStream<Void>.Continuation
    ) {
        self.subscriptionID = subscriptionID
        self.deviceID = deviceID
        self.session = session
        self.bell = bell
        buffer = Locked(NotificationBuffer(limit: limit))
    }

    func put(_ notification: ChangeNotification) {
        buffer.withLock { $0.add(notification) }
        bell.yield()
    }

    func ring() {
        bell.yield()
    }

    func takeFirst() -> ChangeNotification? {
        buffer.withLock { $0.takeFirst() }
    }

    /// Ends the listening; what has not been taken is lost.
    func end() {
        buffer.withLock { $0.close() }
        bell.finish()
    }
}

/// The listener's own side. Once nobody holds the bell any more, the hub has forgotten the mailbox.
struct NotificationListener: Sendable {
    let mailbox: NotificationMailbox
    let bell: AsyncStream<Void>
}

/// The hints of a subscription, from the call on that made the sequence: see
/// ``Database/notifications(for:bufferingLimit:)``.
///
/// For one consumer: each call makes a sequence of its own, and each gets all hints. Leaving the loop, dropping the
/// sequence or cancelling the task leaves nothing behind.
public struct ChangeNotifications: AsyncSequence, Sendable {
    /// A hint.
    public typealias Element = ChangeNotification
    /// It never fails: it ends when the consumer's task is cancelled or the account of the device changes.
    public typealias Failure = Never

    let listener: NotificationListener

    /// A sequence that has ended.
    static var ended: ChangeNotifications {
        let (bell, continuation) = AsyncStream<Void>.makeStream()
        continuation.finish()
        let mailbox = NotificationMailbox(
            subscriptionID: nil, deviceID: nil, session: nil, limit: 1, bell: continuation)
        return ChangeNotifications(listener: NotificationListener(mailbox: mailbox, bell: bell))
    }

    /// Takes the hints that are there, without waiting for more.
    package func takeWaiting() -> [ChangeNotification] {
        var notifications: [ChangeNotification] = []
        while let notification = listener.mailbox.takeFirst() { notifications.append(notification) }
        return notifications
    }

    /// Waits for the hints.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let mailbox: NotificationMailbox
        var bell: AsyncStream<Void>.AsyncIterator

        /// The next hint; nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> ChangeNotification? {
            while true {
                if !Task.isCancelled, let notification = mailbox.takeFirst() { return notification }
                // A hint that is put between the look and the wait has rung the bell, which is then heard at once. In
                // a cancelled task the wait ends the listening.
                guard await bell.next(isolation: actor) != nil else { return nil }
            }
        }
    }

    /// Goes on where an earlier iterator of the same sequence left off.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(mailbox: listener.mailbox, bell: listener.bell.makeAsyncIterator())
    }
}
