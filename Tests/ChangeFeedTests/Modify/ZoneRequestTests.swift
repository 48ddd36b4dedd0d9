import ChangeFeed
import Foundation
import XCTest

/// Saving and deleting zones (rules Z1 to Z4, N2, N3, N9).
final class ZoneRequestTests: XCTestCase {
    func testZ1_capabilitiesAreTheServersAndEmptyBefore() async throws {
        try await forEachStore { feed in
            let local = RecordZone(zoneName: "Notes")
            XCTAssertEqual(local.capabilities, [])
            XCTAssertNil(local.creationDate)
            let saved = try await feed.database.save(local)
            XCTAssertTrue(saved.capabilities.isSuperset(of: [.fetchChanges, .atomic]))
            XCTAssertEqual(saved.creationDate, feed.clock.now)
            XCTAssertEqual(RecordZone.Capabilities.fetchChanges.rawValue, 1)
            XCTAssertEqual(RecordZone.Capabilities.atomic.rawValue, 2)
        }
    }

    func testZ2_theDefaultZoneIsThereAndCanDoNothing() async throws {
        try await forEachStore { feed in
            let before = try await feed.database.recordZone(for: .default)
            XCTAssertEqual(before.capabilities, [])
            try await feed.database.save(feed.note("a", in: .default))
            let after = try await feed.database.recordZone(for: .default)
            XCTAssertEqual(after.capabilities, [])
            let all = try await feed.database.allRecordZones()
            XCTAssertEqual(all.map(\.zoneID), [.default])
        }
    }

    func testZ3_savingAZoneThatExistsSucceedsAndChangesNothing() async throws {
        try await forEachStore { feed in
            // Given a zone with a record
            let first = try await feed.database.save(RecordZone(zoneName: "Notes"))
            let record = try await feed.database.save(feed.note("a", in: first.zoneID, ["title": "x"]))
            let token = try await feed.token(of: first.zoneID)
            feed.clock.advance(by: 60)

            // When it is saved again, as an app does at every sign-in
            for _ in 0..<3 {
                let again = try await feed.storingNothing {
                    try await feed.database.save(RecordZone(zoneName: "Notes"))
                }
                XCTAssertEqual(again, first)
            }

            // Then records, tags and tokens live on
            let page = try await feed.database.recordZoneChanges(inZoneWith: first.zoneID, since: token)
            XCTAssertEqual(page.story, [])
            let found = try await feed.database.record(for: record.recordID)
            XCTAssertEqual(found, record)
        }
    }

    func testZ3_whatTheClientSaysOfCapabilitiesAndDatesIsNotBelieved() async throws {
        try await forEachStore { feed in
            let claim = RecordZone(
                zoneID: .init(zoneName: "Notes"), capabilities: .init(rawValue: 0xFF), creationDate: .distantPast)
            let saved = try await feed.database.save(claim)
            XCTAssertEqual(saved.creationDate, feed.clock.now)
            XCTAssertNotEqual(saved.capabilities, claim.capabilities)
        }
    }

