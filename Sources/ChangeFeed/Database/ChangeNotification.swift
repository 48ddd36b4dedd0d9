/// A hint that something has changed: fetch to learn what (rule SB3).
///
/// It carries no data. Hints are coalesced and may be lost on their way: a client that hears nothing must still fetch
/// now and then. It is `Codable`, and ``payload`` is a form that fits into a push.
public struct ChangeNotification: Sendable, Codable {
    /// What kind of subscription the hint is of, with CloudKit's numbers (rule SB2). Queries (1) are not offered, and
    /// read notifications (3) are nobody's any more.
    public enum Kind: Int, Sendable, Hashable, Codable, CaseIterable {
        /// Of one zone.
        case recordZone = 2
        /// Of a whole database.
        case database = 4
    }

    /// The hint's own name, for telling a repeated delivery from another hint.
    public let notificationID: String
    /// The subscription that asked for it.
    public let subscriptionID: String
    /// The database in which something has changed.
    public let databaseScope: DatabaseScope
    /// The zone in which something has changed; nil where a pruned hint stands for several.
    public let zoneID: RecordZone.ID?
    /// What kind of subscription asked for it. A pruned hint may say `database` whatever asked for it: anything may
    /// have changed.
    public let kind: Kind
    /// Whether details were left out to make room: it then stands for any number of changes.
    public let isPruned: Bool

    /// A hint from its parts.
    public init(
        notificationID: String, subscriptionID: String, databaseScope: DatabaseScope, zoneID: RecordZone.ID?,
        kind: Kind, isPruned: Bool
    ) {
        self.notificationID = notificationID
        self.subscriptionID = subscriptionID
        self.databaseScope = databaseScope
        self.zoneID = zoneID
        self.kind = kind
        self.isPruned = isPruned
    }

    /// The same hint without its details.
    package var pruned: ChangeNotification {
        ChangeNotification(
            notificationID: notificationID, subscriptionID: subscriptionID, databaseScope: databaseScope, zoneID: nil,
            kind: kind, isPruned: true)
    }
}

extension ChangeNotification: Hashable {
    /// Whether all parts are the same; names are compared by their bytes.
    public static func == (left: ChangeNotification, right: ChangeNotification) -> Bool {
        sameBytes(left.notificationID, right.notificationID) && sameBytes(left.subscriptionID, right.subscriptionID)
            && left.databaseScope == right.databaseScope && left.zoneID == right.zoneID && left.kind == right.kind
            && left.isPruned == right.isPruned
    }

    /// Hashes the hint's name and its subscription's.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(notificationID)
        hasher.combine(subscriptionID)
    }
}
