import ChangeFeed

/// A client of the feed that keeps the tokens of the database and of each zone.
struct FeedFollower {
    private let database: Database
    private var databaseToken: DatabaseChangeToken?
    private var zoneTokens: [RecordZone.ID: ZoneChangeToken] = [:]

    /// Makes the zones, each with the notes, and reads everything.
    init(of database: Database, zoneNames: [String], notes: [Note]) async throws {
        self.database = database
        for zoneName in zoneNames {
            let zoneID = RecordZone.ID(zoneName: zoneName)
            try await database.save(RecordZone(zoneID: zoneID))
            _ = try await FeedZone(database: database, zoneID: zoneID).write(notes)
        }
        for try await page in database.databaseChangePages(since: nil) {
            databaseToken = page.changeToken
            for zoneID in page.modifications {
                zoneTokens[zoneID] = try await FeedZone(database: database, zoneID: zoneID).latestToken()
            }
        }
    }

    func change(_ name: String, in zoneName: String, to viewCount: Int64) async throws {
        let zoneID = RecordZone.ID(zoneName: zoneName)
        try await FeedZone(database: database, zoneID: zoneID).change(name, to: viewCount)
    }

    /// Learns which zones have changed, and what has changed in them.
    mutating func fetch() async throws -> Sample {
        let watch = Stopwatch()
        var sum: Int64 = 0
        let zones = try await database.databaseChanges(since: databaseToken)
        for case .modified(let zoneID) in zones.changes {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: zoneTokens[zoneID])
            sum &+= page.sumOfViewCounts
            zoneTokens[zoneID] = page.changeToken
        }
        databaseToken = zones.changeToken
        return Sample(seconds: watch.seconds, checksum: sum)
    }
}
