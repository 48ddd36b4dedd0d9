import ChangeFeed
import XCTest

/// The port can be fulfilled from outside, and every friendly form works over whatever fulfils it.
final class OutsideDatabaseTests: XCTestCase {
    func testAStrangersDatabaseAnswersAsTheOneBehindIt() async throws {
        try await forEachStore { feed in
            // Given a device that talks to the server through a relay
            let relay: any RecordDatabase = RelayDatabase(server: feed.database)
            let zone = try await relay.save(RecordZone(zoneName: "Notes")).zoneID
            var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
            record["title"] = "through the wire"
            let saved = try await relay.save(record)

            // Then what it is told is what the server says
            let direct = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
            let relayed = try await relay.recordZoneChanges(inZoneWith: zone, since: nil)
            XCTAssertEqual(relayed.modifications, direct.modifications)
            XCTAssertEqual(relayed.modifications, [saved])
            XCTAssertEqual(relayed.changeToken, direct.changeToken)
            let (found, known) = (try await relay.record(for: saved.recordID), try await relay.recordZone(for: zone))
            XCTAssertEqual(found, saved)
            XCTAssertEqual(known.zoneID, zone)
            let account = try await relay.account()
            XCTAssertEqual(account, .available(userID: FeedFixture.userID))

            // And it can go on from a token that came over the wire
            try await relay.deleteRecord(withID: saved.recordID)
            let next = try await relay.recordZoneChanges(inZoneWith: zone, since: relayed.changeToken)
            XCTAssertEqual(next.story, ["-a"])
            XCTAssertEqual(next.deletions.first?.recordChangeTag, saved.recordChangeTag)
        }
    }

    func testAStrangersDatabaseHasPagesAndOperations() async throws {
        try await forEachStore { feed in
            let relay: any RecordDatabase = RelayDatabase(server: feed.database)
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)

            var stories: [[String]] = []
            for try await page in relay.recordZoneChangePages(inZoneWith: zone, since: nil, resultsLimit: 2) {
                stories.append(page.story)
            }
            XCTAssertEqual(stories, [["+r1", "+r2"], ["+r3", "+r4"], ["+r5"]])

            var zones: [String] = []
            for try await page in relay.databaseChangePages(since: nil) { zones += page.story }
            XCTAssertEqual(zones, ["+Notes"])

            var changed = 0
            for await event in FetchRecordZoneChangesOperation(recordZoneIDs: [zone]).events(from: relay) {
                if case .recordChanged = event { changed += 1 }
            }
            XCTAssertEqual(changed, 5)
        }
    }

    func testErrorsComeThroughAStrangersDatabaseWhole() async throws {
        try await forEachStore { feed in
            let relay: any RecordDatabase = RelayDatabase(server: feed.database)
            let zone = try await feed.makeZone()
            let old = try await feed.save("a", title: "1", in: zone)[0]
            try await feed.save("a", title: "2", in: zone)

            let conflict = await expectError(.serverRecordChanged, zoneID: zone) { try await relay.save(old) }

            XCTAssertEqual(conflict?.recordID, old.recordID)
            XCTAssertEqual(conflict?.serverRecord?["title"], "2")
        }
    }

    func testADatabaseThatGivesNoResultForAnItemIsReportedAndTrapsNothing() async throws {
        try await overEveryStore {
            let database: any RecordDatabase = ScriptedDatabase()
            let recordID = Record.ID(recordName: "a", zoneID: RecordZone.ID(zoneName: "Notes"))
            await expectError(.internalError) {
                try await database.save(Record(recordType: "Note", recordID: recordID))
            }
            await expectError(.internalError) { try await database.record(for: recordID) }
            await expectError(.internalError) { try await database.deleteRecord(withID: recordID) }
            await expectError(.internalError) { try await database.save(RecordZone(zoneName: "Notes")) }
            await expectError(.internalError) { try await database.recordZone(for: recordID.zoneID) }
            await expectError(.internalError) { try await database.deleteRecordZone(withID: recordID.zoneID) }
        }
    }
}
