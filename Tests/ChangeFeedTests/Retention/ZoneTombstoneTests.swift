import ChangeFeed
import Foundation
import XCTest

/// Sections 6.2 and 6.6: zones that were deleted, and when they are forgotten.
final class ZoneTombstoneTests: XCTestCase {
    func test6_6_aDeletedZoneLeavesATombstoneUnderTheSamePolicy() async throws {
        let feed = FeedFixture {
            $0.retention = RetentionPolicy(maximumAge: .seconds(100), maximumTombstonesPerZone: nil)
        }
        let (old, young) = (try await feed.makeZone("Old"), try await feed.makeZone("Young"))
        try await feed.makeZone("Living")
        var tokens = [try await feed.databaseToken()]
        try await feed.deleteZone(old)
        tokens.append(try await feed.databaseToken())
        feed.clock.advance(by: 101)
        try await feed.container.purgeZone(young, for: FeedFixture.userID)
        tokens.append(try await feed.databaseToken())

        let step = try await feed.compact()

        XCTAssertEqual(step.zoneTombstones, 1)
        await expectError(.changeTokenExpired, detail: .expired, rule: "6.2") {
            try await feed.database.databaseChanges(since: tokens[0])
        }
        for (token, story) in zip(tokens.dropFirst(), [["-Young (purged)"], []]) {
            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, story)
        }
    }

    func test6_6_theDeletionInAZonesPastGoesUnderTheSamePolicy() async throws {
        let feed = FeedFixture {
            $0.retention = RetentionPolicy(maximumAge: .seconds(100), maximumTombstonesPerZone: nil)
        }
        let zone = try await feed.makeZone()
        let before = try await feed.databaseToken()
        try await feed.deleteZone(zone)
        let between = try await feed.databaseToken()
        try await feed.makeZone()

        // Young, the past is told
        var step = try await feed.compact()
        XCTAssertEqual(step.total, 0)
        let told = try await feed.database.databaseChanges(since: before)
        XCTAssertEqual(told.story, ["-Notes (deleted)", "+Notes"])

        // Old, it is gone, and whoever would have needed it is told so
        feed.clock.advance(by: 101)
        step = try await feed.compact()
        XCTAssertEqual(step.zoneTombstones, 1)
        await expectError(.changeTokenExpired, detail: .expired, rule: "6.2") {
            try await feed.database.databaseChanges(since: before)
        }
        let page = try await feed.database.databaseChanges(since: between)
        XCTAssertEqual(page.story, ["+Notes"])
    }
}
