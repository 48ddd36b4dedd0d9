import ChangeFeed
import XCTest

/// Rules Z2, N9 and FZ1: what has no change tracking says so, and is never half in the feed (B08).
final class UntrackedTests: XCTestCase {
    func testZ2_aFetchOfTheDefaultZoneIsRefused() async throws {
        try await forEachStore { feed in
            try await feed.save("a", in: .default)
            await expectError(.invalidArguments, zoneID: .default, rule: "Z2") {
                try await feed.database.recordZoneChanges(inZoneWith: .default, since: nil)
            }
        }
    }

    func testZ2_aFetchOfTheDefaultZoneIsRefusedBeforeTheFirstWriteToo() async throws {
        try await forEachStore { feed in
            await expectError(.invalidArguments, zoneID: .default, rule: "Z2") {
                try await feed.database.recordZoneChanges(inZoneWith: .default, since: nil)
            }
        }
    }

    func testZ2_theDefaultZoneHasNoCapabilitiesAndACustomZoneHas() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: .default)
            let untracked = try await feed.database.recordZone(for: .default)
            let tracked = try await feed.database.recordZone(for: zone)
            XCTAssertEqual(untracked.capabilities, [])
            XCTAssertTrue(tracked.capabilities.isSuperset(of: [.fetchChanges, .atomic]))
        }
    }

    /// A client fetches each zone that the database's feed names; this one it could not.
    func testZ2_theDatabaseFeedDoesNotNameAZoneThatCannotBeFetched() async throws {
        try await forEachStore { feed in
            let token = try await feed.databaseToken()
            try await feed.save("a", in: .default)
            try await feed.makeZone()
            try await feed.save("b", in: .default)

            let first = try await feed.database.databaseChanges(since: nil)
            let later = try await feed.database.databaseChanges(since: token)

            XCTAssertEqual(first.story, ["+Notes"])
            XCTAssertEqual(later.story, ["+Notes"])
        }
    }

    func testZ2_theDefaultZoneTakesNoPlaceInAPageOfTheDatabase() async throws {
        try await forEachStore { feed in
            for name in ["A", "B"] { try await feed.makeZone(name) }
            try await feed.save("a", in: .default)
            let pages = try await feed.databasePages(limit: 1)
            XCTAssertEqual(pages.map(\.story), [["+A"], ["+B"]])
        }
    }

    func testFZ1_thePublicDatabaseHasNoFeed() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: FeedFixture.userID)
            await expectError(.badDatabase, rule: "FZ1") { try await database.databaseChanges(since: nil) }
            await expectError(.badDatabase, zoneID: .default, rule: "FZ1") {
                try await database.recordZoneChanges(inZoneWith: .default, since: nil)
            }
        }
    }

    func testN9_thePublicDatabaseHasTheDefaultZoneOnly() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: FeedFixture.userID)
            let zone = RecordZone.ID(zoneName: "Notes")
            await expectError(.badDatabase, zoneID: zone, rule: "N9") {
                try await database.save(RecordZone(zoneID: zone))
            }
            let record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
            try await database.save(record)
            let saved = try await database.record(for: record.recordID)
            XCTAssertEqual(saved.recordID, record.recordID)
        }
    }

    func testFZ1_aTokenOfThePrivateDatabaseDoesNotOpenThePublicOne() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            let database = feed.container.database(.public, for: FeedFixture.userID)
            await expectError(.badDatabase, zoneID: zone, rule: "FZ1") {
                try await database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }
}
