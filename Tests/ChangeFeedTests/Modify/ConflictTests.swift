import ChangeFeed
import Foundation
import XCTest

/// Conflicts: the three records, the ancestor, and that nobody's clock decides (rule M18, section 6.9a, B62 to B66).
final class ConflictTests: XCTestCase {
    private func firstVersion(in feed: FeedFixture) async throws -> Record {
        let zone = try await feed.makeZone()
        return try await feed.database.save(feed.note("a", in: zone, ["title": "foo", "notes": "n"]))
    }

    private func edit(_ record: Record, title: String) -> Record {
        var record = record
        record["title"] = title
        return record
    }

    private func conflict(
        of record: Record, in feed: FeedFixture, file: StaticString = #filePath, line: UInt = #line
    ) async throws -> ChangeFeedError {
        let result = try await feed.storingNothing(file: file, line: line) {
            try await feed.save(record, .ifServerRecordUnchanged)
        }
        let error = try XCTUnwrap(result.error, file: file, line: line)
        XCTAssertEqual(error.code, .serverRecordChanged, file: file, line: line)
        return error
    }

    func testM18_aConflictCarriesAncestorClientAndServerRecord() async throws {
        try await forEachStore { feed in
            // Given two devices that hold v1, of which one has saved v2
            let v1 = try await firstVersion(in: feed)
            let v2 = try await feed.database.save(edit(v1, title: "fooB"))

            // When the other saves its edit of v1
            let mine = edit(v1, title: "fooA")
            let error = try await conflict(of: mine, in: feed)

            // Then the error has all three, exactly
            XCTAssertEqual(error.clientRecord, mine)
            XCTAssertEqual(error.serverRecord, v2)
            XCTAssertEqual(error.ancestorRecord, v1)
            XCTAssertEqual(error.ancestorRecord?.changedKeys, [])
            XCTAssertEqual(error.clientRecord?.changedKeys, ["title"])
            XCTAssertEqual(error.recordID, v1.recordID)
            XCTAssertEqual(error.zoneID, v1.recordID.zoneID)
            XCTAssertEqual(error.rule, "M3")
            XCTAssertFalse(error.isRetryable)
        }
    }

    func testM18_mergingIntoTheServersRecordSaves() async throws {
        try await forEachStore { feed in
            let v1 = try await firstVersion(in: feed)
            var other = v1
            other["notes"] = "other"
            try await feed.database.save(other)
            let error = try await conflict(of: edit(v1, title: "mine"), in: feed)

            // When the client's change is put on the server's record
            var merged = try XCTUnwrap(error.serverRecord)
            merged["title"] = error.clientRecord?["title"] as String?
            let saved = try await feed.database.save(merged)

            // Then both edits are there; the client's own record would be refused for ever
            XCTAssertEqual(saved.texts, ["title": "mine", "notes": "other"])
            _ = try await conflict(of: edit(v1, title: "again"), in: feed)
        }
    }

    func testM6_aNewRecordOverAnExistingOneHasNoAncestor() async throws {
        try await forEachStore { feed in
            let v1 = try await firstVersion(in: feed)
            let new = feed.note("a", in: v1.recordID.zoneID, ["title": "mine"])
            let error = try await conflict(of: new, in: feed)
            XCTAssertEqual(error.serverRecord, v1)
            XCTAssertEqual(error.clientRecord, new)
            XCTAssertNil(error.ancestorRecord)
            XCTAssertEqual(error.rule, "M6")
        }
    }

    func testB62_theAncestorIsWhatTheClientHadInEveryPath() async throws {
        try await forEachStore { feed in
            // Given v1 as a device fetched it, as it saved it, and as it kept it over a restart
            let saved = try await firstVersion(in: feed)
            let fetched = try await feed.database.record(for: saved.recordID)
            let page = try await feed.database.recordZoneChanges(inZoneWith: saved.recordID.zoneID, since: nil)
            let paged = try XCTUnwrap(page.modifications.first)
            let archived = try Record(encoded: edit(saved, title: "draft").encoded())
            let rebuilt = try Record(systemFields: saved.encodeSystemFields(includingBase: true))

            // When other devices have made v2 and v3
            var other = try await feed.database.save(edit(saved, title: "v2"))
            other = try await feed.database.save(edit(other, title: "v3"))

            // Then the ancestor of every conflict is v1, also at the second attempt
            for held in [saved, fetched, paged, archived, rebuilt] {
                for title in ["fooA", "fooAA"] {
                    let error = try await conflict(of: edit(held, title: title), in: feed)
                    XCTAssertEqual(error.ancestorRecord, saved)
                    XCTAssertEqual(error.serverRecord, other)
                }
            }
        }
    }

