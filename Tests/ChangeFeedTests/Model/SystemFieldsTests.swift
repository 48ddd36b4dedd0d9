import ChangeFeed
import Foundation
import XCTest

/// `encodeSystemFields`: an identity and a tag to keep beside the app's own copy of a record (rule R7, section 6.9a).
final class SystemFieldsTests: XCTestCase {
    private func savedNote(in feed: FeedFixture) async throws -> Record {
        let zone = try await feed.makeZone()
        return try await feed.database.save(feed.note("a", in: zone, ["title": "v1", "notes": "v1"]))
    }

    func testR7_systemFieldsCarryNoKeysAndNoChanges() async throws {
        try await forEachStore { feed in
            // Given a saved record that was edited since
            var record = try await savedNote(in: feed)
            let untouched = record.encodeSystemFields()
            record["title"] = "edited"

            // When it is rebuilt from its system fields
            let read = try Record(systemFields: record.encodeSystemFields())

            // Then it has identity and tag, and nothing else
            XCTAssertEqual(read.recordID, record.recordID)
            XCTAssertEqual(read.recordType, "Note")
            XCTAssertEqual(read.recordChangeTag, record.recordChangeTag)
            XCTAssertEqual(read.creationDate, record.creationDate)
            XCTAssertEqual(read.modificationDate, record.modificationDate)
            XCTAssertEqual(read.creatorUserRecordID, record.creatorUserRecordID)
            XCTAssertEqual(read.lastModifiedUserRecordID, record.lastModifiedUserRecordID)
            XCTAssertEqual(read.allKeys, [])
            XCTAssertEqual(read.changedKeys, [])
            XCTAssertEqual(record.encodeSystemFields(), untouched, "an edit shows in the system fields")
        }
    }

    func testR7_whatIsSetOnARebuiltRecordIsChangedAndSavesOverTheVersion() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                // Given an app that kept the system fields only
                let stored = try await savedNote(in: feed).encodeSystemFields()

                // When it sets one field and saves
                var record = try Record(systemFields: stored)
                record["title"] = "edited"
                XCTAssertEqual(record.changedKeys, ["title"])
                let saved = try await feed.save(record, policy).get()

                // Then only that field is written
                let server = try await feed.database.record(for: saved.recordID)
                XCTAssertEqual(server.texts, ["title": "edited", "notes": "v1"], "\(policy)")
            }
        }
    }

    func testR7_aNewRecordHasSystemFieldsToo() throws {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        record["title"] = "x"
        let read = try Record(systemFields: record.encodeSystemFields())
        XCTAssertEqual(read.recordID, record.recordID)
        XCTAssertNil(read.recordChangeTag)
        XCTAssertEqual(read.allKeys, [])
        XCTAssertEqual(read.changedKeys, [])
    }

    func testR7_aNewRecordRebuiltFromSystemFieldsIsCreatedBySaving() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = try Record(systemFields: feed.note("a", in: zone).encodeSystemFields())
            record["title"] = "x"
            let saved = try await feed.database.save(record)
            XCTAssertEqual(saved.texts, ["title": "x"])
        }
    }

    func testR7_theSameRecordGivesTheSameBytes() async throws {
        try await forEachStore { feed in
            let record = try await savedNote(in: feed)
            let fetched = try await feed.database.record(for: record.recordID)
            XCTAssertEqual(record.encodeSystemFields(), fetched.encodeSystemFields())
            XCTAssertEqual(
                record.encodeSystemFields(includingBase: true), fetched.encodeSystemFields(includingBase: true))
            XCTAssertNotEqual(record.encodeSystemFields(), record.encodeSystemFields(includingBase: true))
            let read = try Record(systemFields: record.encodeSystemFields())
            XCTAssertEqual(read.encodeSystemFields(), record.encodeSystemFields())
        }
    }

    func test6_9a_includingBaseCarriesTheValuesFetchedAndNotTheEdits() async throws {
        try await forEachStore { feed in
            var record = try await savedNote(in: feed)
            let fetched = record
            record["title"] = "edited"
            record["added"] = "x"

            let read = try Record(systemFields: record.encodeSystemFields(includingBase: true))

            XCTAssertEqual(read.texts, ["title": "v1", "notes": "v1"])
            XCTAssertEqual(read.changedKeys, [])
            XCTAssertNil(read.loadedKeys)
            XCTAssertEqual(read, fetched)
        }
    }

    func test6_9a_theBaseInTheSystemFieldsIsTheAncestorOfALaterConflict() async throws {
        try await forEachStore { feed in
            // Given two apps that kept the system fields of v1, one with and one without the base
            let first = try await savedNote(in: feed)
            let (with, without) = (first.encodeSystemFields(includingBase: true), first.encodeSystemFields())
            var other = first
            other["title"] = "v2"
            try await feed.database.save(other)

            // When each saves over what another device has changed
            var edit = try Record(systemFields: with)
            edit["title"] = "mine"
            let informed = try await feed.save(edit, .ifServerRecordUnchanged)
            edit = try Record(systemFields: without)
            edit["title"] = "mine"
            let ignorant = try await feed.save(edit, .ifServerRecordUnchanged)

            // Then the conflict knows v1 only where the client brought it
            XCTAssertEqual(informed.error?.ancestorRecord, first)
            XCTAssertEqual(ignorant.code, .serverRecordChanged)
            XCTAssertNil(ignorant.error?.ancestorRecord)
            XCTAssertEqual(ignorant.error?.serverRecord?.texts, ["title": "v2", "notes": "v1"])
        }
    }

    func test6_9a_theBaseOfAPartialRecordSaysThatItIsPartial() async throws {
        try await forEachStore { feed in
            let recordID = try await savedNote(in: feed).recordID
            let record = try await feed.database.records(for: [recordID], desiredKeys: ["title"])[recordID]?.get()
            let partial = try XCTUnwrap(record)
            let read = try Record(systemFields: partial.encodeSystemFields(includingBase: true))
            XCTAssertEqual(read.loadedKeys, ["title"])
            XCTAssertEqual(read.texts, ["title": "v1"])
            XCTAssertFalse(read.isLoaded("notes"))
        }
    }
}
