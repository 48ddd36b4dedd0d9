/// Fetches which zones of a database have changed (rules FD1 to FD9).
///
/// A value that says what to fetch; ``events(from:)`` runs it, as often as one likes. A zone that is reported as
/// changed may be gone by the time it is fetched: `zoneNotFound` then means just that (rule FD8).
public struct FetchDatabaseChangesOperation: Sendable {
    /// Where the last fetch ended; nil reads from the beginning.
    public var previousServerChangeToken: DatabaseChangeToken?
    /// The most items of a request; nil or 0 leaves it to the server (rule FD6).
    public var resultsLimit: Int?
    /// Whether to go on until nothing is left; if not, one request is made.
    public var fetchAllChanges: Bool

    /// An operation from its parts.
    public init(
        previousServerChangeToken: DatabaseChangeToken? = nil, resultsLimit: Int? = nil, fetchAllChanges: Bool = true
    ) {
        self.previousServerChangeToken = previousServerChangeToken
        self.resultsLimit = resultsLimit
        self.fetchAllChanges = fetchAllChanges
    }

    /// How far the database was fetched.
    public struct Completion: Sendable, Hashable {
        /// Where the next fetch goes on.
        public let changeToken: DatabaseChangeToken
        /// Whether there is more to fetch; never if all changes were asked for.
        public let moreComing: Bool

        /// A completion from its parts.
        public init(changeToken: DatabaseChangeToken, moreComing: Bool) {
            self.changeToken = changeToken
            self.moreComing = moreComing
        }
    }

    /// What happens while the operation runs.
    public enum Event: Sendable {
        /// A zone is new, or something in it has changed (rule FD2).
        case recordZoneChanged(RecordZone.ID)
        /// A zone is gone, and why (rule FD3).
        case recordZoneDeleted(DatabaseChanges.Deletion)
        /// A request is complete, the last one included. The token covers all that came before (rule FD5).
        case changeTokenUpdated(DatabaseChangeToken)
        /// The operation is done. What came before an error stays valid, as does the latest token.
        case completed(Result<Completion, ChangeFeedError>)
    }

    /// Runs the operation.
    public func events(from database: any RecordDatabase) -> Events {
        Events(operation: self, database: database)
    }

    /// The events of one run. It does not throw: errors are events.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = Event
        /// Errors are events.
        public typealias Failure = Never

        let operation: FetchDatabaseChangesOperation
        let database: any RecordDatabase

        /// Starts a run.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(operation: operation, database: database)
        }
    }
}

extension FetchDatabaseChangesOperation.Events {
    /// A run under way.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private typealias Operation = FetchDatabaseChangesOperation

        private let database: any RecordDatabase
        private let fetchAllChanges: Bool
        /// The request that is to be made next; nil once the operation is done.
        private var request: DatabaseChangesRequest?
        /// The events of the latest page that have not been taken.
        private var events: ArraySlice<Operation.Event> = []

        init(operation: FetchDatabaseChangesOperation, database: any RecordDatabase) {
            self.database = database
            fetchAllChanges = operation.fetchAllChanges
            request = DatabaseChangesRequest(
                since: operation.previousServerChangeToken, resultsLimit: operation.resultsLimit)
        }

        /// The next event; nil after the operation's completion.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> FetchDatabaseChangesOperation.Event? {
            while events.isEmpty {
                guard let request else { return nil }
                do throws(ChangeFeedError) {
                    if Task.isCancelled { throw .cancelled }
                    try take(try await database.databaseChanges(request), of: request)
                } catch {
                    self.request = nil
                    events = [.completed(.failure(error))]
                }
            }
            return events.popFirst()
        }

        private mutating func take(
            _ page: DatabaseChanges, of request: DatabaseChangesRequest
        ) throws(ChangeFeedError) {
            let goesOn = page.moreComing && fetchAllChanges
            if goesOn, page.changeToken == request.since { throw .noProgress(zoneID: nil) }
            var events = page.changes.map(Operation.Event.init)
            events.append(.changeTokenUpdated(page.changeToken))
            if goesOn {
                self.request?.since = page.changeToken
            } else {
                self.request = nil
                events.append(
                    .completed(
                        .success(.init(changeToken: page.changeToken, moreComing: page.moreComing))))
            }
            self.events = events[...]
        }
    }
}

extension FetchDatabaseChangesOperation.Event {
    fileprivate init(_ change: DatabaseChanges.Change) {
        switch change {
        case .modified(let zoneID): self = .recordZoneChanged(zoneID)
        case .deleted(let deletion): self = .recordZoneDeleted(deletion)
        }
    }
}
