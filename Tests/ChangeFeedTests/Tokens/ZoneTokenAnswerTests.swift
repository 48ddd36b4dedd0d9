import ChangeFeed
import XCTest

/// Section 6.2: what a zone's feed answers to each token it may be handed.
final class ZoneTokenAnswerTests: XCTestCase {
    func testT3_noTokenIsTheBeginning() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
            XCTAssertEqual(page.story, ["+a"])
        }
    }

    func test6_2_aTokenOfThisZoneIsWhatCameAfterIt() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.save("b", in: zone)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+b"])
        }
    }

    func testB22_aTokenOfAnotherZoneIsForeign() async throws {
        try await forEachStore { feed in
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            try await feed.save("a", in: two)
            let token = try await feed.token(of: one)
            await expectError(.invalidArguments, detail: .foreign, zoneID: two, rule: "6.2") {
                try await feed.database.recordZoneChanges(inZoneWith: two, since: token)
            }
        }
    }

    func testB22_zonesWhoseNamesRunTogetherAreNotMistakenForEachOther() async throws {
        try await forEachStore { feed in
            let names = ["a", "ab", "abc", "b", "bc", "c"]
            var tokens: [String: ZoneChangeToken] = [:]
            for name in names { tokens[name] = try await feed.token(of: feed.makeZone(name)) }
            for (name, token) in tokens {
                for other in names where other != name {
                    let zone = RecordZone.ID(zoneName: other)
                    await expectError(.invalidArguments, detail: .foreign, zoneID: zone, "\(name) in \(other)") {
                        try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                    }
                }
            }
        }
    }

    func testB22_aTokenOfAnotherUsersZoneOfTheSameNameIsForeign() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            let other = feed.container.database(.private, for: "bert")
            try await other.save(RecordZone(zoneID: zone))
            await expectError(.invalidArguments, detail: .foreign, zoneID: zone, rule: "6.2") {
                try await other.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }

    func testB22_aTokenOfAnotherStoreIsForeign() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let elsewhere = FeedFixture(randomness: Locked(FeedFixture.Random(seed: 99)))
            let token = try await elsewhere.token(of: elsewhere.makeZone())
            await expectError(.invalidArguments, detail: .foreign, zoneID: zone, rule: "6.2") {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }

    func testT2_aDatabaseTokenIsOfTheWrongKind() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let data = try await feed.databaseToken().data
            await expectError(.invalidArguments, detail: .wrongKind, rule: "T2") { try ZoneChangeToken(data: data) }
        }
    }

    func testB34_aTokenOfTheZonesFormerLifeHasExpired() async throws {
        try await forEachStore { feed in
            // Given a token far into a zone's life
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 40)
            let token = try await feed.token(of: zone)
            let midway = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 3)

            // When the zone goes and comes back, shorter
            try await feed.deleteZone(zone)
            try await feed.makeZone()
            try await feed.fill(zone, count: 5)

            for token in [token, midway.changeToken] {
                await expectError(.changeTokenExpired, detail: .zoneRecreated, zoneID: zone, rule: "6.2") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                }
            }
        }
    }

    func test6_1_6_aZoneThatCameBackManyTimesKnowsEachOfItsLives() async throws {
        try await forEachStore { feed in
            var tokens: [ZoneChangeToken] = []
            let zone = RecordZone.ID(zoneName: "Notes")
            for life in 1...5 {
                try await feed.makeZone()
                try await feed.save("r", title: "\(life)", in: zone)
                tokens.append(try await feed.token(of: zone))
                if life < 5 { try await feed.deleteZone(zone) }
            }
            XCTAssertEqual(Set(tokens).count, 5)
            for token in tokens.dropLast() {
                await expectError(.changeTokenExpired, detail: .zoneRecreated, zoneID: zone) {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                }
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: tokens.last)
            XCTAssertEqual(page.story, [])
        }
    }

    func test6_2_aZoneThatNeverWasIsNotFound() async throws {
        try await forEachStore { feed in
            let zone = RecordZone.ID(zoneName: "Nowhere")
            await expectError(.zoneNotFound, zoneID: zone) {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
            }
        }
    }

    /// M8 is the rule of a save into a zone that is missing; a fetch writes nothing.
    func test6_2_aFetchOfAMissingZoneNamesARuleOfFetching() async throws {
        try await forEachStore { feed in
            let error = await expectError(.zoneNotFound, zoneID: RecordZone.ID(zoneName: "Nowhere")) {
                try await feed.database.recordZoneChanges(
                    inZoneWith: RecordZone.ID(zoneName: "Nowhere"), since: nil)
            }
            XCTAssertNotEqual(error?.rule, "M8")
        }
    }

    func testFD8_aZoneThatWasDeletedIsNotFoundWithOrWithoutItsToken() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.deleteZone(zone)
            for since in [nil, token] {
                await expectError(.zoneNotFound, zoneID: zone) {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: since)
                }
            }
        }
    }

    func test6_2_aPurgedZoneWasDeletedByTheUser() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.container.purgeZone(zone, for: FeedFixture.userID)
            for since in [nil, token] {
                await expectError(.userDeletedZone, zoneID: zone) {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: since)
                }
            }
        }
    }

    func testE3_aZoneWhoseEncryptedDataWasResetSaysSo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.container.resetEncryptedData(inZoneWith: zone, for: FeedFixture.userID)
            for since in [nil, token] {
                await expectError(.zoneNotFound, detail: .encryptedDataReset, zoneID: zone, rule: "E3") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: since)
                }
            }
        }
    }

    func testB22_noRefusedTokenReadsFromTheBeginningOrIsReadAsNothingNew() async throws {
        try await forEachStore { feed in
            // Given a device that keeps the token of the wrong zone
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            try await feed.save("a", in: one)
            try await feed.save("b", in: two)
            let wrong = try await feed.token(of: one)

            // When it walks the pages with it
            var pages = 0
            do throws(ChangeFeedError) {
                for try await _ in feed.database.recordZoneChangePages(inZoneWith: two, since: wrong) { pages += 1 }
                XCTFail("the token of another zone was taken")
            } catch {
                XCTAssertEqual(error.detail, .foreign)
            }
            XCTAssertEqual(pages, 0)
        }
    }

    func test6_1_7_twoTokensAtOnePlaceAreTheSameBytes() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 4)
            let inOne = try await feed.token(of: zone)
            let inFour = try await feed.pages(of: zone, limit: 1)
            XCTAssertEqual(inFour.last?.changeToken, inOne)
            XCTAssertEqual(inFour.last?.changeToken.data, inOne.data)
            XCTAssertEqual(Set(inFour.map(\.changeToken)).count, 4)
        }
    }
}
