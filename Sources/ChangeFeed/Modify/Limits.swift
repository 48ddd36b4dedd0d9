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
    /// The most records that may have a `deleteSelf` reference to one (rule R12).
    public var deleteSelfReferences: Int
    /// The most bytes of one asset.
    public var assetBytes: Int
    /// The most items of one batch of a sync engine.
    public var itemsPerEngineBatch: Int
    /// The most characters of the name of a record, zone or owner, of a record type and of a key (rules N1 to N6).
    public var nameCharacters: Int

    /// CloudKit's numbers.
    public static let cloudKit = Limits(
        itemsPerRequest: 400,
        bytesPerRequest: 2_000_000,
        recordBytes: 1_000_000,
        resultsPerPage: 200,
        bytesPerPage: 2_000_000,
        deleteSelfReferences: 750,
        assetBytes: 50_000_000,
        itemsPerEngineBatch: 250,
        nameCharacters: 255
    )

    /// Wider bounds for a server of one's own.
    public static let relaxed = Limits(
        itemsPerRequest: 10_000,
        bytesPerRequest: 64_000_000,
        recordBytes: 16_000_000,
        resultsPerPage: 5_000,
        bytesPerPage: 16_000_000,
        deleteSelfReferences: 1_000_000,
        assetBytes: 4_000_000_000,
        itemsPerEngineBatch: 10_000,
        nameCharacters: 1_024
    )

    /// Bounds from all their parts. A container takes every one below 1 for 1.
    public init(
        itemsPerRequest: Int, bytesPerRequest: Int, recordBytes: Int, resultsPerPage: Int, bytesPerPage: Int,
        deleteSelfReferences: Int, assetBytes: Int, itemsPerEngineBatch: Int, nameCharacters: Int
    ) {
        self.itemsPerRequest = itemsPerRequest
        self.bytesPerRequest = bytesPerRequest
        self.recordBytes = recordBytes
        self.resultsPerPage = resultsPerPage
        self.bytesPerPage = bytesPerPage
        self.deleteSelfReferences = deleteSelfReferences
        self.assetBytes = assetBytes
        self.itemsPerEngineBatch = itemsPerEngineBatch
        self.nameCharacters = nameCharacters
    }

    /// With every bound at least 1: a feed without room for one item could not go on.
    var atLeastOne: Limits {
        Limits(
            itemsPerRequest: max(1, itemsPerRequest),
            bytesPerRequest: max(1, bytesPerRequest),
            recordBytes: max(1, recordBytes),
            resultsPerPage: max(1, resultsPerPage),
            bytesPerPage: max(1, bytesPerPage),
            deleteSelfReferences: max(1, deleteSelfReferences),
            assetBytes: max(1, assetBytes),
            itemsPerEngineBatch: max(1, itemsPerEngineBatch),
            nameCharacters: max(1, nameCharacters)
        )
    }
}
