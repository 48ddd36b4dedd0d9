#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A zone: a part of a database that is tracked, committed and deleted as a whole.
public struct RecordZone: Sendable, Hashable {
    /// The zone's identity: its name and its owner, both of which take part in equality (rule N3).
    public struct ID: Sendable, Codable {
        /// The zone's name: ASCII, 1 to 255 characters, not beginning with `_`, the default zone's own name aside
        /// (rule N2). Checked when the zone is used, not here.
        public let zoneName: String
        /// The owner's user id, or ``currentUserName`` for "me" (rule N3).
        public let ownerName: String

        /// The owner name that stands for the current user.
        public static let currentUserName = "__defaultOwner__"
        /// The name of the zone that every database has.
        public static let defaultZoneName = "_defaultZone"
        /// The default zone of the current user. It has no capabilities (rule Z2).
        public static let `default` = ID(zoneName: defaultZoneName)

        /// An identity from a name and, unless it is the current user, an owner.
        public init(zoneName: String, ownerName: String = ID.currentUserName) {
            self.zoneName = zoneName
            self.ownerName = ownerName
        }
    }

    /// What a zone can do (rule Z1).
    public struct Capabilities: OptionSet, Sendable, Hashable, Codable {
        /// The bits, with CloudKit's values.
        public let rawValue: Int

        /// Capabilities from their bits.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Changes can be fetched.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// Several records can be committed as one.
        public static let atomic = Capabilities(rawValue: 2)
    }

    /// The zone's identity.
    public let zoneID: ID
    /// What the zone can do; empty until the server has saved it (rule Z1).
    public let capabilities: Capabilities
    /// When the server created this life of the zone; nil until it has.
    public let creationDate: Date?

    /// A zone that is to be saved.
    public init(zoneID: ID) {
        self.init(zoneID: zoneID, capabilities: [], creationDate: nil)
    }

    /// A zone that is to be saved, owned by the current user.
    public init(zoneName: String) {
        self.init(zoneID: ID(zoneName: zoneName))
    }

    /// A zone as a server describes it.
    public init(zoneID: ID, capabilities: Capabilities, creationDate: Date?) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.creationDate = creationDate
    }
}

extension RecordZone.ID: Hashable, CustomStringConvertible {
    /// Whether both names are the same bytes.
    @inline(__always)
    public static func == (left: RecordZone.ID, right: RecordZone.ID) -> Bool {
        sameBytes(left.zoneName, right.zoneName) && sameBytes(left.ownerName, right.ownerName)
    }

    /// Hashes the zone's name; zones of one name and several owners are few.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(zoneName)
    }

    /// The zone's name, and its owner if that is not the current user; long names are cut.
    public var description: String {
        ownerName == RecordZone.ID.currentUserName ? shown(zoneName) : "\(shown(zoneName)):\(shown(ownerName))"
    }

    /// Whether this is a default zone, whoever owns it.
    var isDefault: Bool { sameBytes(zoneName, RecordZone.ID.defaultZoneName) }
}