    func testZ4_deletingAnUnknownZoneIsZoneNotFound() async throws {
        try await forEachStore { feed in
            let zone = RecordZone.ID(zoneName: "Missing")
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecordZones(saving: [], deleting: [zone])
            }
            XCTAssertEqual(results.outcomes, ["!Missing zoneNotFound"])
            XCTAssertEqual(results.errors[zone]?.zoneID, zone)
        }
    }

    func testZ4_deletingAZoneDeletesItsRecordsAndNoOthers() async throws {
        try await forEachStore { feed in
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            try await feed.save("a", "b", in: one)
            try await feed.save("a", title: "other", in: two)
            let token = try await feed.databaseToken()

            try await feed.deleteZone(one)

            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, ["-One (deleted)"])
            let gone = Record.ID(recordName: "a", zoneID: one)
            let found = try await feed.database.records(for: [gone])
            XCTAssertEqual(found[gone]?.code, .zoneNotFound)
            let other = try await feed.database.record(for: Record.ID(recordName: "a", zoneID: two))
            XCTAssertEqual(other["title"], "other")
        }
    }

    func testZ2_theDefaultZoneCannotBeDeleted() async throws {
        try await forEachStore { feed in
            let record = try await feed.database.save(feed.note("a", in: .default))
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecordZones(saving: [], deleting: [.default])
            }
            XCTAssertEqual(results.deletions.first?.result.error?.zoneID, .default)
            let found = try await feed.database.record(for: record.recordID)
            XCTAssertEqual(found, record)
        }
    }

    func testZ4_itemsOfARequestDoNotDependOnEachOther() async throws {
        try await forEachStore { feed in
            // Given a zone to delete
            let old = try await feed.makeZone("Old")
            let token = try await feed.databaseToken()

            // When good and bad are mixed
            let results = try await feed.database.modifyRecordZones(
                saving: [.init(zoneName: "New"), .init(zoneName: "_bad"), .init(zoneName: "Newer")],
                deleting: [.init(zoneName: "Missing"), old])

            // Then each has its own result, in request order, and the good ones are done
            XCTAssertEqual(
                results.outcomes, ["+New", "!_bad invalidArguments", "+Newer", "!Missing zoneNotFound", "-Old"])
            XCTAssertEqual(results.errors.count, 2)
            XCTAssertEqual(results.saveResults.count, 3)
            XCTAssertEqual(results.deleteResults[old]?.error?.code, nil)
            XCTAssertEqual(results.deleteResults.count, 2)
            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, ["+New", "+Newer", "-Old (deleted)"])
        }
    }

    func testM1_aZoneTwiceInARequestIsRefused() async throws {
        try await forEachStore { feed in
            let old = try await feed.makeZone("Old")
            let new = RecordZone(zoneName: "New")
            let requests: [String: (RecordZoneModifyRequest, RecordZone.ID)] = [
                "saved twice": (.init(saving: [new, RecordZone(zoneID: old), new]), new.zoneID),
                "deleted twice": (.init(saving: [new], deleting: [old, old]), old),
                "saved and deleted": (.init(saving: [new, RecordZone(zoneID: old)], deleting: [old]), old),
            ]
            for (story, (request, zoneID)) in requests {
                let error = try await feed.refuses(.invalidArguments, story) {
                    try await feed.database.modifyRecordZones(request)
                }
                XCTAssertEqual(error?.zoneID, zoneID, story)
                XCTAssertNotNil(error?.rule, story)
            }
        }
    }

    func testM1_anEmptyRequestIsRefused() async throws {
        try await forEachStore { feed in
            try await feed.refuses(.invalidArguments, rule: "M1") {
                try await feed.database.modifyRecordZones(saving: [])
            }
        }
    }

    func testM21_400ZonesGoThroughAnd401DoNot() async throws {
        try await forEachStore { feed in
            let zones = (0...400).map { RecordZone(zoneName: "z\($0)") }
            let error = try await feed.refuses(.limitExceeded, rule: "M21") {
                try await feed.database.modifyRecordZones(saving: zones)
            }
            XCTAssertEqual(error?.limit, .init(name: "itemsPerRequest", allowed: 400, found: 401))
            let results = try await feed.database.modifyRecordZones(saving: Array(zones.prefix(400)))
            XCTAssertEqual(results.errors.count, 0)
        }
    }

    func testN3_aZoneOfAnotherOwnerIsRefusedAndNotTakenForOnesOwn() async throws {
        try await forEachStore { feed in
            let mine = try await feed.makeZone()
            let his = RecordZone.ID(zoneName: mine.zoneName, ownerName: "ben")
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecordZones(saving: [RecordZone(zoneID: his)])
            }
            XCTAssertEqual(results.saves.first?.result.error?.rule, "N3")
            XCTAssertEqual(results.saves.first?.result.error?.zoneID, his)
            let deleted = try await feed.storingNothing {
                try await feed.database.modifyRecordZones(saving: [], deleting: [his])
            }
            XCTAssertEqual(deleted.outcomes, ["!Notes zoneNotFound"])
        }
    }

    func testN9_zonesCannotBeCreatedInThePublicDatabase() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: "anna")
            let results = try await feed.storingNothing {
                try await database.modifyRecordZones(saving: [.init(zoneName: "One"), .init(zoneName: "Two")])
            }
            XCTAssertEqual(results.outcomes, ["!One badDatabase", "!Two badDatabase"])
            XCTAssertEqual(results.saves.first?.result.error?.rule, "N9")
        }
    }

    func testZonesOfTwoUsersAreApart() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let ben = feed.container.database(.private, for: "ben")
            let found = try await ben.recordZones(RecordZonesRequest(zoneIDs: [zone]))
            XCTAssertEqual(found[zone]?.code, .zoneNotFound)
            let results = try await ben.modifyRecords(saving: [feed.note("a", in: zone)])
            XCTAssertEqual(results.outcomes, ["!a zoneNotFound"])
        }
    }
}
