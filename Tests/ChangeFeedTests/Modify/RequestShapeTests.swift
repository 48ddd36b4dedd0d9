import ChangeFeed
import Foundation
import XCTest

/// A request as a whole: how many items, none twice, and exactly one result for each (rules M1, M13, M21, B52, B59;
/// test 31 of section 8).
final class RequestShapeTests: XCTestCase {
    private func notes(_ count: Int, in zone: RecordZone.ID, _ feed: FeedFixture) -> [Record] {
        (0..<count).map { feed.note("r\($0)", in: zone) }
    }

    private func ids(_ count: Int, in zone: RecordZone.ID) -> [Record.ID] {
        (0..<count).map { Record.ID(recordName: "d\($0)", zoneID: zone) }
    }

    func testM1_anEmptyRequestIsRefused() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let error = try await feed.refuses(.invalidArguments, rule: "M1") {
                try await feed.database.modifyRecords(saving: [])
            }
            XCTAssertEqual(error?.message.isEmpty, false)
        }
    }

    func testM1_aRecordTwiceInARequestIsRefusedByName() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let id = Record.ID(recordName: "a", zoneID: zone)
            let other = feed.note("b", in: zone)
            let requests: [String: RecordModifyRequest] = [
                "saved twice": .init(saving: [feed.note("a", in: zone), other, feed.note("a", in: zone, ["t": 1])]),
                "saved and deleted": .init(saving: [feed.note("a", in: zone), other], deleting: [.init(recordID: id)]),
                "deleted twice": .init(
                    saving: [other],
                    deleting: [.init(recordID: id), .init(recordID: id, recordChangeTag: "t")]),
            ]
            for (story, request) in requests {
                for policy in RecordSavePolicy.allCases {
                    for atomically in [true, false] {
                        var request = request
                        request.savePolicy = policy
                        request.atomically = atomically
                        let error = try await feed.refuses(.invalidArguments, story) {
                            try await feed.database.modifyRecords(request)
                        }
                        XCTAssertEqual(error?.recordID, id, story)
                        XCTAssertNotNil(error?.rule, story)
                        XCTAssertEqual(error?.message.contains("\"\(id)\""), true, story)
                    }
                }
            }
        }
    }

    func testN4_equalNamesInTwoZonesAreTwoRecords() async throws {
        try await forEachStore { feed in
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            try await feed.save("b", in: one)
            let results = try await feed.database.modifyRecords(
                saving: [
                    feed.note("a", in: one, ["t": "1"]), feed.note("a", in: two, ["t": "2"]),
                    feed.note("b", in: two),
                ],
                deleting: [Record.ID(recordName: "b", zoneID: one)])
            XCTAssertEqual(results.outcomes, ["+a", "+a", "+b", "-b"])
            let first = try await feed.database.record(for: Record.ID(recordName: "a", zoneID: one))
            let second = try await feed.database.record(for: Record.ID(recordName: "a", zoneID: two))
            XCTAssertEqual([first["t"], second["t"]], ["1", "2"])
        }
    }

    func testN4_equalNamesInZonesOfTwoOwnersAreNoRepeat() async throws {
        try await forEachStore { feed in
            let mine = try await feed.makeZone()
            let his = RecordZone.ID(zoneName: mine.zoneName, ownerName: "ben")
            let results = try await feed.database.modifyRecords(
                saving: [feed.note("a", in: mine), feed.note("a", in: his)])
            XCTAssertEqual(results.outcomes, ["+a", "!a zoneNotFound"])
        }
    }

    func testN1_twoSpellingsAreNoRepeatButEachIsMalformed() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let records = ["caf\u{E9}", "cafe\u{301}"].map { feed.note($0, in: zone) }
            let results = try await feed.storingNothing { try await feed.database.modifyRecords(saving: records) }
            XCTAssertEqual(results.saves.map(\.result.code), [.invalidArguments, .invalidArguments])
            XCTAssertEqual(results.errors.count, 2)
            XCTAssertEqual(results.saveResults.count, 2)
        }
    }

    func testB52_upTo400ItemsGoThroughSavesAndDeletionsTogether() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            for (saves, deletions) in [(400, 0), (0, 400), (280, 120), (1, 0), (0, 1)] {
                let results = try await feed.database.modifyRecords(
                    saving: notes(saves, in: zone, feed), deleting: ids(deletions, in: zone), savePolicy: .allKeys)
                XCTAssertEqual(results.saves.count, saves)
                XCTAssertEqual(results.deletions.count, deletions)
                XCTAssertEqual(results.errors.count, 0)
            }
        }
    }

    func testB52_401ItemsAreRefusedAsAWhole() async throws {
        try await forEachStore { feed in
            let (zone, other) = (try await feed.makeZone(), try await feed.makeZone("Other"))
            for (saves, deletions) in [(401, 0), (0, 401), (281, 120), (400, 1), (1, 400), (1_000, 0)] {
                for atomically in [true, false] {
                    let error = try await feed.refuses(.limitExceeded, rule: "M21", "\(saves) and \(deletions)") {
                        try await feed.database.modifyRecords(
                            saving: notes(saves, in: zone, feed), deleting: ids(deletions, in: other),
                            atomically: atomically)
                    }
                    XCTAssertEqual(
                        error?.limit, .init(name: "itemsPerRequest", allowed: 400, found: saves + deletions))
                    XCTAssertEqual(error?.isRetryable, false)
                }
            }
        }
    }

    func testM13_resultsStandInTheOrderOfTheRequestWithLookUpBesideIt() async throws {
        try await forEachStore { feed in
            // Given zones whose records are mixed in one request, in an order that is nobody's
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            let missing = RecordZone.ID(zoneName: "Missing")
            let zones = [two, missing, one, two, one, .default, missing, one]
            let records = zones.enumerated().map { feed.note("z\(9 - $0.offset)", in: $0.element) }
            let deletions = zones.enumerated().map { Record.ID(recordName: "d\(9 - $0.offset)", zoneID: $0.element) }

            // When it is sent
            let results = try await feed.database.modifyRecords(saving: records, deleting: deletions)

            // Then results and items stand side by side
            XCTAssertEqual(results.saves.map(\.recordID), records.map(\.recordID))
            XCTAssertEqual(results.deletions.map(\.recordID), deletions)
            for save in results.saves {
                let code = save.recordID.zoneID == missing ? ChangeFeedError.Code.zoneNotFound : nil
                XCTAssertEqual(save.result.code, code)
                XCTAssertEqual(results.saveResults[save.recordID]?.code, code)
                if let record = try? save.result.get() { XCTAssertEqual(record.recordID, save.recordID) }
            }
            XCTAssertEqual(results.saveResults.count, records.count)
            XCTAssertEqual(results.deleteResults.count, deletions.count)
            XCTAssertEqual(Set(results.errors.keys.map(\.zoneID)), [missing])
            XCTAssertEqual(results.errors.count, 4)
        }
    }

    func testM8_savingIntoAMissingZoneNamesTheZone() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                let missing = RecordZone.ID(zoneName: "Missing")
                let result = try await feed.storingNothing { try await feed.save(feed.note("a", in: missing), policy) }
                XCTAssertEqual(result.code, .zoneNotFound)
                XCTAssertEqual(result.error?.zoneID, missing)
                XCTAssertNil(result.error?.detail)
            }
        }
    }

    func testN9_thePublicDatabaseHasNoOtherZones() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: "anna")
            let zone = RecordZone.ID(zoneName: "Notes")
            let zones = try await database.modifyRecordZones(saving: [RecordZone(zoneID: zone)])
            XCTAssertEqual(zones.saves.first?.result.code, .badDatabase)
            XCTAssertEqual(zones.saves.first?.result.error?.zoneID, zone)
            let records = try await database.modifyRecords(saving: [feed.note("a", in: zone)])
            XCTAssertNotNil(records.saves.first?.result.error)
            let all = try await database.allRecordZones()
            XCTAssertEqual(all.map(\.zoneID), [.default])
        }
    }
}
