/// How long the feed remembers what was deleted (section 6.6).
///
/// A tombstone is discarded when it is too old or when its zone has too many younger ones; only then do tokens from
/// before it expire. Living records never make a token expire.
public struct RetentionPolicy: Sendable, Hashable {
    /// The age after which tombstones of records and zones, and the outcomes of requests with an id, are discarded;
    /// nil keeps them whatever their age.
    public var maximumAge: Duration?
    /// The most tombstones that a zone keeps; nil keeps any number.
    public var maximumTombstonesPerZone: Int?

    /// Keeps everything for ever.
    public static let forever = RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: nil)
    /// Keeps everything for 90 days.
    public static let standard = RetentionPolicy(maximumAge: .seconds(90 * 86_400), maximumTombstonesPerZone: nil)

    /// A policy from its parts.
    public init(maximumAge: Duration?, maximumTombstonesPerZone: Int?) {
        self.maximumAge = maximumAge
        self.maximumTombstonesPerZone = maximumTombstonesPerZone
    }
}