    func testB62_aRefusedSaveDoesNotBecomeTheBase() async throws {
        try await forEachStore { feed in
            // Given a client whose edit of v1 was refused
            let v1 = try await firstVersion(in: feed)
            try await feed.database.save(edit(v1, title: "v2"))
            let refused = try await conflict(of: edit(v1, title: "fooA"), in: feed)

            // When it goes on with the record of the error
            let client = try XCTUnwrap(refused.clientRecord)
            let error = try await conflict(of: edit(client, title: "fooAA"), in: feed)

            // Then the ancestor is still what the server once returned
            XCTAssertEqual(error.ancestorRecord?["title"], "foo")
            XCTAssertEqual(error.ancestorRecord?.recordChangeTag, v1.recordChangeTag)
        }
    }

    func testB62_onlyAVersionFromTheServerReplacesTheAncestor() async throws {
        try await forEachStore { feed in
            let v1 = try await firstVersion(in: feed)
            let v2 = try await feed.database.save(edit(v1, title: "fooB"))
            let first = try await conflict(of: edit(v1, title: "fooA"), in: feed)
            let v3 = try await feed.database.save(edit(v2, title: "fooC"))

            // When the server's record of the first conflict was edited meanwhile
            let merged = edit(try XCTUnwrap(first.serverRecord), title: "merged")
            let second = try await conflict(of: merged, in: feed)

            // Then that record is the ancestor
            XCTAssertEqual(second.ancestorRecord, v2)
            XCTAssertEqual(second.serverRecord, v3)
        }
    }

    func test6_9a_theAncestorOfAPartialRecordIsPartial() async throws {
        try await forEachStore { feed in
            let v1 = try await firstVersion(in: feed)
            let found = try await feed.database.records(for: [v1.recordID], desiredKeys: ["title"])
            let held = try XCTUnwrap(found[v1.recordID]).get()
            try await feed.database.save(edit(v1, title: "v2"))
            let error = try await conflict(of: edit(held, title: "mine"), in: feed)
            XCTAssertEqual(error.ancestorRecord?.texts, ["title": "foo"])
            XCTAssertEqual(error.ancestorRecord?.isLoaded("notes"), false)
            XCTAssertEqual(error.serverRecord?.texts, ["title": "v2", "notes": "n"])
            XCTAssertEqual(error.serverRecord?.isLoaded("notes"), true)
        }
    }

    func testB64_noClockDecidesAConflict() async throws {
        for step: TimeInterval in [-3_600, 0, 3_600] {
            try await forEachStore { feed in
                // Given a save after which the server's clock stood still or jumped
                let v1 = try await firstVersion(in: feed)
                feed.clock.advance(by: step)
                var other = v1
                other["editedAt"] = .date(.distantFuture)
                let v2 = try await feed.database.save(other)
                XCTAssertEqual(v2.modificationDate, feed.clock.now)
                XCTAssertNotEqual(v2.recordChangeTag, v1.recordChangeTag)

                // Then the version decides, and a date in the future is a field like any other
                _ = try await conflict(of: edit(v1, title: "mine"), in: feed)
                var merged = v2
                merged["editedAt"] = .date(.distantPast)
                let v3 = try await feed.database.save(merged)
                XCTAssertEqual(v3["editedAt"], Date.distantPast)
            }
        }
    }

    func testB65_onlyAllKeysMayOverwriteAndNoPolicyRaisesTheDead() async throws {
        try await forEachStore { feed in
            let v1 = try await firstVersion(in: feed)
            try await feed.delete("a", in: v1.recordID.zoneID)
            for policy in RecordSavePolicy.allCases {
                let result = try await feed.storingNothing { try await feed.save(edit(v1, title: "mine"), policy) }
                XCTAssertEqual(result.code, .unknownItem, "\(policy)")
                XCTAssertEqual(result.error?.rule, "M7", "\(policy)")
            }
            let found = try await feed.database.records(for: [v1.recordID])
            XCTAssertEqual(found[v1.recordID]?.code, .unknownItem)
        }
    }

    func testB66_anEditOfADeletedRecordIsToldFromAMissingZone() async throws {
        try await forEachStore { feed in
            // Given a record that one device deleted while another edited it
            let v1 = try await firstVersion(in: feed)
            let mine = edit(v1, title: "mine")
            try await feed.delete("a", in: v1.recordID.zoneID)

            // When the edit is sent
            let result = try await feed.storingNothing { try await feed.save(mine, .ifServerRecordUnchanged) }

            // Then the app can tell, and can keep the edit by saving it as a new record
            XCTAssertEqual(result.code, .unknownItem)
            XCTAssertEqual(result.error?.recordID, v1.recordID)
            XCTAssertEqual(result.error?.clientRecord, mine)
            var kept = Record(recordType: mine.recordType, recordID: mine.recordID)
            for field in mine { kept[field.key] = field.value }
            let saved = try await feed.database.save(kept)
            XCTAssertEqual(saved.texts, ["title": "mine", "notes": "n"])

            try await feed.deleteZone(v1.recordID.zoneID)
            let gone = try await feed.save(mine, .ifServerRecordUnchanged)
            XCTAssertEqual(gone.code, .zoneNotFound)
        }
    }
}
