/// One device's session with a server: who is signed in on it, and databases that follow (section 6.9a).
///
/// A session is an object of its own. The container keeps no list of them: asking it twice for a device of the same id
/// gives two sessions, each with its own account, as two installations would have that were given one id by mistake.
/// Keep the one you made as long as the device lives.
///
/// An account change is a line that nothing crosses. Each request looks up the account once, before it does anything,
/// and is that user's to its end; one that is made after ``signIn(_:)`` or ``signOut()`` has returned is the new
/// user's. What listens (``DeviceDatabase/notifications(for:bufferingLimit:)``, a long poll) is ended by the change.
public final class Device: Sendable {
    /// What keeps a device from using the account that is signed in on it. A switch for tests.
    public enum Condition: Sendable, Hashable, CaseIterable {
        /// Nothing does.
        case normal
        /// A policy does, whoever is signed in: requests fail with `permissionFailure`.
        case restricted
        /// The account is not ready: requests fail with `accountTemporarilyUnavailable`. Without a user it changes
        /// nothing.
        case temporarilyUnavailable
    }

    /// What requests are allowed to do without an account.
    enum Access {
        case reading
        case writing
    }

    private struct Session {
        var userID: String?
        var condition = Condition.normal
        /// In the order in which they began to observe.
        var observers: [(number: Int, stream: AsyncStream<Account>.Continuation)] = []
        var lastNumber = 0

        var account: Account {
            if condition == .restricted { return .restricted }
            guard let userID else { return .none }
            return condition == .temporarilyUnavailable ? .temporarilyUnavailable : .available(userID: userID)
        }
    }

    /// The device's own name, which its writes carry: subscriptions can leave out the device that wrote.
    public let deviceID: String
    private let container: Container
    private let session = Locked(Session())

    init(deviceID: String, container: Container) {
        self.deviceID = deviceID
        self.container = container
    }

    deinit {
        container.hub.end(ObjectIdentifier(self))
        for observer in session.withLock({ $0.observers }) { observer.stream.finish() }
    }

    // MARK: The account

    /// The state of the device's account at this moment.
    public var account: Account { session.withLock { $0.account } }

    /// Signs a user in, in place of the one who was. In a condition other than `normal` it shows once that is over.
    public func signIn(_ userID: String) {
        change { $0.userID = userID }
    }

    /// Signs out whoever is signed in. Nothing is deleted anywhere.
    public func signOut() {
        change { $0.userID = nil }
    }

    /// Puts the device in a condition, or back to `normal`, where the user is the one who was there before.
    public func setCondition(_ condition: Condition) {
        change { $0.condition = condition }
    }

    /// The account after each change from now on.
    ///
    /// Every call gives a stream of its own, for one consumer, which observes from this call on. A consumer that is
    /// slow finds the latest state in place of those that it missed (rule AC2); it ends with the session.
    public var accountChanges: AsyncStream<Account> {
        let (stream, continuation) = AsyncStream<Account>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = session.withLock { session in
            session.lastNumber += 1
            session.observers.append((session.lastNumber, continuation))
            return session.lastNumber
        }
        continuation.onTermination = { [weak self] _ in
            self?.session.withLock { session in session.observers.removeAll { $0.number == number } }
        }
        return stream
    }

    /// How many observe the account.
    package var observerCount: Int { session.withLock { $0.observers.count } }

    /// Changes the session and tells of it before the next request can see it, so that all are told in one order.
    private func change(_ body: (inout Session) -> Void) {
        session.withLock { session in
            let before = session.account
            body(&session)
            let account = session.account
            guard account != before else { return }
            container.hub.end(ObjectIdentifier(self))
            for observer in session.observers { observer.stream.yield(account) }
        }
    }

    // MARK: The databases

    /// A database of whoever is signed in at each request.
    public func database(_ scope: DatabaseScope) -> DeviceDatabase {
        DeviceDatabase(device: self, scope: scope)
    }

    /// Does something with the database of the present user, before the account can change. Reading the public
    /// database needs none.
    func withDatabase<Result>(
        _ scope: DatabaseScope, for access: Access, _ body: (Database) -> Result
    ) throws(ChangeFeedError) -> Result {
        try session.withLock { (session) throws(ChangeFeedError) in
            let userID: String
            switch (scope, access) {
            case (.public, .reading): userID = session.account.userID ?? ""
            case (.public, .writing), (.private, _): userID = try session.account.user()
            }
            return body(
                Database(
                    container: container,
                    databaseID: scope == .public ? .public : .private(userID),
                    userID: userID,
                    deviceID: deviceID,
                    session: ObjectIdentifier(self)
                )
            )
        }
    }
}
