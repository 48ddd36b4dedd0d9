#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A place on earth, with what is known of it. Numbers are kept as given, whatever they are.
public struct Location: Sendable {
    /// Degrees north.
    public var latitude: Double
    /// Degrees east.
    public var longitude: Double
    /// Metres above sea level.
    public var altitude: Double?
    /// Radius of uncertainty in metres.
    public var horizontalAccuracy: Double?
    /// Uncertainty of the altitude in metres.
    public var verticalAccuracy: Double?
    /// When the place was determined.
    public var timestamp: Date?

    /// A place from its coordinates in degrees.
    public init(
        latitude: Double,
        longitude: Double,
        altitude: Double? = nil,
        horizontalAccuracy: Double? = nil,
        verticalAccuracy: Double? = nil,
        timestamp: Date? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.timestamp = timestamp
    }

    /// All six numbers by their bit patterns, for equality and for the codec.
    var bitPatterns: [UInt64?] {
        [
            latitude.bitPattern, longitude.bitPattern, altitude?.bitPattern, horizontalAccuracy?.bitPattern,
            verticalAccuracy?.bitPattern, timestamp?.timeIntervalSinceReferenceDate.bitPattern,
        ]
    }
}

extension Location: Hashable {
    /// Whether all numbers have the same bits: NaN equals itself, 0 and -0 differ, as in every store.
    public static func == (left: Location, right: Location) -> Bool {
        left.bitPatterns == right.bitPatterns
    }

    /// Hashes the bits of all numbers.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bitPatterns)
    }
}
