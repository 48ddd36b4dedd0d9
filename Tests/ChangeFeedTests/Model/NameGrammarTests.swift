import ChangeFeed
import Foundation
import XCTest

/// The grammar of names at its edges (rules N1 to N7, section 6.12; test 30 of section 8).
///
/// Names are never checked where they are made: the save is refused, with an error that names the item and the rule.
final class NameGrammarTests: XCTestCase {
    private static let longest = String(repeating: "x", count: 255)
    private static let tooLong = String(repeating: "x", count: 256)
    private static let notASCII = ["\u{E9}", "e\u{301}", "名", "a\u{80}", "👍"]

    private func expectSaved(_ record: Record, _ story: String, in feed: FeedFixture) async throws {
        let result = try await feed.save(record, .ifServerRecordUnchanged)
        XCTAssertNil(result.error, story)
        let found = try await feed.database.record(for: record.recordID)
        XCTAssertEqual(found.fields, record.fields, story)
        XCTAssertEqual(found.recordType, record.recordType, story)
    }

    private func expectRefused(_ record: Record, rule: String, _ story: String, in feed: FeedFixture) async throws {
        for policy in RecordSavePolicy.allCases {
            let result = try await feed.storingNothing(story) { try await feed.save(record, policy) }
            let error = try XCTUnwrap(result.error, story)
            XCTAssertEqual(error.code, .invalidArguments, story)
            XCTAssertEqual(error.rule, rule, story)
            XCTAssertEqual(error.recordID, record.recordID, story)
            XCTAssertFalse(error.isRetryable, story)
        }
    }

