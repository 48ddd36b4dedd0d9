/// A user's standing wish to hear of changes (section 1.11).
///
/// It belongs to the user who saved it, lives in the server's store until it is deleted, and yields
/// ``ChangeNotification``s. There are none in the public database, because query subscriptions are not offered.
public struct Subscription: Sendable, Codable {
    /// Which changes are meant (rule SB1).
    public enum Kind: Sendable, Hashable, Codable {
        /// Those of all zones of the private database, the default zone left out.
        case database
        /// Those of one custom zone. The subscription outlives it and means any later zone of the same name.
        case recordZone(RecordZone.ID)
    }

    /// The subscription's name, with the grammar of record names (rule N1): unique within the user's database. Checked
    /// when the subscription is saved, not here.
    public let subscriptionID: String
    /// Which changes are meant.
    public let kind: Kind
    /// Only changes of records of this type; nil for all. A zone that is created or deleted as a whole is told of
    /// whatever the type.
    public var recordType: String?
    /// Whether the device that made a change hears nothing of it (rule SB3).
    public var excludesOriginatingDevice: Bool

    /// A subscription from its parts.
    public init(
        subscriptionID: String, kind: Kind, recordType: String? = nil, excludesOriginatingDevice: Bool = false
    ) {
        self.subscriptionID = subscriptionID
        self.kind = kind
        self.recordType = recordType
        self.excludesOriginatingDevice = excludesOriginatingDevice
    }

    /// Whether a subscriber is to be told of what was written in a zone.
    func matches(_ change: WrittenZone) -> Bool {
        switch kind {
        case .database where change.zoneID.isDefault: return false
        case .recordZone(let zoneID) where zoneID != change.zoneID: return false
        case .database, .recordZone: break
        }
        guard let recordType, !change.recordTypes.isEmpty else { return true }
        return change.recordTypes.contains(recordType)
    }
}

extension Subscription: Hashable {
    /// Whether all parts are the same; names are compared by their bytes.
    public static func == (left: Subscription, right: Subscription) -> Bool {
        sameBytes(left.subscriptionID, right.subscriptionID) && left.kind == right.kind
            && left.recordType.map(ByteString.init) == right.recordType.map(ByteString.init)
            && left.excludesOriginatingDevice == right.excludesOriginatingDevice
    }

    /// Hashes what tells subscriptions of one user apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(subscriptionID)
        hasher.combine(kind)
    }
}

// MARK: - The stored form

extension Subscription {
    private static let formatVersion: UInt8 = 1
    private static let excludesFlag: UInt8 = 1
    private static let typeFlag: UInt8 = 2

    /// The subscription as a store keeps it, under its id.
    var storedBytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Subscription.formatVersion)
        writer.byte(
            (excludesOriginatingDevice ? Subscription.excludesFlag : 0)
                | (recordType == nil ? 0 : Subscription.typeFlag))
        switch kind {
        case .database:
            writer.byte(UInt8(ChangeNotification.Kind.database.rawValue))
        case .recordZone(let zoneID):
            writer.byte(UInt8(ChangeNotification.Kind.recordZone.rawValue))
            writer.string(zoneID.zoneName)
            writer.string(zoneID.ownerName)
        }
        if let recordType { writer.string(recordType) }
        return writer.bytes
    }

    /// A subscription from its stored form. Total: any other bytes throw.
    init(subscriptionID: String, storedBytes: [UInt8]) throws(MalformedBytes) {
        self = try storedBytes.decode { (reader) throws(MalformedBytes) in
            guard try reader.byte() == Subscription.formatVersion else {
                throw MalformedBytes(reason: "has an unknown version")
            }
            let flags = try reader.byte()
            guard flags <= Subscription.excludesFlag | Subscription.typeFlag else {
                throw MalformedBytes(reason: "has unknown flags")
            }
            let kind: Kind
            switch ChangeNotification.Kind(rawValue: Int(try reader.byte())) {
            case .database:
                kind = .database
            case .recordZone:
                let zoneName = try reader.string()
                kind = .recordZone(RecordZone.ID(zoneName: zoneName, ownerName: try reader.string()))
            case nil:
                throw MalformedBytes(reason: "has an unknown kind")
            }
            let recordType = flags & Subscription.typeFlag == 0 ? nil : try reader.string()
            guard reader.isAtEnd else { throw MalformedBytes(reason: "goes on after its end") }
            return Subscription(
                subscriptionID: subscriptionID, kind: kind, recordType: recordType,
                excludesOriginatingDevice: flags & Subscription.excludesFlag != 0)
        }
    }
}
