/// Every bound of the feed as a value (sections 1.13 and 6.12).
///
/// A request over a bound fails with `limitExceeded`; the error's ``ChangeFeedError/Limit`` names the bound by its
/// property's name here.
public struct Limits: Sendable, Hashable {
    /// The most items, saves and deletions together, of one modify request, and the most ids of one lookup.
    public var itemsPerRequest: Int
    /// The most bytes of changed fields that one modify request may carry.
    public var bytesPerRequest: Int
    /// The most bytes that the keys and values of one record may have (rule R4).
    public var recordBytes: Int
    /// The most items of a page of changes.
    public var resultsPerPage: Int
    /// The bytes after which a page of changes ends early. A larger item travels alone (rule 6.3.4).
    public var bytesPerPage: Int
    /// The most characters of the name of a record, zone or owner, of a record type and of a key (rules N1 to N6).
    public var nameCharacters: Int

    /// CloudKit's numbers.
    public static let cloudKit = Limits(
        itemsPerRequest: 400,
        bytesPerRequest: 2_000_000,
        recordBytes: 1_000_000,
        resultsPerPage: 200,
        bytesPerPage: 2_000_000,
        nameCharacters: 255
    )

    /// Wider bounds for a server of one's own.
    public static let relaxed = Limits(
        itemsPerRequest: 10_000,
        bytesPerRequest: 64_000_000,
        recordBytes: 16_000_000,
        resultsPerPage: 5_000,
        bytesPerPage: 16_000_000,
        nameCharacters: 1_024
    )

    /// Bounds from all their parts. Every one is at least 1.
    public init(
        itemsPerRequest: Int, bytesPerRequest: Int, recordBytes: Int, resultsPerPage: Int, bytesPerPage: Int,
        nameCharacters: Int
    ) {
        self.itemsPerRequest = itemsPerRequest
        self.bytesPerRequest = bytesPerRequest
        self.recordBytes = recordBytes
        self.resultsPerPage = resultsPerPage
        self.bytesPerPage = bytesPerPage
        self.nameCharacters = nameCharacters
    }
}
