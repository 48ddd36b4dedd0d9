#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Fetches what has changed in several zones, one after the other (rules FZ1 to FZ16).
///
/// A value that says what to fetch; ``events(from:)`` runs it, as often as one likes. A request is made only when its
/// events are awaited, so a slow reader is not run over.
public struct FetchRecordZoneChangesOperation: Sendable {
    /// How one zone is fetched.
    public struct ZoneConfiguration: Sendable {
        /// Where the last fetch ended; nil reads from the beginning.
        public var previousServerChangeToken: ZoneChangeToken?
        /// The most items of a request; nil or 0 leaves it to the server (rule FZ4).
        public var resultsLimit: Int?
        /// The keys to fetch: nil for all, empty for system fields only (rule FZ3).
        public var desiredKeys: [String]?

        /// A configuration from its parts.
        public init(
            previousServerChangeToken: ZoneChangeToken? = nil, resultsLimit: Int? = nil, desiredKeys: [String]? = nil
        ) {
            self.previousServerChangeToken = previousServerChangeToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
        }
    }

    /// The zones, in the order in which they are fetched. One that is named twice is fetched once.
    public var recordZoneIDs: [RecordZone.ID]
    /// How each is fetched. A zone without a configuration is fetched from the beginning (rule FZ2).
    public var configurationsByRecordZoneID: [RecordZone.ID: ZoneConfiguration]
    /// Whether each zone is fetched until nothing is left; if not, one request is made for each (rules FZ6, FZ7).
    public var fetchAllChanges: Bool

    /// An operation from its parts.
    public init(
        recordZoneIDs: [RecordZone.ID],
        configurationsByRecordZoneID: [RecordZone.ID: ZoneConfiguration] = [:],
        fetchAllChanges: Bool = true
    ) {
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
        self.fetchAllChanges = fetchAllChanges
    }

    /// How far a zone was fetched (rule FZ11).
    public struct ZoneCompletion: Sendable, Hashable {
        /// Where the next fetch goes on.
        public let changeToken: ZoneChangeToken
        /// What the most recent modify request on the zone carried (rule FZ12).
        public let clientChangeTokenData: Data?
        /// Whether there is more to fetch; never if all changes were asked for.
        public let moreComing: Bool

        /// A completion from its parts.
        public init(changeToken: ZoneChangeToken, clientChangeTokenData: Data?, moreComing: Bool) {
            self.changeToken = changeToken
            self.clientChangeTokenData = clientChangeTokenData
            self.moreComing = moreComing
        }
    }

    /// What happens while the operation runs, in this order for each zone: its records, with tokens between the
    /// batches, then its completion.
    public enum Event: Sendable {
        /// A record is new or has changed; or it has, but cannot be given (rule FZ10).
        case recordChanged(Record.ID, Result<Record, ChangeFeedError>)
        /// A record is gone (rule FZ9).
        case recordDeleted(ZoneChanges.Deletion)
        /// A batch of a zone is complete and another follows; never after the last, whose token is in the completion
        /// (rule FZ8). The token covers all that came before (rule T6).
        case changeTokenUpdated(RecordZone.ID, ZoneChangeToken, clientChangeTokenData: Data?)
        /// A zone is done. What came before an error stays valid, as does its latest token.
        case zoneCompleted(RecordZone.ID, Result<ZoneCompletion, ChangeFeedError>)
        /// The operation is done: `partialFailure` with the errors by zone if there were any (rule FZ13), or
        /// `operationCancelled`.
        case completed(Result<Void, ChangeFeedError>)
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

        let operation: FetchRecordZoneChangesOperation
        let database: any RecordDatabase

        /// Starts a run.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(operation: operation, database: database)
        }
    }
}

extension FetchRecordZoneChangesOperation.Events {
    /// A run under way.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private typealias Operation = FetchRecordZoneChangesOperation

        private let database: any RecordDatabase
        private let fetchAllChanges: Bool
        /// The requests that are still to be made, the next one last: one for each zone that is not done.
        private var requests: [ZoneChangesRequest]
        private var errors: [ChangeFeedError.ItemID: ChangeFeedError] = [:]
        private var isCancelled = false
        /// The events of the latest page that have not been taken.
        private var events: ArraySlice<Operation.Event> = []
        private var isCompleted = false

        init(operation: FetchRecordZoneChangesOperation, database: any RecordDatabase) {
            self.database = database
            fetchAllChanges = operation.fetchAllChanges
            var seen: Set<RecordZone.ID> = []
            requests = operation.recordZoneIDs.filter { seen.insert($0).inserted }.reversed().map { zoneID in
                let configuration = operation.configurationsByRecordZoneID[zoneID] ?? .init()
                return ZoneChangesRequest(
                    zoneID: zoneID,
                    since: configuration.previousServerChangeToken,
                    desiredKeys: configuration.desiredKeys,
                    resultsLimit: configuration.resultsLimit
                )
            }
        }

        /// The next event; nil after the operation's completion.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async -> FetchRecordZoneChangesOperation.Event? {
            while events.isEmpty {
                guard let request = requests.popLast() else { return complete() }
                do throws(ChangeFeedError) {
                    if Task.isCancelled { throw .cancelled }
                    try take(try await database.recordZoneChanges(request), of: request)
                } catch {
                    isCancelled = isCancelled || error.code == .operationCancelled
                    errors[.zone(request.zoneID)] = error
                    events = [.zoneCompleted(request.zoneID, .failure(error))]
                }
            }
            return events.popFirst()
        }

        private mutating func take(_ page: ZoneChanges, of request: ZoneChangesRequest) throws(ChangeFeedError) {
            let goesOn = page.moreComing && fetchAllChanges
            if goesOn, page.changeToken == request.since { throw .noProgress(zoneID: request.zoneID) }
            var events = page.changes.map(Operation.Event.init)
            if goesOn {
                events.append(
                    .changeTokenUpdated(
                        request.zoneID, page.changeToken, clientChangeTokenData: page.clientChangeTokenData))
                var next = request
                next.since = page.changeToken
                requests.append(next)
            } else {
                let completion = Operation.ZoneCompletion(
                    changeToken: page.changeToken,
                    clientChangeTokenData: page.clientChangeTokenData,
                    moreComing: page.moreComing
                )
                events.append(.zoneCompleted(request.zoneID, .success(completion)))
            }
            self.events = events[...]
        }

        private mutating func complete() -> Operation.Event? {
            if isCompleted { return nil }
            isCompleted = true
            if isCancelled { return .completed(.failure(.cancelled)) }
            if errors.isEmpty { return .completed(.success(())) }
            return .completed(
                .failure(
                    ChangeFeedError(
                        .partialFailure,
                        "\(errors.count) of the zones could not be fetched to the end: see the error of each.",
                        rule: "FZ13", partialErrors: errors)))
        }
    }
}

extension FetchRecordZoneChangesOperation.Event {
    fileprivate init(_ change: ZoneChanges.Change) {
        switch change {
        case .modified(let record): self = .recordChanged(record.recordID, .success(record))
        case .failed(let recordID, let error): self = .recordChanged(recordID, .failure(error))
        case .deleted(let deletion): self = .recordDeleted(deletion)
        }
    }
}
