import ChangeFeed
import Foundation
import XCTest

/// All or nothing within a zone (rules M10 to M12, test 25 of section 8) and each for itself where not (B59).
final class AtomicBatchTests: XCTestCase {
    /// A record that is good, and one that conflicts: new although its id exists.
    private func conflicting(_ name: String, in zone: RecordZone.ID, _ feed: FeedFixture) async throws -> Record {
        try await feed.save(name, title: "server", in: zone)
        return feed.note(name, in: zone, ["title": "client"])
    }

    func testM11_theGuiltyHasItsOwnErrorAndAllOthersBatchRequestFailed() async throws {
        try await forEachStore { feed in
            // Given a zone with a record to conflict with and one to delete
            let zone = try await feed.makeZone()
            let bad = try await conflicting("bad", in: zone, feed)
            try await feed.save("old", in: zone)
            let old = Record.ID(recordName: "old", zoneID: zone)

            // When a batch has one guilty among good ones
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecords(
                    saving: [feed.note("one", in: zone), bad, feed.note("two", in: zone)], deleting: [old])
            }

            // Then each item says why
            XCTAssertEqual(
                results.outcomes,
                [
                    "!one batchRequestFailed", "!bad serverRecordChanged", "!two batchRequestFailed",
                    "!old batchRequestFailed",
                ])
            XCTAssertEqual(results.errors.count, 4)
            XCTAssertEqual(results.errors[bad.recordID]?.serverRecord?["title"], "server")
            for (recordID, error) in results.errors { XCTAssertEqual(error.recordID, recordID) }
        }
    }

    func testM11_everyGuiltyOneHasItsOwnError() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let conflict = try await conflicting("conflict", in: zone, feed)
            let held = try await feed.database.save(feed.note("gone", in: zone))
            try await feed.delete("gone", in: zone)
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecords(saving: [conflict, feed.note("good", in: zone), held])
            }
            XCTAssertEqual(
                results.outcomes, ["!conflict serverRecordChanged", "!good batchRequestFailed", "!gone unknownItem"])
        }
    }

    func testM11_aDeletionCanBeGuilty() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let first = try await feed.database.save(feed.note("a", in: zone))
            try await feed.save("a", title: "v2", in: zone)
            let request = RecordModifyRequest(
                saving: [feed.note("good", in: zone)],
                deleting: [
                    .init(recordID: first.recordID, recordChangeTag: first.recordChangeTag),
                    .init(recordID: Record.ID(recordName: "unknown", zoneID: zone)),
                ])
            let results = try await feed.storingNothing { try await feed.database.modifyRecords(request) }
            XCTAssertEqual(
                results.outcomes, ["!good batchRequestFailed", "!a serverRecordChanged", "!unknown batchRequestFailed"])
        }
    }

    func testM10_theUnitIsTheZone() async throws {
        try await forEachStore { feed in
            // Given two zones
            let (good, bad) = (try await feed.makeZone("Good"), try await feed.makeZone("Bad"))
            let conflict = try await conflicting("c", in: bad, feed)
            let missing = RecordZone.ID(zoneName: "Missing")
            let token = try await feed.databaseToken()
            let before = try await feed.pages(of: bad).flatMap(\.modifications)

            // When one request writes to both and to one that is missing
            let results = try await feed.database.modifyRecords(saving: [
                feed.note("b1", in: bad), feed.note("g1", in: good), conflict, feed.note("m1", in: missing),
                feed.note("g2", in: good), feed.note("m2", in: missing),
            ])

            // Then the good zone is written, the others are not
            XCTAssertEqual(
                results.outcomes,
                [
                    "!b1 batchRequestFailed", "+g1", "!c serverRecordChanged", "!m1 zoneNotFound", "+g2",
                    "!m2 zoneNotFound",
                ])
            let page = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(page.story, ["+Good"])
            let after = try await feed.pages(of: bad).flatMap(\.modifications)
            XCTAssertEqual(after, before)
        }
    }

    func testM10_atomicallyIsTheDefault() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let bad = try await conflicting("bad", in: zone, feed)
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecords(RecordModifyRequest(saving: [feed.note("one", in: zone), bad]))
            }
            XCTAssertEqual(results.outcomes, ["!one batchRequestFailed", "!bad serverRecordChanged"])
        }
    }

    func testB59_notAtomicallyEachItemIsForItself() async throws {
        try await forEachStore { feed in
            // Given five records of which two are refused
            let zone = try await feed.makeZone()
            let (bad, worse) = (
                try await conflicting("bad", in: zone, feed), try await conflicting("worse", in: zone, feed)
            )
            let token = try await feed.token(of: zone)

            // When they are saved each for itself
            let results = try await feed.database.modifyRecords(
                saving: [feed.note("a", in: zone), bad, feed.note("b", in: zone), worse, feed.note("c", in: zone)],
                atomically: false)

            // Then there are exactly five results, and three records
            XCTAssertEqual(
                results.outcomes, ["+a", "!bad serverRecordChanged", "+b", "!worse serverRecordChanged", "+c"])
            XCTAssertEqual(results.errors.count, 2)
            let saved = results.saves.compactMap { try? $0.result.get().recordChangeTag }
            XCTAssertEqual(Set(saved).count, 3)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+a", "+b", "+c"])
            XCTAssertEqual(page.modifications.map(\.recordChangeTag), saved)
        }
    }

    func testM10_inTheDefaultZoneAtomicallyIsIgnored() async throws {
        try await forEachStore { feed in
            // Given a zone that cannot commit atomically, with a record to conflict with
            let held = try await feed.database.save(feed.note("bad", in: .default, ["title": "server"]))
            let bad = feed.note("bad", in: .default, ["title": "client"])

            // When a batch with a conflict asks for all or nothing
            let results = try await feed.database.modifyRecords(
                saving: [feed.note("a", in: .default), bad, feed.note("b", in: .default)], atomically: true)

            // Then the good ones are stored
            XCTAssertEqual(results.outcomes, ["+a", "!bad serverRecordChanged", "+b"])
            let found = try await feed.database.records(for: results.saves.map(\.recordID))
            XCTAssertEqual(try found[bad.recordID]?.get(), held)
            XCTAssertEqual(found.values.filter { $0.error == nil }.count, 3)
        }
    }

    func testM12_aMalformedRecordFailsTheOthersOfItsZoneWhateverAtomicallySays() async throws {
        for atomically in [true, false] {
            try await forEachStore { feed in
                let (zone, other) = (try await feed.makeZone(), try await feed.makeZone("Other"))
                try await feed.save("old", in: zone)
                let old = Record.ID(recordName: "old", zoneID: zone)
                for malformed in malformedRecords(in: zone, feed) {
                    // When a malformed record is among good ones of its zone and of another
                    let token = try await feed.databaseToken()
                    let before = try await feed.pages(of: zone).flatMap(\.modifications)
                    let results = try await feed.database.modifyRecords(
                        saving: [feed.note("a", in: zone), malformed, feed.note("o", in: other)], deleting: [old],
                        savePolicy: .allKeys, atomically: atomically)

                    // Then its zone is untouched, and the other is written
                    let name = malformed.recordID.recordName
                    XCTAssertEqual(
                        results.outcomes,
                        ["!a batchRequestFailed", "!\(name) invalidArguments", "+o", "!old batchRequestFailed"])
                    let page = try await feed.database.databaseChanges(since: token)
                    XCTAssertEqual(page.story, ["+Other"])
                    let after = try await feed.pages(of: zone).flatMap(\.modifications)
                    XCTAssertEqual(after, before)
                }
            }
        }
    }

    func testM12_inTheDefaultZoneTooAlthoughItIsNotAtomic() async throws {
        try await forEachStore { feed in
            for malformed in malformedRecords(in: .default, feed) {
                let good = feed.note("a", in: .default)
                let results = try await feed.database.modifyRecords(saving: [good, malformed], atomically: false)
                XCTAssertEqual(
                    results.outcomes,
                    ["!a batchRequestFailed", "!\(malformed.recordID.recordName) invalidArguments"])
                let found = try await feed.database.records(for: [good.recordID])
                XCTAssertEqual(found[good.recordID]?.code, .unknownItem)
            }
        }
    }

    func testM12_aMalformedNameInADeletionFailsTheOthersToo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecords(
                    saving: [feed.note("a", in: zone)], deleting: [Record.ID(recordName: "_x", zoneID: zone)],
                    atomically: false)
            }
            XCTAssertEqual(results.outcomes, ["!a batchRequestFailed", "!_x invalidArguments"])
        }
    }

    func testB30_oneBatchOf250IsReadInThreePagesWithoutGapOrRepeat() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let records = (1...250).map { feed.note("r\($0)", in: zone) }
            let results = try await feed.database.modifyRecords(saving: records)
            XCTAssertEqual(results.errors.count, 0)
            let pages = try await feed.pages(of: zone, limit: 100)
            XCTAssertEqual(pages.map(\.changes.count), [100, 100, 50])
            XCTAssertEqual(Set(pages.flatMap(\.story)), Set((1...250).map { "+r\($0)" }))
        }
    }

    private func malformedRecords(in zone: RecordZone.ID, _ feed: FeedFixture) -> [Record] {
        [
            feed.note("_name", in: zone),
            feed.note("key", in: zone, ["a b": 1]),
            feed.note("list", in: zone, ["list": [1, "a"]]),
            Record(recordType: "No type", recordID: Record.ID(recordName: "type", zoneID: zone)),
        ]
    }
}