    func testN1_recordNames() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            for name in ["a", "0", Self.longest, "a_", "a b", "-", "$", "a/b:c", "A.B", UUID().uuidString, "~"] {
                try await expectSaved(feed.note(name, in: zone, ["title": "x"]), name, in: feed)
            }
            for name in ["", "_", "_a", "_defaultZone", Self.tooLong] + Self.notASCII {
                try await expectRefused(feed.note(name, in: zone), rule: "N1", name, in: feed)
            }
        }
    }

    func testN1_aMalformedNameIsRefusedInADeletionToo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            for name in ["", "_a", Self.tooLong, "\u{E9}"] {
                let recordID = Record.ID(recordName: name, zoneID: zone)
                let results = try await feed.storingNothing {
                    try await feed.database.modifyRecords(saving: [], deleting: [recordID])
                }
                XCTAssertEqual(results.deletions.first?.result.code, .invalidArguments, name)
                XCTAssertEqual(results.deletions.first?.result.error?.rule, "N1", name)
                XCTAssertEqual(results.deletions.first?.result.error?.recordID, recordID, name)
            }
        }
    }

    func testN2_zoneNames() async throws {
        try await forEachStore { feed in
            for name in ["a", "0", Self.longest, "a_", "a b", "$", "a/b"] {
                let zone = try await feed.database.save(RecordZone(zoneName: name))
                XCTAssertEqual(zone.zoneID.zoneName, name)
                try await feed.save("r", in: zone.zoneID)
            }
            for name in ["", "_", "_a", "_defaultZone2", "_DefaultZone", Self.tooLong] + Self.notASCII {
                let results = try await feed.storingNothing(name) {
                    try await feed.database.modifyRecordZones(saving: [RecordZone(zoneName: name)])
                }
                let error = try XCTUnwrap(results.saves.first?.result.error, name)
                XCTAssertEqual(error.code, .invalidArguments, name)
                XCTAssertEqual(error.rule, "N2", name)
                XCTAssertEqual(error.zoneID, RecordZone.ID(zoneName: name), name)
            }
        }
    }

    func testN2_theDefaultZoneHasTheOneNameThatBeginsWithAnUnderscore() async throws {
        try await forEachStore { feed in
            XCTAssertEqual(RecordZone.ID.default.zoneName, "_defaultZone")
            let zone = try await feed.database.save(RecordZone(zoneID: .default))
            XCTAssertEqual(zone.zoneID, .default)
            let record = try await feed.database.save(feed.note("a", in: .default, ["title": "x"]))
            XCTAssertNotNil(record.recordChangeTag)
        }
    }

    func testN3_ownerNames() async throws {
        try await forEachStore { feed in
            for owner in ["", "_", "ben", Self.longest, Self.tooLong, "\u{E9}"] {
                let zoneID = RecordZone.ID(zoneName: "Notes", ownerName: owner)
                let results = try await feed.storingNothing(owner) {
                    try await feed.database.modifyRecordZones(saving: [RecordZone(zoneID: zoneID)])
                }
                let error = try XCTUnwrap(results.saves.first?.result.error, "a zone of \(owner) in Anna's database")
                XCTAssertEqual(error.zoneID, zoneID, owner)
            }
        }
    }

    func testN5_recordTypes() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            func record(_ type: String) -> Record {
                Record(recordType: type, recordID: Record.ID(recordName: UUID().uuidString, zoneID: zone))
            }
            for type in ["N", "n", "Note2", "Note_2", "n_", Self.longest] {
                try await expectSaved(record(type), type, in: feed)
            }
            for type in ["", "_", "__", "_Note", "2Note", "No te", " Note", "Note ", "No-te", "No$te", Self.tooLong]
                + Self.notASCII
            {
                try await expectRefused(record(type), rule: "N5", type, in: feed)
            }
        }
    }

    func testN6_keys() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            for key in ["k", "K", "key2", "key_2", "k_", Self.longest] {
                try await expectSaved(feed.note(UUID().uuidString, in: zone, [key: "x"]), key, in: feed)
            }
            for key in ["", "_", "_x", "2x", "a b", " a", "a ", "a-b", "a.b", Self.tooLong] + Self.notASCII {
                try await expectRefused(feed.note("a", in: zone, ["good": 1, key: "x"]), rule: "N6", key, in: feed)
            }
        }
    }

    func testN7_theMeasuredWiderGrammarOfKeysIsNotWritten() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            for key in ["_x", "a$b", "$", "_1$"] {
                try await expectRefused(feed.note("a", in: zone, [key: "x"]), rule: "N6", key, in: feed)
            }
        }
    }

    func testN6_clearingAMalformedKeyIsRefusedToo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = feed.note("a", in: zone, ["title": "x"])
            record["a b"] = nil
            try await expectRefused(record, rule: "N6", "a key that is cleared", in: feed)
        }
    }

    func testN6_allKeysChecksTheKeysThatItSendsAlthoughNobodyChangedThem() async throws {
        try await forEachStore { feed in
            // Given a record that another server, with longer names, has under the same id
            let zone = try await feed.makeZone()
            let relaxed = FeedFixture(limits: .relaxed)
            try await relaxed.makeZone()
            let fetched = try await relaxed.database.save(feed.note("a", in: zone, [Self.tooLong: "x", "title": "y"]))
            try await feed.save("a", title: "here", in: zone)

            // When its values are all written over the record here
            let result = try await feed.storingNothing { try await feed.save(fetched, .allKeys) }

            // Then this server's grammar holds
            XCTAssertEqual(result.code, .invalidArguments)
            XCTAssertEqual(result.error?.rule, "N6")
        }
    }

    func test6_12_theLengthOfNamesIsALimit() async throws {
        let limits = Limits.relaxed
        try await forEachStore(limits: limits) { feed in
            let zone = try await feed.makeZone()
            let longest = String(repeating: "n", count: limits.nameCharacters)
            try await expectSaved(feed.note(longest, in: zone, [longest: "x"]), "as long as allowed", in: feed)
            try await expectRefused(feed.note(longest + "n", in: zone), rule: "N1", "one longer", in: feed)
        }
    }
}
