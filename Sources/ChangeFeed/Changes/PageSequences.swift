/// The pages of a zone's changes, one after the other until nothing is left.
///
/// Each page is asked for when it is awaited: what has not been iterated has not been fetched. A server that says
/// "more" without moving on ends the sequence with an error rather than a loop.
public struct ZoneChangePages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = ZoneChanges
    /// What the database throws, or `internalError` with the detail `noProgress`.
    public typealias Failure = ChangeFeedError

    let database: any RecordDatabase
    let request: ZoneChangesRequest

    /// Asks for the pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let database: any RecordDatabase
        var request: ZoneChangesRequest?

        /// The next page; nil after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ChangeFeedError) -> ZoneChanges? {
            guard let request else { return nil }
            self.request = nil
            if Task.isCancelled { throw .cancelled }
            let page = try await database.recordZoneChanges(request)
            guard page.moreComing else { return page }
            if page.changeToken == request.since { throw .noProgress(zoneID: request.zoneID) }
            self.request = request
            self.request?.since = page.changeToken
            return page
        }
    }

    /// Starts from the sequence's token.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(database: database, request: request)
    }
}

/// The pages of a database's changes, one after the other until nothing is left. See ``ZoneChangePages``.
public struct DatabaseChangePages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = DatabaseChanges
    /// What the database throws, or `internalError` with the detail `noProgress`.
    public typealias Failure = ChangeFeedError

    let database: any RecordDatabase
    let request: DatabaseChangesRequest

    /// Asks for the pages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let database: any RecordDatabase
        var request: DatabaseChangesRequest?

        /// The next page; nil after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ChangeFeedError) -> DatabaseChanges? {
            guard let request else { return nil }
            self.request = nil
            if Task.isCancelled { throw .cancelled }
            let page = try await database.databaseChanges(request)
            guard page.moreComing else { return page }
            if page.changeToken == request.since { throw .noProgress(zoneID: nil) }
            self.request = request
            self.request?.since = page.changeToken
            return page
        }
    }

    /// Starts from the sequence's token.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(database: database, request: request)
    }
}

extension RecordDatabase {
    /// All pages of a zone's changes since a token; nil reads from the beginning.
    public func recordZoneChangePages(
        inZoneWith zoneID: RecordZone.ID,
        since token: ZoneChangeToken?,
        desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil
    ) -> ZoneChangePages {
        ZoneChangePages(
            database: self,
            request: ZoneChangesRequest(
                zoneID: zoneID, since: token, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
        )
    }

    /// All pages of the database's changes since a token; nil reads from the beginning.
    public func databaseChangePages(
        since token: DatabaseChangeToken?, resultsLimit: Int? = nil
    ) -> DatabaseChangePages {
        DatabaseChangePages(
            database: self, request: DatabaseChangesRequest(since: token, resultsLimit: resultsLimit))
    }
}
