import ChangeFeed
import Foundation
import XCTest

/// What a record says of its fields before a server comes into it (rules R2, R3, R6; "three states of a field").
final class RecordFieldsTests: XCTestCase {
    private func makeNote(_ name: String = "a") -> Record {
        Record(recordType: "Note", recordID: Record.ID(recordName: name))
    }

    func testR2_settingNilRemovesTheKey() {
        // Given a record with two fields
        var record = makeNote()
        record["title"] = "x"
        record["stars"] = 3
        XCTAssertEqual(record.allKeys, ["stars", "title"])

        // When one is set to nil
        record["title"] = nil

        // Then only the other has a value
        XCTAssertEqual(record.allKeys, ["stars"])
        XCTAssertNil(record["title"] as RecordValue?)
        XCTAssertNil(record["title"] as String?)
    }

    func testR2_aTypedNilRemovesTheKeyToo() {
        var record = makeNote()
        record["title"] = "x"
        let nothing: String? = nil
        record["title"] = nothing
        XCTAssertEqual(record.allKeys, [])
    }

    func testR3_changedKeysAreThoseSetOrRemovedInOrderOfFirstSetting() {
        var record = makeNote()
        record["b"] = 1
        record["a"] = 2
        record["c"] = 3
        record["b"] = 4
        XCTAssertEqual(record.changedKeys, ["b", "a", "c"])
        XCTAssertEqual(record.allKeys, ["a", "b", "c"])
    }

    func testR3_aKeySetAndThenRemovedStaysChanged() {
        var record = makeNote()
        record["title"] = "x"
        record["title"] = nil
        XCTAssertEqual(record.changedKeys, ["title"])
        XCTAssertEqual(record.allKeys, [])
    }

    func testR3_removingAKeyThatNeverHadAValueIsAChange() {
        var record = makeNote()
        record["title"] = nil
        XCTAssertEqual(record.changedKeys, ["title"])
    }

    func testR3_aSaveAndAFetchEndTheChanges() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let saved = try await feed.database.save(feed.note("a", in: zone, ["title": "x", "stars": 3]))
            XCTAssertEqual(saved.changedKeys, [])

            // When a value is written again that is there already
            var fetched = try await feed.database.record(for: saved.recordID)
            XCTAssertEqual(fetched.changedKeys, [])
            fetched["title"] = "x"

            // Then it counts as set
            XCTAssertEqual(fetched.changedKeys, ["title"])
        }
    }

    func testCopiesAreIndependent() {
        // Given two copies of one record
        var first = makeNote()
        first["title"] = "one"
        var second = first

        // When each is edited
        second["title"] = "two"
        second["stars"] = 2
        first["notes"] = "n"

        // Then neither sees the other's edits
        XCTAssertEqual(first.texts, ["title": "one", "notes": "n"])
        XCTAssertEqual(second.texts, ["title": "two"])
        XCTAssertEqual(first.changedKeys, ["title", "notes"])
        XCTAssertEqual(second.changedKeys, ["title", "stars"])
        XCTAssertNotEqual(first, second)
    }

    func testCopiesOfASavedRecordAreIndependentOfItAndOfTheServer() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let saved = try await feed.database.save(feed.note("a", in: zone, ["title": "one"]))
            var copy = saved
            copy["title"] = nil
            XCTAssertEqual(saved["title"], "one")
            let server = try await feed.database.record(for: saved.recordID)
            XCTAssertEqual(server["title"], "one")
            XCTAssertEqual(copy.recordChangeTag, saved.recordChangeTag)
        }
    }

    func testR6_systemFieldsAreNilUntilTheFirstSave() {
        let record = makeNote()
        XCTAssertNil(record.recordChangeTag)
        XCTAssertNil(record.creationDate)
        XCTAssertNil(record.modificationDate)
        XCTAssertNil(record.creatorUserRecordID)
        XCTAssertNil(record.lastModifiedUserRecordID)
        XCTAssertNil(record.parent)
    }

    func testN1_aRecordWithoutANameGetsAUUID() {
        let first = Record(recordType: "Note")
        let second = Record(recordType: "Note")
        XCTAssertNotNil(UUID(uuidString: first.recordID.recordName))
        XCTAssertNotEqual(first.recordID, second.recordID)
        XCTAssertEqual(first.recordID.zoneID, .default)
    }

    func testIterationWalksTheFieldsThatHaveAValueByTheBytesOfTheirKeys() {
        var record = makeNote()
        record["b"] = 1
        record["B"] = 2
        record["a"] = 3
        record["gone"] = 4
        record["gone"] = nil

        var walked: [String] = []
        for field in record { walked.append("\(field.key)=\(field.value)") }

        XCTAssertEqual(walked, ["B=int64(2)", "a=int64(3)", "b=int64(1)"])
        XCTAssertEqual(record.fields.map(\.key), record.allKeys)
    }

    func testIterationSeesEditsOverFetchedValues() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = try await feed.database.save(feed.note("a", in: zone, ["a": "1", "c": "3", "d": "4"]))
            record["b"] = "2"
            record["c"] = "three"
            record["d"] = nil
            XCTAssertEqual(record.map(\.key), ["a", "b", "c"])
            XCTAssertEqual(record.texts, ["a": "1", "b": "2", "c": "three"])
        }
    }

    func testN6_keysNamedLikePropertiesOfARecordAreOrdinary() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = feed.note("a", in: zone)
            let names = ["parent", "recordID", "recordType", "share", "recordChangeTag", "creationDate"]
            for name in names { record[name] = "mine" }
            XCTAssertNil(record.parent)

            let saved = try await feed.database.save(record)

            XCTAssertEqual(saved.allKeys, names.sorted())
            XCTAssertNil(saved.parent)
            XCTAssertEqual(saved.recordType, "Note")
            XCTAssertEqual(saved["creationDate"], "mine")
            XCTAssertEqual(saved.creationDate, feed.clock.now)
        }
    }
}
