import ChangeFeed

extension SyncEngine {
    /// What a fetch is to ask for.
    public struct FetchChangesOptions: Sendable, Hashable, Codable {
        /// Which zones.
        public enum Scope: Sendable, Hashable, Codable {
            /// All that have changed.
            case all
            /// All that have changed but these.
            case allExcluding(Set<RecordZone.ID>)
            /// These, whether they are known to have changed or not (section 6.8).
            case zoneIDs(Set<RecordZone.ID>)

            /// Whether a zone is meant.
            public func contains(_ zoneID: RecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let excluded): !excluded.contains(zoneID)
                case .zoneIDs(let included): included.contains(zoneID)
                }
            }
        }

        /// Which zones.
        public var scope: Scope
        /// Zones to be fetched first, in this order; those without changes are passed over (rule EO12).
        public var prioritizedZoneIDs: [RecordZone.ID]

        /// Options from their parts.
        public init(scope: Scope = .all, prioritizedZoneIDs: [RecordZone.ID] = []) {
            self.scope = scope
            self.prioritizedZoneIDs = prioritizedZoneIDs
        }
    }

    /// What is to be sent.
    public struct SendChangesOptions: Sendable, Hashable, Codable {
        /// Which changes.
        public enum Scope: Sendable, Hashable, Codable {
            /// All.
            case all
            /// All but those of these zones.
            case allExcluding(Set<RecordZone.ID>)
            /// Those of these zones; of none, if there are none (rule P13).
            case zoneIDs(Set<RecordZone.ID>)
            /// Those of these records; of none, if there are none (rule P13). No zone is saved or deleted.
            case recordIDs(Set<Record.ID>)

            /// Whether a record's changes are meant.
            public func contains(_ recordID: Record.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let excluded): !excluded.contains(recordID.zoneID)
                case .zoneIDs(let included): included.contains(recordID.zoneID)
                case .recordIDs(let included): included.contains(recordID)
                }
            }

            /// Whether a pending change of a record is meant.
            public func contains(_ change: PendingRecordZoneChange) -> Bool { contains(change.recordID) }

            /// Whether a pending change of a zone is meant.
            public func contains(_ zoneID: RecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let excluded): !excluded.contains(zoneID)
                case .zoneIDs(let included): included.contains(zoneID)
                case .recordIDs: false
                }
            }
        }

        /// Which changes.
        public var scope: Scope

        /// Options from their parts.
        public init(scope: Scope = .all) {
            self.scope = scope
        }
    }

    /// Who wanted a fetch or a send.
    public enum Reason: Int, Sendable, Hashable, Codable {
        /// The engine, because of a trigger.
        case scheduled = 0
        /// The app.
        case manual = 1
    }

    /// A fetch that is under way.
    public struct FetchChangesContext: Sendable, Hashable, Codable {
        /// Who wanted it.
        public let reason: Reason
        /// What it asks for.
        public let options: FetchChangesOptions
    }
}

extension SyncEngine.FetchChangesOptions {
    /// Options that ask for all that either asks for.
    func union(_ other: Self) -> Self {
        var first = prioritizedZoneIDs
        for zoneID in other.prioritizedZoneIDs where !first.contains(zoneID) { first.append(zoneID) }
        return Self(scope: scope.union(other.scope), prioritizedZoneIDs: first)
    }
}

extension SyncEngine.FetchChangesOptions.Scope {
    func union(_ other: Self) -> Self {
        switch (self, other) {
        case (.all, _), (_, .all): .all
        case (.allExcluding(let left), .allExcluding(let right)): .allExcluding(left.intersection(right))
        case (.allExcluding(let excluded), .zoneIDs(let included)),
            (.zoneIDs(let included), .allExcluding(let excluded)):
            .allExcluding(excluded.subtracting(included))
        case (.zoneIDs(let left), .zoneIDs(let right)): .zoneIDs(left.union(right))
        }
    }

    /// Whether whoever asks for `other` is served by this. A list of zones is asked for zone by zone, changed or not,
    /// which asking for everything that has changed does not do; but it finds the same changes.
    func covers(_ other: Self) -> Bool { union(other) == self }
}

extension SyncEngine.SendChangesOptions.Scope {
    func union(_ other: Self) -> Self {
        switch (self, other) {
        case (.all, _), (_, .all): return .all
        case (.allExcluding(let left), .allExcluding(let right)): return .allExcluding(left.intersection(right))
        case (.zoneIDs(let left), .zoneIDs(let right)): return .zoneIDs(left.union(right))
        case (.recordIDs(let left), .recordIDs(let right)): return .recordIDs(left.union(right))
        default: return self == other ? self : .all
        }
    }

    /// Whether nothing can be meant (rule P13).
    var isEmpty: Bool {
        switch self {
        case .all, .allExcluding: false
        case .zoneIDs(let zoneIDs): zoneIDs.isEmpty
        case .recordIDs(let recordIDs): recordIDs.isEmpty
        }
    }
}
