import ChangeFeed
import Foundation
import XCTest

/// Values, keys and names are equal if their stored bytes are, in every store (api.md, "equality").
final class StoredBytesEqualityTests: XCTestCase {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    private func note(_ value: RecordValue) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        record["field"] = value
        return record
    }

    func testTheTwoSpellingsAreOneForSwift() {
        XCTAssertEqual(Self.composed, Self.decomposed)
        XCTAssertNotEqual(Array(Self.composed.utf8), Array(Self.decomposed.utf8))
    }

    func testDoublesAreEqualByBitPattern() {
        XCTAssertEqual(RecordValue.double(.nan), .double(.nan))
        XCTAssertNotEqual(RecordValue.double(.nan), .double(-Double.nan))
        XCTAssertNotEqual(RecordValue.double(0.0), .double(-0.0))
        XCTAssertEqual(Set<RecordValue>([.double(.nan), .double(.nan), .double(0), .double(-0.0)]).count, 3)
    }

    func testDatesAndPlacesAreEqualByBitPattern() {
        func date(_ seconds: Double) -> RecordValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }
        XCTAssertEqual(date(.nan), date(.nan))
        XCTAssertNotEqual(date(0.0), date(-0.0))

        let place = Location(latitude: .nan, longitude: 0)
        XCTAssertEqual(place, place)
        XCTAssertNotEqual(Location(latitude: 0, longitude: 0), Location(latitude: 0, longitude: -0.0))
        XCTAssertNotEqual(Location(latitude: 0, longitude: 0), Location(latitude: 0, longitude: 0, altitude: 0))
    }

    func testStringsAreEqualByTheirBytes() {
        XCTAssertNotEqual(RecordValue.string(Self.composed), .string(Self.decomposed))
        XCTAssertNotEqual([.string(Self.composed)] as RecordValue, [.string(Self.decomposed)])
        XCTAssertEqual(Set<RecordValue>([.string(Self.composed), .string(Self.decomposed)]).count, 2)
    }

    func testRecordsAreEqualByTheBytesOfTheirValues() {
        XCTAssertEqual(note(.double(.nan)), note(.double(.nan)))
        XCTAssertNotEqual(note(.double(0.0)), note(.double(-0.0)))
        XCTAssertNotEqual(note(.string(Self.composed)), note(.string(Self.decomposed)))
        XCTAssertNotEqual(note(1), note(1.0))
    }

    func testN8_idsAreEqualByTheBytesOfTheirNames() {
        XCTAssertNotEqual(Record.ID(recordName: Self.composed), Record.ID(recordName: Self.decomposed))
        XCTAssertNotEqual(RecordZone.ID(zoneName: Self.composed), RecordZone.ID(zoneName: Self.decomposed))
        XCTAssertNotEqual(
            RecordZone.ID(zoneName: "Z", ownerName: Self.composed),
            RecordZone.ID(zoneName: "Z", ownerName: Self.decomposed))
        XCTAssertNotEqual(
            Record.Reference(recordID: Record.ID(recordName: Self.composed)),
            Record.Reference(recordID: Record.ID(recordName: Self.decomposed)))
        let ids: Set<Record.ID> = [.init(recordName: Self.composed), .init(recordName: Self.decomposed)]
        XCTAssertEqual(ids.count, 2)
    }

    func testN3_nameAndOwnerBothTakePartInEquality() {
        let mine = RecordZone.ID(zoneName: "Z")
        let his = RecordZone.ID(zoneName: "Z", ownerName: "ben")
        XCTAssertEqual(mine, RecordZone.ID(zoneName: "Z", ownerName: RecordZone.ID.currentUserName))
        XCTAssertNotEqual(mine, his)
        XCTAssertNotEqual(Record.ID(recordName: "a", zoneID: mine), Record.ID(recordName: "a", zoneID: his))
        XCTAssertNotEqual(Record.ID(recordName: "a", zoneID: mine), Record.ID(recordName: "A", zoneID: mine))
    }

    func testTwoSpellingsOfAKeyAreTwoFields() {
        var record = Record(recordType: "Note")
        record[Self.composed] = 1
        record[Self.decomposed] = 2
        XCTAssertEqual(record[Self.composed], 1)
        XCTAssertEqual(record[Self.decomposed], 2)
        XCTAssertEqual(record.changedKeys.count, 2)
        XCTAssertEqual(record.allKeys.map { Array($0.utf8) }, [Array(Self.decomposed.utf8), Array(Self.composed.utf8)])

        record[Self.composed] = nil
        XCTAssertEqual(record[Self.decomposed], 2)
        XCTAssertEqual(record.allKeys.map { Array($0.utf8) }, [Array(Self.decomposed.utf8)])
    }

    func testTheServerKeepsTheSpellingAndTheBits() async throws {
        try await forEachStore { feed in
            // Given a record with values that Swift's equality would confuse
            let zone = try await feed.makeZone()
            let record = feed.note(
                "a", in: zone,
                [
                    "composed": .string(Self.composed), "decomposed": .string(Self.decomposed), "nan": .double(.nan),
                    "minus": .double(-0.0), "plus": 0.0, "zero": 0,
                ])
            let saved = try await feed.database.save(record)

            // When it is fetched by id and by the feed
            let found = try await feed.database.record(for: record.recordID)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)

            // Then every copy is the same, bit by bit
            for copy in [saved, found, try XCTUnwrap(page.modifications.first)] {
                XCTAssertEqual(copy.fields, record.fields)
                XCTAssertEqual(copy, saved)
            }
        }
    }

    func testR8_writingTheOtherSpellingIsARealChange() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = try await feed.database.save(feed.note("a", in: zone, ["name": .string(Self.composed)]))
            record["name"] = Self.decomposed
            let saved = try await feed.database.save(record)
            let server = try await feed.database.record(for: saved.recordID)
            XCTAssertEqual(server["name"] as RecordValue?, .string(Self.decomposed))
        }
    }

    func testN4_namesThatDifferInCaseAreTwoRecordsAndTwoZones() async throws {
        try await forEachStore { feed in
            let (upper, lower) = (try await feed.makeZone("Notes"), try await feed.makeZone("notes"))
            try await feed.save("a", "A", in: upper)
            try await feed.save("a", in: lower)
            let records = try await feed.pages(of: upper).flatMap(\.modifications)
            XCTAssertEqual(records.map(\.recordID.recordName).sorted(), ["A", "a"])
            let others = try await feed.pages(of: lower).flatMap(\.modifications)
            XCTAssertEqual(others.count, 1)
        }
    }
}
