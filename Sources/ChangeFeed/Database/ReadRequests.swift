/// Asks what has changed in a database.
public struct DatabaseChangesRequest: Sendable {
    /// Where the last fetch ended; nil reads from the beginning (rule T3).
    public var since: DatabaseChangeToken?
    /// The most items a page may have, modifications and deletions together; nil or 0 leaves it to the server, which
    /// may also choose fewer (rule 6.3.3). Negative is an error.
    public var resultsLimit: Int?

    /// The user under whom the request is meant; nil for whoever is signed in. It fails with `notAuthenticated` if that
    /// is somebody else by then, so that nothing of one user is ever seen or written by another (section 6.9a).
    public var ifUser: String?

    /// A request from its parts.
    public init(since: DatabaseChangeToken? = nil, resultsLimit: Int? = nil) {
        self.since = since
        self.resultsLimit = resultsLimit
    }
}

/// Asks what has changed in a zone.
public struct ZoneChangesRequest: Sendable {
    /// The zone.
    public var zoneID: RecordZone.ID
    /// Where the last fetch ended; nil reads from the beginning (rule T3).
    public var since: ZoneChangeToken?
    /// The keys to fetch: nil for all, empty for system fields only (rule FZ3).
    public var desiredKeys: [String]?
    /// The most items a page may have, modifications and deletions together; nil or 0 leaves it to the server, which
    /// may also choose fewer (rule 6.3.3). Negative is an error.
    public var resultsLimit: Int?

    /// The user under whom the request is meant; nil for whoever is signed in. It fails with `notAuthenticated` if that
    /// is somebody else by then, so that nothing of one user is ever seen or written by another (section 6.9a).
    public var ifUser: String?

    /// A request from its parts.
    public init(
        zoneID: RecordZone.ID, since: ZoneChangeToken? = nil, desiredKeys: [String]? = nil, resultsLimit: Int? = nil
    ) {
        self.zoneID = zoneID
        self.since = since
        self.desiredKeys = desiredKeys
        self.resultsLimit = resultsLimit
    }
}

/// Asks for records by id.
public struct RecordsRequest: Sendable {
    /// The records.
    public var recordIDs: [Record.ID]
    /// The keys to fetch: nil for all, empty for system fields only (rule FZ3).
    public var desiredKeys: [String]?

    /// The user under whom the request is meant; nil for whoever is signed in. It fails with `notAuthenticated` if that
    /// is somebody else by then, so that nothing of one user is ever seen or written by another (section 6.9a).
    public var ifUser: String?

    /// A request from its parts.
    public init(recordIDs: [Record.ID], desiredKeys: [String]? = nil) {
        self.recordIDs = recordIDs
        self.desiredKeys = desiredKeys
    }
}

/// Asks for zones.
public struct RecordZonesRequest: Sendable {
    /// The zones; nil for all that exist.
    public var zoneIDs: [RecordZone.ID]?

    /// A request from its parts.
    public init(zoneIDs: [RecordZone.ID]? = nil) {
        self.zoneIDs = zoneIDs
    }
}
