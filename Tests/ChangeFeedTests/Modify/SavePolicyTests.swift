import ChangeFeed
import Foundation
import XCTest

/// What each save policy sends and what it gives back (rules M2 to M6, M19, R6, R8, cases B47 and B65).
final class SavePolicyTests: XCTestCase {
    /// A record on the server in two versions, the first of which a client still holds.
    private func heldVersion(in feed: FeedFixture) async throws -> (held: Record, server: Record) {
        let zone = try await feed.makeZone()
        let held = try await feed.database.save(feed.note("a", in: zone, ["title": "v1", "notes": "v1"]))
        var other = held
        other["title"] = "v2"
        other["notes"] = "v2"
        other["extra"] = "v2"
        return (held, try await feed.database.save(other))
    }

    func testM2_rawValuesAndDefault() {
        XCTAssertEqual(RecordSavePolicy.ifServerRecordUnchanged.rawValue, 0)
        XCTAssertEqual(RecordSavePolicy.changedKeys.rawValue, 1)
        XCTAssertEqual(RecordSavePolicy.allKeys.rawValue, 2)
        XCTAssertEqual(RecordModifyRequest().savePolicy, .ifServerRecordUnchanged)
        XCTAssertTrue(RecordModifyRequest().atomically)
    }

    func testM3_aStaleTagIsAConflictEvenWhenNothingWasChanged() async throws {
        try await forEachStore { feed in
            let (held, _) = try await heldVersion(in: feed)
            let result = try await feed.storingNothing { try await feed.save(held, .ifServerRecordUnchanged) }
            XCTAssertEqual(result.code, .serverRecordChanged)
            XCTAssertEqual(result.error?.rule, "M3")
        }
    }

    func testM3_onlyChangedKeysAreSent() async throws {
        try await forEachStore { feed in
            let (_, server) = try await heldVersion(in: feed)
            var record = server
            record["title"] = "mine"
            let saved = try await feed.database.save(record)
            XCTAssertEqual(saved.texts, ["title": "mine", "notes": "v2", "extra": "v2"])
        }
    }

    func testM4_changedKeysNeverComparesTags() async throws {
        try await forEachStore { feed in
            var (held, _) = try await heldVersion(in: feed)
            held["title"] = "mine"
            let saved = try await feed.save(held, .changedKeys).get()
            XCTAssertEqual(saved.texts, ["title": "mine", "notes": "v2", "extra": "v2"])
        }
    }

    func testM4_allKeysNeverComparesTagsAndKeepsWhatOnlyTheServerHas() async throws {
        try await forEachStore { feed in
            var (held, _) = try await heldVersion(in: feed)
            held["title"] = "mine"
            let saved = try await feed.save(held, .allKeys).get()
            XCTAssertEqual(saved.texts, ["title": "mine", "notes": "v1", "extra": "v2"])
        }
    }

    func testM4_aClearedKeyIsClearedUnderEveryPolicy() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                let (held, server) = try await heldVersion(in: feed)
                var record = policy == .ifServerRecordUnchanged ? server : held
                record["notes"] = nil
                _ = try await feed.save(record, policy).get()
                let found = try await feed.database.record(for: record.recordID)
                XCTAssertFalse(found.allKeys.contains("notes"), "\(policy)")
                XCTAssertEqual(found["extra"], "v2", "\(policy)")
            }
        }
    }

    func testM4_withoutAChangeChangedKeysWritesNoFieldAndAllKeysWritesThemAll() async throws {
        try await forEachStore { feed in
            let (held, server) = try await heldVersion(in: feed)
            let touched = try await feed.save(held, .changedKeys).get()
            XCTAssertEqual(touched.texts, server.texts)
            XCTAssertNotEqual(touched.recordChangeTag, server.recordChangeTag)
            let overwritten = try await feed.save(held, .allKeys).get()
            XCTAssertEqual(overwritten.texts, ["title": "v1", "notes": "v1", "extra": "v2"])
        }
    }

    func testR8_everySaveGivesANewTagAlsoWithoutAChange() async throws {
        try await forEachStore { feed in
            // Given a record
            let zone = try await feed.makeZone()
            var record = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            var tags = [record.recordChangeTag]
            var token = try await feed.token(of: zone)

            // When it is saved again and again with nothing changed
            for round in 0..<30 {
                record = try await feed.save(record, RecordSavePolicy.allCases[round % 3]).get()
                tags.append(record.recordChangeTag)
                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                XCTAssertEqual(page.story, ["+a"], "a save without a change is a modification (section 6.5)")
                token = page.changeToken
            }

            // Then no tag comes twice
            XCTAssertEqual(Set(tags).count, 31)
            XCTAssertEqual(record.texts, ["title": "x"])
        }
    }

    func testM19_whatASaveGivesBackIsGoodForTheNextSave() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = feed.note("a", in: zone)
            for round in 0..<5 {
                record["round"] = round
                record = try await feed.database.save(record)
                XCTAssertEqual(record["round"], round)
                XCTAssertEqual(record.changedKeys, [])
                let server = try await feed.database.record(for: record.recordID)
                XCTAssertEqual(record, server)
            }
        }
    }

    func testR6_datesAndUsersAreTheServers() async throws {
        try await forEachStore { feed in
            // Given two users of the public database
            let anna = feed.container.database(.public, for: "anna")
            let ben = feed.container.database(.public, for: "ben")
            let created = feed.clock.now
            let first = try await anna.save(feed.note("a", in: .default, ["title": "hers"]))
            feed.clock.advance(by: 3_600)

            // When the other changes the record
            var record = try await ben.record(for: first.recordID)
            record["title"] = "his"
            let second = try await ben.save(record)

            // Then creation stays and modification moves
            XCTAssertEqual(first.creationDate, created)
            XCTAssertEqual(first.modificationDate, created)
            XCTAssertEqual(second.creationDate, created)
            XCTAssertEqual(second.modificationDate, created + 3_600)
            XCTAssertEqual(second.creatorUserRecordID?.recordName, "anna")
            XCTAssertEqual(second.lastModifiedUserRecordID?.recordName, "ben")
        }
    }

    func testN5_theTypeOfARecordIsFixed() async throws {
        for policy in [RecordSavePolicy.changedKeys, .allKeys] {
            try await forEachStore { feed in
                let zone = try await feed.makeZone()
                try await feed.save("a", type: "Note", in: zone)
                let other = Record(recordType: "Task", recordID: Record.ID(recordName: "a", zoneID: zone))
                let result = try await feed.storingNothing { try await feed.save(other, policy) }
                XCTAssertEqual(result.error?.rule, "N5", "\(policy)")
                XCTAssertEqual(result.error?.recordID, other.recordID, "\(policy)")
            }
        }
    }

    func testB47_severalEditsBetweenTwoSavesAllArrive() async throws {
        try await forEachStore { feed in
            // Given a record, and a device that is offline
            let zone = try await feed.makeZone()
            var record = try await feed.database.save(feed.note("a", in: zone, ["date": "d1", "name": "n1"]))

            // When it edits one field, keeps the record, and edits another
            record["date"] = "d2"
            record = try Record(encoded: record.encoded())
            record["name"] = "n2"
            XCTAssertEqual(record.changedKeys, ["date", "name"])
            try await feed.database.save(record)

            // Then one save brings both
            let server = try await feed.database.record(for: record.recordID)
            XCTAssertEqual(server.texts, ["date": "d2", "name": "n2"])
        }
    }
}
