import ChangeFeed
import Foundation
import XCTest

/// Records and zones by id: one result for each, within the limits of a request.
final class LookupTests: XCTestCase {
    func testEveryRecordThatIsAskedForHasItsOwnResult() async throws {
        try await forEachStore { feed in
            // Given records in two zones, and one that was deleted
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            try await feed.save("a", title: "in one", in: one)
            try await feed.save("a", title: "in two", in: two)
            try await feed.save("gone", in: one)
            try await feed.delete("gone", in: one)
            let missing = RecordZone.ID(zoneName: "Missing")
            let ids = [("a", one), ("a", two), ("gone", one), ("never", two), ("a", missing), ("x", .default)]
                .map { Record.ID(recordName: $0.0, zoneID: $0.1) }

            // When all are looked up, one of them twice
            let found = try await feed.database.records(for: ids + [ids[0]])

            // Then there is one result for each
            XCTAssertEqual(found.count, 6)
            XCTAssertEqual(try found[ids[0]]?.get()["title"], "in one")
            XCTAssertEqual(try found[ids[1]]?.get()["title"], "in two")
            XCTAssertEqual(
                ids.suffix(4).map { found[$0]?.code }, [.unknownItem, .unknownItem, .zoneNotFound, .unknownItem])
            for id in ids.suffix(4) { XCTAssertEqual(found[id]?.error?.recordID ?? id, id) }
            XCTAssertEqual(found[ids[4]]?.error?.zoneID, missing)
        }
    }

    func testOneRecordIsThereOrAnError() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let saved = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            let found = try await feed.database.record(for: saved.recordID)
            XCTAssertEqual(found, saved)
            let never = Record.ID(recordName: "never", zoneID: zone)
            let error = try await feed.refuses(.unknownItem) { try await feed.database.record(for: never) }
            XCTAssertEqual(error?.recordID, never)
        }
    }

    func testFZ3_desiredKeysSelectFields() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let id = try await feed.database.save(feed.note("a", in: zone, ["t": "1", "u": "2"])).recordID
            func lookUp(_ keys: [String]?) async throws -> Record {
                let found = try await feed.database.records(for: [id], desiredKeys: keys)
                return try XCTUnwrap(found[id]).get()
            }
            let (all, none, some) = (try await lookUp(nil), try await lookUp([]), try await lookUp(["u", "v"]))
            XCTAssertEqual(all.texts, ["t": "1", "u": "2"])
            XCTAssertNil(all.loadedKeys)
            XCTAssertEqual(none.texts, [:])
            XCTAssertEqual(none.loadedKeys, [])
            XCTAssertEqual(some.texts, ["u": "2"])
            XCTAssertEqual(some.loadedKeys, ["u", "v"])
            XCTAssertEqual(Set([all, none, some].map(\.recordChangeTag)).count, 1)
        }
    }

    func testM21_400IdsGoThroughAnd401DoNot() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 400)
            let ids = (1...401).map { Record.ID(recordName: "r\($0)", zoneID: zone) }
            let found = try await feed.database.records(for: Array(ids.prefix(400)))
            XCTAssertEqual(found.values.filter { $0.error == nil }.count, 400)

            let error = try await feed.refuses(.limitExceeded) { try await feed.database.records(for: ids) }
            XCTAssertEqual(error?.limit, .init(name: "itemsPerRequest", allowed: 400, found: 401))
            let zones = (0...400).map { RecordZone.ID(zoneName: "z\($0)") }
            let other = try await feed.refuses(.limitExceeded) {
                try await feed.database.recordZones(RecordZonesRequest(zoneIDs: zones))
            }
            XCTAssertEqual(other?.limit, .init(name: "itemsPerRequest", allowed: 400, found: 401))
        }
    }

    func testAskingForNothingGivesNothing() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let records = try await feed.database.records(for: [])
            XCTAssertEqual(records.count, 0)
            let zones = try await feed.database.recordZones(RecordZonesRequest(zoneIDs: []))
            XCTAssertEqual(zones.count, 0, "an empty list is not the same as no list")
        }
    }

    func testNamesThatNothingCanHaveAreNotFoundAndTrapNothing() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let names = ["", "_", "\u{E9}", "e\u{301}", "\u{0}", String(repeating: "x", count: 100_000)]
            let ids = names.map { Record.ID(recordName: $0, zoneID: zone) }
            let found = try await feed.storingNothing { try await feed.database.records(for: ids) }
            XCTAssertEqual(found.count, 6)
            for id in ids { XCTAssertNotNil(found[id]?.error, id.recordName) }

            let zoneIDs = names.map { RecordZone.ID(zoneName: $0) } + [.init(zoneName: "Notes", ownerName: "")]
            let zones = try await feed.database.recordZones(RecordZonesRequest(zoneIDs: zoneIDs))
            XCTAssertEqual(zones.count, 7)
            for id in zoneIDs { XCTAssertEqual(zones[id]?.code, .zoneNotFound, id.zoneName) }
        }
    }

    func testZonesByIdAndAll() async throws {
        try await forEachStore { feed in
            let one = try await feed.database.save(RecordZone(zoneName: "One"))
            let two = try await feed.database.save(RecordZone(zoneName: "Two"))
            let gone = try await feed.makeZone("Gone")
            try await feed.deleteZone(gone)

            let all = try await feed.database.recordZones(RecordZonesRequest())
            XCTAssertEqual(Set(all.keys), [.default, one.zoneID, two.zoneID])
            XCTAssertEqual(try all[one.zoneID]?.get(), one)

            let some = try await feed.database.recordZones(.init(zoneIDs: [two.zoneID, gone, .default, two.zoneID]))
            XCTAssertEqual(some.count, 3)
            XCTAssertEqual(try some[two.zoneID]?.get(), two)
            XCTAssertEqual(some[gone]?.code, .zoneNotFound)
            XCTAssertEqual(some[gone]?.error?.zoneID, gone)
            XCTAssertNil(some[.default]?.error)

            let listed = try await feed.database.allRecordZones()
            XCTAssertEqual(Set(listed.map(\.zoneID)), Set(all.keys))
        }
    }

    func testM16_aLookUpRightAfterASaveIsCurrent() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = feed.note("a", in: zone)
            for round in 0..<20 {
                record["round"] = round
                record = try await feed.database.save(record)
                let found = try await feed.database.record(for: record.recordID)
                XCTAssertEqual(found["round"], round)
                XCTAssertEqual(found, record)
            }
        }
    }
}
