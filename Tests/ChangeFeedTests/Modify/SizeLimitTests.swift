import ChangeFeed
import Foundation
import XCTest

/// How large a record and a request may be (rules R4 and M21, section 1.13, case B55).
final class SizeLimitTests: XCTestCase {
    private func note(_ name: String, bytes: Int, key: String = "data", in zone: RecordZone.ID) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
        record[key] = Data(repeating: 7, count: bytes)
        return record
    }

    func testR4_theBoundOfARecordIsExact() async throws {
        var limits = Limits.cloudKit
        limits.recordBytes = 1_000
        try await forEachStore(limits: limits) { feed in
            // Given what a record of a known size takes
            let zone = try await feed.makeZone()
            let sample = try await feed.database.save(note("sample", bytes: 900, in: zone))
            let overhead = sample.base.payload.byteCount - 900

            // Then as many bytes as allowed go in, and one more does not
            let full = try await feed.save(note("full", bytes: 1_000 - overhead, in: zone), .allKeys)
            XCTAssertNil(full.error)
            let over = try await feed.storingNothing {
                try await feed.save(note("over", bytes: 1_001 - overhead, in: zone), .allKeys)
            }
            XCTAssertEqual(over.code, .limitExceeded)
            XCTAssertEqual(over.error?.limit, .init(name: "recordBytes", allowed: 1_000, found: 1_001))
            XCTAssertEqual(over.error?.rule, "R4")
            XCTAssertEqual(over.error?.recordID?.recordName, "over")
        }
    }

    func testR4_aRecordOverOneMegabyteIsRefusedUnderEveryPolicy() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                let zone = try await feed.makeZone()
                let result = try await feed.storingNothing {
                    try await feed.save(note("a", bytes: 1_000_001, in: zone), policy)
                }
                XCTAssertEqual(result.code, .limitExceeded, "\(policy)")
                XCTAssertEqual(result.error?.limit?.name, "recordBytes", "\(policy)")
                XCTAssertEqual(result.error?.limit?.allowed, 1_000_000, "\(policy)")
                XCTAssertGreaterThan(result.error?.limit?.found ?? 0, 1_000_000, "\(policy)")
            }
        }
    }

    func testR4_theBoundIsOnTheRecordAsItWouldBecome() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                // Given a record with most of what it may have
                let zone = try await feed.makeZone()
                var record = try await feed.database.save(note("a", bytes: 600_000, key: "first", in: zone))

                // When a second field would be too much
                record["second"] = Data(repeating: 7, count: 600_000)
                let result = try await feed.storingNothing { try await feed.save(record, policy) }

                // Then it is refused; and it fits once the first is cleared
                XCTAssertEqual(result.code, .limitExceeded, "\(policy)")
                XCTAssertEqual(result.error?.limit?.name, "recordBytes", "\(policy)")
                record["first"] = nil
                let fitting = try await feed.save(record, policy)
                XCTAssertNil(fitting.error, "\(policy)")
            }
        }
    }

    func testB55_oneRecordTooLargeDoesNotBlockTheOthers() async throws {
        try await forEachStore { feed in
            // Given three records of which the middle one is too large
            let zone = try await feed.makeZone()
            let records = [
                note("r1", bytes: 10, in: zone), note("r2", bytes: 1_500_000, in: zone),
                note("r3", bytes: 10, in: zone),
            ]

            // When they are saved each for itself
            let results = try await feed.database.modifyRecords(saving: records, atomically: false)

            // Then it fails alone, with its size and the bound
            XCTAssertEqual(results.outcomes, ["+r1", "!r2 limitExceeded", "+r3"])
            let limit = results.errors[records[1].recordID]?.limit
            XCTAssertEqual(limit?.allowed, 1_000_000)
            XCTAssertGreaterThanOrEqual(limit?.found ?? 0, 1_500_000)
        }
    }

    func testM11_inAnAtomicBatchARecordTooLargeIsTheGuiltyOne() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let records = [note("r1", bytes: 10, in: zone), note("r2", bytes: 1_500_000, in: zone)]
            let results = try await feed.storingNothing { try await feed.database.modifyRecords(saving: records) }
            XCTAssertEqual(results.outcomes, ["!r1 batchRequestFailed", "!r2 limitExceeded"])
        }
    }

    func testB55_aRecordLargerThanARequestFailsAloneWithItsOwnBound() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let results = try await feed.storingNothing {
                try await feed.database.modifyRecords(saving: [note("r2", bytes: 3_000_000, in: zone)])
            }
            // Not "split the request": there is nothing to split.
            XCTAssertEqual(results.outcomes, ["!r2 limitExceeded"])
            XCTAssertEqual(results.saves.first?.result.error?.limit?.name, "recordBytes")
            XCTAssertGreaterThanOrEqual(results.saves.first?.result.error?.limit?.found ?? 0, 3_000_000)
        }
    }

    func testM21_aRequestOverTwoMegabytesIsRefusedAsAWhole() async throws {
        for atomically in [true, false] {
            try await forEachStore { feed in
                // Given records that are good one by one, in two zones
                let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
                let records = [
                    note("a", bytes: 700_000, in: one), note("b", bytes: 700_000, in: two),
                    note("c", bytes: 700_000, in: one),
                ]

                // When they are sent in one request
                let error = try await feed.refuses(.limitExceeded, rule: "M21") {
                    try await feed.database.modifyRecords(saving: records, atomically: atomically)
                }

                // Then nothing is stored, and halves of it are good
                XCTAssertEqual(error?.limit?.name, "bytesPerRequest")
                XCTAssertEqual(error?.limit?.allowed, 2_000_000)
                XCTAssertGreaterThan(error?.limit?.found ?? 0, 2_000_000)
                for half in [records.prefix(2), records.suffix(1)] {
                    let results = try await feed.database.modifyRecords(saving: Array(half))
                    XCTAssertEqual(results.errors.count, 0)
                }
            }
        }
    }

    func testM21_onlyWhatIsSentCounts() async throws {
        try await forEachStore { feed in
            // Given five large records
            let zone = try await feed.makeZone()
            var records: [Record] = []
            for index in 0..<5 {
                records.append(try await feed.database.save(note("r\(index)", bytes: 700_000, in: zone)))
            }

            // When a small field of each is changed in one request
            for index in records.indices { records[index]["title"] = "x" }
            let results = try await feed.database.modifyRecords(saving: records, savePolicy: .changedKeys)

            // Then the fields that stay on the server do not count
            XCTAssertEqual(results.errors.count, 0)
        }
    }

    func testM21_underAllKeysEverythingIsSent() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var records: [Record] = []
            for index in 0..<3 {
                records.append(try await feed.database.save(note("r\(index)", bytes: 700_000, in: zone)))
            }
            let error = try await feed.refuses(.limitExceeded) {
                try await feed.database.modifyRecords(saving: records, savePolicy: .allKeys)
            }
            XCTAssertEqual(error?.limit?.name, "bytesPerRequest")
        }
    }

    func test1_13_theBoundsOfTheProfiles() {
        XCTAssertEqual(Limits.cloudKit.itemsPerRequest, 400)
        XCTAssertEqual(Limits.cloudKit.bytesPerRequest, 2_000_000)
        XCTAssertEqual(Limits.cloudKit.recordBytes, 1_000_000)
        XCTAssertEqual(Limits.cloudKit.resultsPerPage, 200)
        XCTAssertEqual(Limits.cloudKit.deleteSelfReferences, 750)
        XCTAssertEqual(Limits.cloudKit.assetBytes, 50_000_000)
        XCTAssertEqual(Limits.cloudKit.itemsPerEngineBatch, 250)
        XCTAssertEqual(Limits.cloudKit.nameCharacters, 255)
        XCTAssertNotEqual(Limits.relaxed, .cloudKit)
    }
}
