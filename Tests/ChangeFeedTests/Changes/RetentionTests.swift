import ChangeFeed
import XCTest

/// Section 6.2: a token expires when something behind it has really been discarded, and only then.
final class RetentionTests: XCTestCase {
    func test6_2_aTokenOlderThanADiscardedTombstoneHasExpired() async throws {
        try await forEachStore { feed in
            // Given a device whose token precedes a deletion
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.delete("a", in: zone)
            try await feed.save("c", in: zone)

            // When the tombstone is discarded
            try await feed.discardRecordTombstones(of: zone)

            // Then the device is told, and not given what is left as if it were all
            await expectError(.changeTokenExpired, detail: .expired, zoneID: zone, rule: "6.2") {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
            let fresh = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
            XCTAssertEqual(fresh.story, ["+b", "+c"])
        }
    }

    func test6_2_livingChangesNeverExpireAToken() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.fill(zone, count: 50)
            for _ in 1...20 { try await feed.save("r1", in: zone) }

            try await feed.discardRecordTombstones(of: zone)

            let pages = try await feed.pages(of: zone, since: token)
            XCTAssertEqual(pages.flatMap(\.story).count, 50)
        }
    }

    func testB26_theTokenAtTheVeryEdgeIsStillValid() async throws {
        try await forEachStore { feed in
            // Given a token before each of three deletions, and one after the last
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", "c", "d", in: zone)
            var tokens = [try await feed.token(of: zone)]
            for name in ["a", "b", "c"] {
                try await feed.delete(name, in: zone)
                tokens.append(try await feed.token(of: zone))
            }
            let last = tokens.removeLast()

            try await feed.discardRecordTombstones(of: zone)

            for (index, token) in tokens.enumerated() {
                await expectError(.changeTokenExpired, detail: .expired, zoneID: zone, "token \(index)") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                }
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: last)
            XCTAssertEqual(page.story, [])
        }
    }

    func testB26_anotherZonesTombstonesExpireNothingHere() async throws {
        try await forEachStore { feed in
            let (quiet, busy) = (try await feed.makeZone("Quiet"), try await feed.makeZone("Busy"))
            try await feed.save("a", in: quiet)
            let token = try await feed.token(of: quiet)
            let database = try await feed.databaseToken()
            try await feed.save("x", in: busy)
            try await feed.delete("x", in: busy)
            try await feed.save("b", in: quiet)

            try await feed.discardRecordTombstones(of: busy)

            let page = try await feed.database.recordZoneChanges(inZoneWith: quiet, since: token)
            XCTAssertEqual(page.story, ["+b"])
            // And a record's tombstone is nothing to the database's feed
            let zones = try await feed.database.databaseChanges(since: database)
            XCTAssertEqual(zones.story, ["+Busy", "+Quiet"])
        }
    }

    func test6_2_aDatabaseTokenOlderThanADiscardedZoneTombstoneHasExpired() async throws {
        try await forEachStore { feed in
            for name in ["A", "B"] { try await feed.makeZone(name) }
            let before = try await feed.databaseToken()
            try await feed.deleteZone(RecordZone.ID(zoneName: "A"))
            let after = try await feed.databaseToken()

            try await feed.discardZoneTombstones()

            await expectError(.changeTokenExpired, detail: .expired, rule: "6.2") {
                try await feed.database.databaseChanges(since: before)
            }
            let page = try await feed.database.databaseChanges(since: after)
            XCTAssertEqual(page.story, [])
            let fresh = try await feed.database.databaseChanges(since: nil)
            XCTAssertEqual(fresh.story, ["+B"])
        }
    }

    /// With a compaction between every two pages.
    func test6_4_aFirstReadIsNotExpiredByTombstonesItWouldNeverHaveDelivered() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 10)
            try await feed.delete("r2", "r5", "r9", in: zone)

            let pages = try await feed.pages(of: zone, limit: 1) { _ in
                try await feed.discardRecordTombstones(of: zone)
            }

            XCTAssertEqual(pages.flatMap(\.story), ["+r1", "+r3", "+r4", "+r6", "+r7", "+r8", "+r10"])
            let last = try XCTUnwrap(pages.last).changeToken
            let next = try await feed.database.recordZoneChanges(inZoneWith: zone, since: last)
            XCTAssertEqual(next.story, [])
        }
    }

    func test6_4_theFirstReadOfADatabaseIsNotExpiredByTombstonesItWouldNeverHaveDelivered() async throws {
        try await forEachStore { feed in
            for name in ["A", "B", "C", "D", "E"] { try await feed.makeZone(name) }
            for name in ["B", "E"] { try await feed.deleteZone(RecordZone.ID(zoneName: name)) }

            let pages = try await feed.databasePages(limit: 1) { _ in try await feed.discardZoneTombstones() }

            XCTAssertEqual(pages.flatMap(\.story), ["+A", "+C", "+D"])
        }
    }

    func test6_4_aFirstReadIsExpiredByADiscardedTombstoneItShouldHaveDelivered() async throws {
        try await forEachStore { feed in
            // Given a first read that has delivered r1
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 1)

            // When r1 goes and its tombstone is discarded before the next page
            try await feed.delete("r1", in: zone)
            try await feed.discardRecordTombstones(of: zone)

            // Then the device must begin again, for it would keep r1 for ever
            await expectError(.changeTokenExpired, detail: .expired, zoneID: zone) {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: first.changeToken)
            }
        }
    }

    func test6_1_6_aZoneWhoseTombstoneWasDiscardedDoesNotTakeUpItsFormerLife() async throws {
        try await forEachStore { feed in
            // Given a device that has read a zone, and a zone that goes without a trace
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 3)
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())
            try await feed.deleteZone(zone)
            try await feed.discardZoneTombstones()

            // When a zone of the same name is created
            try await feed.makeZone()
            try await feed.fill(zone, count: 3)

            // Then neither of the device's tokens is taken for one of it
            await expectError(.changeTokenExpired, detail: .zoneRecreated, zoneID: zone, rule: "6.2") {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
            await expectError(.changeTokenExpired, detail: .expired, rule: "6.2") {
                try await feed.database.databaseChanges(since: database)
            }
        }
    }

    func test6_2_aDiscardedPastDeletionOfALivingZoneExpiresTokensFromBeforeIt() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let before = try await feed.databaseToken()
            try await feed.deleteZone(zone)
            try await feed.makeZone()
            let after = try await feed.databaseToken()

            try await feed.discardZoneTombstones()

            await expectError(.changeTokenExpired, detail: .expired, rule: "6.2") {
                try await feed.database.databaseChanges(since: before)
            }
            let page = try await feed.database.databaseChanges(since: after)
            XCTAssertEqual(page.story, [])
        }
    }

    func test6_2_aDiscardedTombstoneLeavesTheNameFreeForANewRecord() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            try await feed.delete("a", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.discardRecordTombstones(of: zone)

            try await feed.save("a", title: "again", in: zone)

            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+a"])
            XCTAssertEqual(page.modifications.first?["title"], "again")
        }
    }
}
