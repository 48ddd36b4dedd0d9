import ChangeFeed
import Foundation
import XCTest

/// Whole records in an archive: values, edits, base and system fields survive, and the same record gives the same bytes.
final class RecordArchiveTests: XCTestCase {
    /// One value of every kind, with the edges that a sloppy encoding loses.
    static let everyValue: KeyValuePairs<String, RecordValue> = [
        "text": "e\u{301}\u{0}👩‍👩‍👧", "emptyText": "", "zero": 0, "fifteen": 15, "sixteen": 16, "minusOne": -1,
        "least": .int64(.min), "greatest": .int64(.max), "nan": .double(.nan), "minusZero": .double(-0.0),
        "third": .double(1 / 3), "data": .bytes(Data([7, 0, 255])[1...]), "emptyData": .bytes(Data()),
        "date": .date(Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)),
        "place": .location(
            Location(latitude: .nan, longitude: -0.0, timestamp: Date(timeIntervalSinceReferenceDate: 1))),
        "link": .reference(.init(recordID: .init(recordName: "other"), action: .none)),
        "emptyList": [], "texts": ["a", "", "b"], "numbers": [1, .int64(.min)],
    ]

    /// A record that was fetched and then edited in every way.
    static func editedRecord(in feed: FeedFixture) async throws -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        for (key, value) in everyValue { record[key] = value }
        record["kept"] = "base"
        record["dropped"] = "base"
        record = try await feed.database.save(record)
        record["kept"] = "edited"
        record["dropped"] = nil
        record["added"] = .double(.nan)
        record["addedAndDropped"] = 1
        record["addedAndDropped"] = nil
        record.setParent(Record.ID(recordName: "above"))
        return record
    }

    private func expectSame(_ read: Record, _ record: Record, file: StaticString = #filePath, line: UInt = #line) {
        XCTAssertEqual(read, record, file: file, line: line)
        XCTAssertEqual(read.fields, record.fields, file: file, line: line)
        XCTAssertEqual(read.changedKeys, record.changedKeys, file: file, line: line)
        XCTAssertEqual(read.loadedKeys, record.loadedKeys, file: file, line: line)
        XCTAssertEqual(read.recordChangeTag, record.recordChangeTag, file: file, line: line)
        XCTAssertEqual(read.creationDate, record.creationDate, file: file, line: line)
        XCTAssertEqual(read.modificationDate, record.modificationDate, file: file, line: line)
        XCTAssertEqual(read.creatorUserRecordID, record.creatorUserRecordID, file: file, line: line)
        XCTAssertEqual(read.lastModifiedUserRecordID, record.lastModifiedUserRecordID, file: file, line: line)
        XCTAssertEqual(read.parent, record.parent, file: file, line: line)
        XCTAssertEqual(read.encoded(), record.encoded(), file: file, line: line)
    }

    func testANewRecordWithEveryKindOfValueSurvives() throws {
        let zone = RecordZone.ID(zoneName: "Z", ownerName: "ben")
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
        for (key, value) in Self.everyValue { record[key] = value }
        let read = try Record(encoded: record.encoded())
        expectSame(read, record)
        XCTAssertEqual(read.recordID.zoneID.ownerName, "ben")
        XCTAssertEqual(read.fields.count, Self.everyValue.count)
    }

    func testAnEmptyRecordSurvives() throws {
        let record = Record(recordType: "", recordID: Record.ID(recordName: ""))
        expectSame(try Record(encoded: record.encoded()), record)
    }

    func testEditsSurviveBesideTheVersionThatTheyChange() async throws {
        try await forEachStore { feed in
            let record = try await Self.editedRecord(in: feed)
            let read = try Record(encoded: record.encoded())
            expectSame(read, record)
            XCTAssertEqual(read.changedKeys, ["kept", "dropped", "added", "addedAndDropped"])
            XCTAssertEqual(read["kept"], "edited")
            XCTAssertTrue(read.isLoaded("dropped"))
        }
    }

    func testAPartialRecordStaysPartial() async throws {
        try await forEachStore { feed in
            let recordID = try await Self.editedRecord(in: feed).recordID
            for keys in [[], ["kept"], ["kept", "absent"]] {
                var record = try await feed.database.records(for: [recordID], desiredKeys: keys)[recordID]?.get()
                record?["added"] = 1
                let partial = try XCTUnwrap(record)
                let read = try Record(encoded: partial.encoded())
                expectSame(read, partial)
                XCTAssertFalse(read.isLoaded("text"))
                XCTAssertEqual(read.loadedKeys, Set(keys + ["added"]))
            }
        }
    }

    func testARecordReadFromAnArchiveSavesAsTheOriginalWould() async throws {
        try await forEachStore { feed in
            // Given an edited record that was archived over a restart
            let zone = try await feed.makeZone()
            var record = try await feed.database.save(feed.note("a", in: zone, ["title": "t", "notes": "n"]))
            record["title"] = "edited"
            record["notes"] = nil
            let restored = try Record(encoded: record.encoded())

            // When it is saved
            let saved = try await feed.database.save(restored)

            // Then the edits reach the server
            XCTAssertEqual(saved.texts, ["title": "edited"])
            XCTAssertNotEqual(saved.recordChangeTag, record.recordChangeTag)
        }
    }

    func testR7_aRecordRebuiltFromSystemFieldsAndThenEditedSurvives() async throws {
        try await forEachStore { feed in
            let stored = try await Self.editedRecord(in: feed).encodeSystemFields()
            var record = try Record(systemFields: stored)
            record["title"] = "x"
            record["gone"] = nil
            let read = try Record(encoded: record.encoded())
            expectSame(read, record)
            XCTAssertEqual(read.loadedKeys, ["title", "gone"])
        }
    }

    func testTheSameRecordGivesTheSameBytes() async throws {
        try await forEachStore { feed in
            let record = try await Self.editedRecord(in: feed)
            XCTAssertEqual(record.encoded(), record.encoded())
            XCTAssertEqual(try Record(encoded: record.encoded()).encoded(), record.encoded())

            let found = try await feed.database.record(for: record.recordID)
            let again = try await feed.database.record(for: record.recordID)
            XCTAssertEqual(found.encoded(), again.encoded())
            XCTAssertNotEqual(found.encoded(), record.encoded())
        }
    }

    func testTheSameKeysOfAPartialRecordGiveTheSameBytesInWhateverOrderTheyWereAskedFor() async throws {
        try await forEachStore { feed in
            let recordID = try await Self.editedRecord(in: feed).recordID
            let keys = Self.everyValue.map(\.key)
            let one = try await feed.database.records(for: [recordID], desiredKeys: keys)[recordID]?.get()
            let two = try await feed.database.records(for: [recordID], desiredKeys: keys.reversed())[recordID]?.get()
            XCTAssertEqual(try XCTUnwrap(one).encoded(), try XCTUnwrap(two).encoded())
        }
    }

    func testN7_keysOfTheMeasuredGrammarAreReadThoughTheyCannotBeSaved() throws {
        var record = Record(recordType: "Note")
        for key in ["_x", "a$b", "9", "", "e\u{301}", "\u{E9}"] { record[key] = "v" }
        let read = try Record(encoded: record.encoded())
        expectSame(read, record)
        XCTAssertEqual(read.allKeys.count, 6)
    }

    // MARK: Coders

    private struct Outbox: Codable, Equatable {
        var records: [Record]
        var byName: [String: Record]
        var last: Record?
        var zone: RecordZone.ID
        var link: Record.Reference
    }

    func testRecordsGoThroughJSONAndPropertyLists() async throws {
        try await forEachStore { feed in
            let record = try await Self.editedRecord(in: feed)
            let outbox = Outbox(
                records: [record, Record(recordType: "Note")], byName: ["a": record], last: nil,
                zone: RecordZone.ID(zoneName: "Z", ownerName: "ben"),
                link: .init(recordID: record.recordID, action: .deleteSelf))

            let json = try JSONDecoder().decode(Outbox.self, from: JSONEncoder().encode(outbox))
            XCTAssertEqual(json, outbox)
            for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
                let encoder = PropertyListEncoder()
                encoder.outputFormat = format
                let list = try PropertyListDecoder().decode(Outbox.self, from: encoder.encode(outbox))
                XCTAssertEqual(list, outbox)
            }
            expectSame(try JSONDecoder().decode(Record.self, from: JSONEncoder().encode(record)), record)
        }
    }

    func testOtherJSONIsRefused() {
        for text in ["\"\"", "\"AAAA\"", "\"no base64\"", "{}", "[]", "3", "null", "\"Q0ZSAQ==\""] {
            XCTAssertThrowsError(try JSONDecoder().decode(Record.self, from: Data(text.utf8)), text)
        }
    }
}
