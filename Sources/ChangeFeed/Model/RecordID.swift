#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Record {
    /// A record's identity: its name within its zone (rule N4). It never changes while the record lives.
    public struct ID: Sendable, Codable {
        /// The record's name: ASCII, 1 to 255 characters, not beginning with `_` (rule N1). Checked when the record
        /// is saved, not here.
        public let recordName: String
        /// The zone that the record is in.
        public let zoneID: RecordZone.ID

        /// An identity from a name and a zone.
        public init(recordName: String, zoneID: RecordZone.ID = .default) {
            self.recordName = recordName
            self.zoneID = zoneID
        }

        /// An identity with a fresh UUID for a name.
        public init(zoneID: RecordZone.ID = .default) {
            self.init(recordName: UUID().uuidString, zoneID: zoneID)
        }
    }
}

extension Record.ID: Hashable, CustomStringConvertible {
    /// Whether name and zone are the same bytes.
    @inline(__always)
    public static func == (left: Record.ID, right: Record.ID) -> Bool {
        sameBytes(left.recordName, right.recordName) && left.zoneID == right.zoneID
    }

    /// Hashes name and zone.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(recordName)
        hasher.combine(zoneID)
    }

    /// The zone and the name; long names are cut.
    public var description: String { "\(zoneID)/\(shown(recordName))" }
}
