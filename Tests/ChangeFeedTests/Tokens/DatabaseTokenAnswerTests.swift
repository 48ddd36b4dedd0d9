import ChangeFeed
import XCTest

/// Section 6.2: what a database's feed answers to each token it may be handed.
final class DatabaseTokenAnswerTests: XCTestCase {
    func test6_2_aTokenOfThisDatabaseIsWhatCameAfterIt() async throws {
        try await forEachStore { feed in
            try await feed.makeZone("A")
            let token = try await feed.databaseToken()
            try await feed.makeZone("B")
            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, ["+B"])
        }
    }

    func testB22_aTokenOfAnotherUsersDatabaseIsForeign() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let token = try await feed.databaseToken()
            let other = feed.container.database(.private, for: "bert")
            try await other.save(RecordZone(zoneName: "Notes"))
            await expectError(.invalidArguments, detail: .foreign, rule: "6.2") {
                try await other.databaseChanges(since: token)
            }
        }
    }

    func testB22_theTokenOfAnEmptyDatabaseIsForeignToAnotherUser() async throws {
        try await forEachStore { feed in
            let token = try await feed.databaseToken()
            let other = feed.container.database(.private, for: "bert")
            await expectError(.invalidArguments, detail: .foreign, rule: "6.2") {
                try await other.databaseChanges(since: token)
            }
        }
    }

    func testB22_aTokenOfAnotherStoreIsForeign() async throws {
        try await forEachStore { feed in
            let elsewhere = FeedFixture(randomness: Locked(FeedFixture.Random(seed: 99)))
            try await elsewhere.makeZone()
            let token = try await elsewhere.databaseToken()
            await expectError(.invalidArguments, detail: .foreign, rule: "6.2") {
                try await feed.database.databaseChanges(since: token)
            }
        }
    }

    func testT2_aZonesTokenIsOfTheWrongKind() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let data = try await feed.token(of: zone).data
            await expectError(.invalidArguments, detail: .wrongKind, rule: "T2") { try DatabaseChangeToken(data: data) }
        }
    }

    func test6_2_anotherUsersWorkMovesNothingHere() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let token = try await feed.databaseToken()
            let other = feed.container.database(.private, for: "bert")
            try await other.save(RecordZone(zoneName: "Notes"))

            let page = try await feed.database.databaseChanges(since: token)

            XCTAssertEqual(page.story, [])
            XCTAssertEqual(page.changeToken, token)
        }
    }

    func testB33_aTokenWorksAfterTheFeedWasRebuiltFromItsStore() async throws {
        try await forEachStore { feed in
            // Given tokens of a zone and a database
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())

            // When the feed is dropped and made anew over the same store, and writing goes on
            let rebuilt = feed.reopened()
            try await rebuilt.save("b", in: zone)

            // Then both are answered with what is new
            let page = try await rebuilt.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+b"])
            let zones = try await rebuilt.database.databaseChanges(since: database)
            XCTAssertEqual(zones.story, ["+Notes"])
        }
    }
}
