import ChangeFeed
import Foundation
import XCTest

/// Rules T1 and T5: tokens are opaque values that are kept, compared and handed back.
final class TokenValueTests: XCTestCase {
    private struct Bookmarks: Codable, Equatable {
        var database: DatabaseChangeToken?
        var zones: [String: ZoneChangeToken]
    }

    func testT1_tokensSurviveTheDiskAndGoOnFromThere() async throws {
        try await forEachStore { feed in
            // Given a device that has read half of a zone
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 4)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 2)
            let bookmarks = Bookmarks(
                database: try await feed.databaseToken(), zones: ["Notes": page.changeToken])

            // When its bookmarks are archived and read back
            let json = try JSONDecoder().decode(Bookmarks.self, from: JSONEncoder().encode(bookmarks))
            let list = try PropertyListDecoder().decode(Bookmarks.self, from: PropertyListEncoder().encode(bookmarks))

            // Then they are the same and work
            XCTAssertEqual(json, bookmarks)
            XCTAssertEqual(list, bookmarks)
            let rest = try await feed.database.recordZoneChanges(inZoneWith: zone, since: json.zones["Notes"])
            XCTAssertEqual(rest.story, ["+r3", "+r4"])
            let zones = try await feed.database.databaseChanges(since: list.database)
            XCTAssertEqual(zones.story, [])
        }
    }

    func testT1_aTokenIsItsBytes() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            let same = try ZoneChangeToken(data: token.data)
            XCTAssertEqual(same, token)
            XCTAssertEqual(same.hashValue, token.hashValue)
            try await feed.save("a", in: zone)
            let other = try await feed.token(of: zone)
            XCTAssertNotEqual(other, token)
            XCTAssertNotEqual(other.data, token.data)
        }
    }

    func testT1_theDescriptionIsAKindAndAShortDigestAndNothingElse() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("SecretDiary")
            try await feed.save("a", in: zone)
            let zoneToken = try await feed.token(of: zone)
            let databaseToken = try await feed.databaseToken()
            for (text, kind) in [
                ("\(zoneToken)", "zone token "), (String(reflecting: zoneToken), "zone token "),
                ("\(databaseToken)", "database token "), (String(reflecting: databaseToken), "database token "),
            ] {
                XCTAssertTrue(text.hasPrefix(kind), text)
                let digest = text.dropFirst(kind.count)
                XCTAssertEqual(digest.count, 8, text)
                XCTAssertTrue(digest.allSatisfy(\.isHexDigit), text)
            }
        }
    }

    func testT1_theDescriptionTellsTokensApart() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var texts: Set<String> = []
            for number in 0..<200 {
                texts.insert("\(try await feed.token(of: zone))")
                try await feed.save("r\(number % 5)", in: zone)
            }
            XCTAssertEqual(texts.count, 200)
        }
    }

    func testT1_dumpingATokenShowsNoNames() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("SecretDiary")
            let token = try await feed.token(of: zone)
            var text = ""
            dump(token, to: &text)
            XCTAssertFalse(text.contains("SecretDiary"))
            XCTAssertFalse(text.contains(FeedFixture.userID))
            for name in ["SecretDiary", FeedFixture.userID] {
                XCTAssertNil(token.data.range(of: Data(name.utf8)), "the bytes spell \(name)")
            }
        }
    }

    func test6_2_aTokenIsShortHoweverLongTheNamesAre() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone(String(repeating: "n", count: 255))
            let token = try await feed.token(of: zone)
            XCTAssertLessThanOrEqual(token.data.count, 128)
        }
    }
}
