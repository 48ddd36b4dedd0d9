#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which of a container's databases is meant.
public enum DatabaseScope: Int, Sendable, Hashable, Codable {
    /// Readable by everybody. Only the default zone, no change tracking (rule N9).
    case `public` = 1
    /// A user's own.
    case `private` = 2
}

/// One database of a store: a scope, and the user it belongs to.
public struct DatabaseID: Sendable, Hashable, Codable {
    /// Which kind of database it is.
    public let scope: DatabaseScope
    /// The user it belongs to; empty for the public database, which belongs to nobody.
    public let userID: String

    /// A user's private database.
    public static func `private`(_ userID: String) -> DatabaseID {
        DatabaseID(scope: .private, userID: userID)
    }

    /// The public database.
    public static let `public` = DatabaseID(scope: .public, userID: "")

    /// A database from its parts, for adapters that keep them in columns.
    public init(scope: DatabaseScope, userID: String) {
        self.scope = scope
        self.userID = userID
    }

    /// Whether both are the same database.
    public static func == (left: DatabaseID, right: DatabaseID) -> Bool {
        left.scope == right.scope && sameBytes(left.userID, right.userID)
    }

    /// Hashes the user, of whose databases there are few.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(userID)
    }
}

/// Names a store for as long as it exists, across copies and restores: 16 random bytes.
public struct StoreID: Sendable, Hashable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// An identity from its halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// A store's own handle of one life of a zone. Deleting a zone and creating it again gives another.
public struct ZoneKey: Sendable, Hashable {
    /// The handle's number; only the store that gave it knows what it means.
    public let rawValue: Int64

    /// A handle from its number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// A zone as stored: one row for each zone name of a database, living or deleted.
public struct ZoneRow: Sendable {
    /// What has become of the zone.
    public enum Life: Sendable, Hashable {
        /// It exists.
        case live
        /// It was deleted; the row is its tombstone.
        case deleted(DatabaseChanges.Deletion.Reason, Date)
    }

    /// A deletion that a later life of the zone has in its past (rule 6.5, "zone deleted, re-created").
    public struct PastDeletion: Sendable, Hashable {
        /// Where the deletion took place.
        public let position: ChangePosition
        /// Why the zone was deleted.
        public let reason: DatabaseChanges.Deletion.Reason
        /// When the zone was deleted.
        public let date: Date

        /// A past deletion from its parts.
        public init(position: ChangePosition, reason: DatabaseChanges.Deletion.Reason, date: Date) {
            self.position = position
            self.reason = reason
            self.date = date
        }
    }

    /// The database that the zone is in.
    public let databaseID: DatabaseID
    /// The zone's identity.
    public let zoneID: RecordZone.ID
    /// The store's handle of this life of the zone.
    public let key: ZoneKey
    /// The position at which this life of the zone was created (rule 6.1.6).
    public let incarnation: ChangePosition
    /// When this life of the zone was created.
    public let creationDate: Date
    /// Living or deleted.
    public var life: Life
    /// The place of the zone in its database's feed: the position of its latest event (rule 6.1.3).
    public var position: ChangePosition
    /// The highest position of a record tombstone that has been discarded (section 6.2).
    public var horizon: ChangePosition
    /// How many bytes the fields of the zone's live records have.
    public var byteCount: Int
    /// The latest deletion of an earlier life.
    public var pastDeletion: PastDeletion?
    /// What the most recent modify request on the zone carried (rule FZ12).
    public var clientChangeTokenData: Data?

    /// A row of a zone that is being created.
    public init(
        databaseID: DatabaseID,
        zoneID: RecordZone.ID,
        key: ZoneKey,
        incarnation: ChangePosition,
        creationDate: Date,
        pastDeletion: PastDeletion?
    ) {
        self.databaseID = databaseID
        self.zoneID = zoneID
        self.key = key
        self.incarnation = incarnation
        self.creationDate = creationDate
        self.pastDeletion = pastDeletion
        life = .live
        position = incarnation
        horizon = .beginning
        byteCount = 0
    }
}

/// Up to where the deletions of a database's zones were discarded: nothing that comes later is missing.
public struct DatabaseHorizons: Sendable, Hashable {
    /// The highest position of a tombstone of a zone that was discarded.
    public var tombstones = ChangePosition.beginning
    /// The highest position of a deletion that was discarded from the past of a zone that lives again. Such a deletion
    /// is told where the zone's present life stands in the feed, which may be anywhere behind it.
    public var pastDeletions = ChangePosition.beginning

    /// Nothing was discarded.
    public init() {}
}

/// What is left of a deleted record.
public final class Tombstone: Sendable {
    /// The record's identity.
    public let recordID: Record.ID
    /// The record's type.
    public let recordType: String
    /// Where the record was deleted.
    public let position: ChangePosition
    /// The tag of the last version.
    public let changeTag: RecordChangeTag?
    /// Why the record was deleted.
    public let reason: ZoneChanges.Deletion.Reason
    /// When the record was deleted.
    public let date: Date

    /// A tombstone from all its parts.
    public init(
        recordID: Record.ID,
        recordType: String,
        position: ChangePosition,
        changeTag: RecordChangeTag?,
        reason: ZoneChanges.Deletion.Reason,
        date: Date
    ) {
        self.recordID = recordID
        self.recordType = recordType
        self.position = position
        self.changeTag = changeTag
        self.reason = reason
        self.date = date
    }
}

/// The one place that a record id has in its zone's feed (rule 6.1.2).
public enum RecordEntry: Sendable {
    /// The record lives, at the position of its latest version.
    case live(RecordVersion)
    /// The record was deleted, at the position of the deletion.
    case tombstone(Tombstone)
    /// The record lives, but what is stored of it cannot be read (rule FZ10).
    case unreadable(Record.ID, ChangePosition, ChangeFeedError)

    /// The entry's place in the feed.
    @inline(__always)
    public var position: ChangePosition {
        switch self {
        case .live(let version): version.position
        case .tombstone(let tombstone): tombstone.position
        case .unreadable(_, let position, _): position
        }
    }
}

/// What a link between two records of a zone does: the index from a target back to those that refer to it.
public enum LinkKind: Int, Sendable, Hashable, CaseIterable {
    /// The source names the target as its parent (rules R13, R14).
    case parent = 1
    /// The source is deleted with the target (rule R11).
    case deleteSelf = 2
}

/// The tables of small things that a store keeps as bytes under a key, in the order of the keys' UTF-8 bytes.
public enum MetaTable: Int, Sendable, Hashable, CaseIterable {
    /// The schema (rule R5): one row.
    case schema = 1
    /// Subscriptions by database and id.
    case subscriptions = 2
    /// Outcomes of requests with an id (section 6.13.6).
    case requests = 3
    /// The same outcomes in the order of their age.
    case requestAges = 4
    /// How many live records refer to an asset's content, by user and content.
    case assets = 5
    /// Contents to which no record refers any more.
    case orphanedAssets = 6
    /// Bytes used, by user.
    case usage = 7
}

/// A point within a write; only the store that gave it knows what its numbers mean.
public struct StoreSavepoint: Sendable, Hashable {
    /// How much had been done.
    public let mark: Int
    /// The last position that had been allocated.
    public let position: ChangePosition

    /// A point from its parts.
    public init(mark: Int, position: ChangePosition) {
        self.mark = mark
        self.position = position
    }
}

/// Whether a scan goes on.
public enum ScanStep: Sendable {
    /// Visit the next entry.
    case next
    /// End the scan.
    case stop
}
