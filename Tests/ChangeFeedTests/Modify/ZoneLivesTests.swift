import ChangeFeed
import Foundation
import XCTest

/// A zone that goes and comes again: old tags, purges and resets (rules Z5, E3, FD3, FD4; section 6.5).
final class ZoneLivesTests: XCTestCase {
    private func edited(_ record: Record) -> Record {
        var record = record
        record["title"] = "edited"
        return record
    }

    func testZ5_aZoneCreatedAgainIsANewLifeWithANewDate() async throws {
        try await forEachStore { feed in
            let first = try await feed.database.save(RecordZone(zoneName: "Notes"))
            try await feed.save("a", in: first.zoneID)
            feed.clock.advance(by: 60)
            try await feed.deleteZone(first.zoneID)
            feed.clock.advance(by: 60)
            let second = try await feed.database.save(RecordZone(zoneName: "Notes"))
            XCTAssertEqual(second.zoneID, first.zoneID)
            XCTAssertEqual(second.creationDate, feed.clock.now)
            let page = try await feed.database.recordZoneChanges(inZoneWith: second.zoneID, since: nil)
            XCTAssertEqual(page.story, [])
        }
    }

    func testZ5_tagsOfTheOldLifeAreRefusedAndASaveWithoutOneCreates() async throws {
        try await forEachStore { feed in
            // Given a record of a zone that was deleted and created again
            let zone = try await feed.makeZone()
            let old = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            try await feed.deleteZone(zone)

            // Then saving it fails while the zone is missing
            for policy in RecordSavePolicy.allCases {
                let missing = try await feed.storingNothing { try await feed.save(edited(old), policy) }
                XCTAssertEqual(missing.code, .zoneNotFound, "\(policy)")
            }

            // And in the new life, whatever the policy, until the tag is dropped
            try await feed.makeZone()
            for policy in RecordSavePolicy.allCases {
                let refused = try await feed.storingNothing { try await feed.save(edited(old), policy) }
                XCTAssertEqual(refused.code, .unknownItem, "\(policy)")
            }
            feed.clock.advance(by: 60)
            let new = try await feed.database.save(feed.note("a", in: zone, ["title": "edited"]))
            XCTAssertEqual(new.creationDate, feed.clock.now)
            XCTAssertNotEqual(new.creationDate, old.creationDate)
            XCTAssertNotEqual(new.recordChangeTag, old.recordChangeTag)
        }
    }

    func testZ5_systemFieldsOfTheOldLifeConflictWithARecordOfTheNew() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let old = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            try await feed.deleteZone(zone)
            try await feed.makeZone()
            let new = try await feed.database.save(feed.note("a", in: zone, ["title": "new life"]))

            var record = try Record(systemFields: old.encodeSystemFields())
            record["title"] = "old life"
            let result = try await feed.storingNothing { try await feed.save(record, .ifServerRecordUnchanged) }

            XCTAssertEqual(result.code, .serverRecordChanged)
            XCTAssertEqual(result.error?.serverRecord, new)
        }
    }

    func testZ5_noTagEverComesAgain() async throws {
        try await forEachStore { feed in
            var tags: [String] = []
            for _ in 0..<5 {
                let zone = try await feed.makeZone()
                let records = try await feed.save("a", "b", "c", in: zone)
                tags += records.compactMap(\.recordChangeTag)
                try await feed.deleteZone(zone)
            }
            XCTAssertEqual(Set(tags).count, 15)
        }
    }

    func testFD4_aPurgedZoneAnswersUserDeletedZoneUntilItIsCreatedAgain() async throws {
        try await forEachStore { feed in
            // Given a zone that the user removed in the system's settings
            let zone = try await feed.makeZone()
            let record = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            let token = try await feed.databaseToken()
            try await feed.container.purgeZone(zone, for: FeedFixture.userID)

            // Then the feed says why, and whatever touches the zone is told
            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, ["-Notes (purged)"])
            try await expectGone(zone, record, .userDeletedZone, detail: nil, in: feed)

            // And saving the zone again begins a new life
            try await feed.makeZone()
            let saved = try await feed.database.save(feed.note("a", in: zone, ["title": "again"]))
            XCTAssertEqual(saved["title"], "again")
        }
    }

    func testE3_aResetZoneAnswersZoneNotFoundWithTheReason() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let record = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            let token = try await feed.databaseToken()
            try await feed.container.resetEncryptedData(inZoneWith: zone, for: FeedFixture.userID)

            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, ["-Notes (encryptedDataReset)"])
            try await expectGone(zone, record, .zoneNotFound, detail: .encryptedDataReset, in: feed)

            try await feed.makeZone()
            let saved = try await feed.database.save(feed.note("a", in: zone, ["title": "again"]))
            XCTAssertEqual(saved["title"], "again")
        }
    }

    func testE3_aZoneThatWasSimplyDeletedHasNoSuchDetail() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let record = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            try await feed.deleteZone(zone)
            try await expectGone(zone, record, .zoneNotFound, detail: nil, in: feed)
        }
    }

    func testZ4_purgingAndResettingAnUnknownZoneIsZoneNotFound() async throws {
        try await forEachStore { feed in
            let zone = RecordZone.ID(zoneName: "Missing")
            let purged = try await feed.refuses(.zoneNotFound) {
                try await feed.container.purgeZone(zone, for: FeedFixture.userID)
            }
            let reset = try await feed.refuses(.zoneNotFound) {
                try await feed.container.resetEncryptedData(inZoneWith: zone, for: FeedFixture.userID)
            }
            XCTAssertEqual([purged?.zoneID, reset?.zoneID], [zone, zone])
        }
    }

    /// Everything that can be asked of a zone that is gone, and of a record that was in it.
    private func expectGone(
        _ zone: RecordZone.ID, _ record: Record, _ code: ChangeFeedError.Code, detail: ChangeFeedError.Detail?,
        in feed: FeedFixture
    ) async throws {
        let database = feed.database
        try await feed.storingNothing {
            var errors: [String: ChangeFeedError?] = [:]
            for policy in RecordSavePolicy.allCases {
                errors["save with a tag, \(policy)"] = try await feed.save(edited(record), policy).error
                errors["save without a tag, \(policy)"] = try await feed.save(feed.note("n", in: zone), policy).error
            }
            let deleted = try await database.modifyRecords(saving: [], deleting: [record.recordID])
            errors["delete a record"] = deleted.errors[record.recordID]
            errors["look up a record"] = try await database.records(for: [record.recordID])[record.recordID]?.error
            errors["look up the zone"] = try await database.recordZones(.init(zoneIDs: [zone]))[zone]?.error
            let again = try await database.modifyRecordZones(saving: [], deleting: [zone])
            errors["delete the zone"] = again.errors[zone]
            XCTAssertEqual(errors.count, 10)
            for (story, error) in errors {
                XCTAssertEqual(error?.code, code, story)
                XCTAssertEqual(error?.detail, detail, story)
                XCTAssertEqual(error?.zoneID, zone, story)
            }
            let all = try await database.allRecordZones()
            XCTAssertEqual(all.map(\.zoneID), [.default])
        }
    }
}
