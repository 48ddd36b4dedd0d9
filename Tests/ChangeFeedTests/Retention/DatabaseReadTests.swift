import ChangeFeed
import Foundation
import XCTest

/// A read of a database under way, and what is discarded meanwhile.
final class DatabaseReadTests: XCTestCase {
    func test6_4_aDatabaseReadSurvivesTheDiscardingOfWhatItHasDelivered() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            for name in ["A", "B", "C"] { _ = try await feed.makeZone(name) }
            let token = try await feed.databaseToken()
            try await feed.deleteZone(RecordZone.ID(zoneName: "A"))
            try await feed.save("r", in: RecordZone.ID(zoneName: "B"))
            try await feed.save("r", in: RecordZone.ID(zoneName: "C"))

            // When the tombstone is discarded after the page that told of it
            let first = try await feed.database.databaseChanges(since: token, resultsLimit: 1)
            XCTAssertEqual(first.deletions.map(\.zoneID.zoneName), ["A"])
            try await feed.discardZoneTombstones()
            let second = try await feed.database.databaseChanges(since: first.changeToken)

            // Then the read goes on; a read that has not got there expires
            XCTAssertEqual(second.modifications.map(\.zoneName), ["B", "C"])
            await expectError(.changeTokenExpired, detail: .expired) {
                () throws(ChangeFeedError) in try await feed.database.databaseChanges(since: token)
            }
        }
    }
}
