import ChangeFeed
import Foundation
import XCTest

/// Lists hold values of one type (rule R1): any list can be set, only a homogeneous one can be saved.
final class RecordListTests: XCTestCase {
    private static let moment = Date(timeIntervalSinceReferenceDate: 1.25)

    func testR1_listsOfEveryTypeComeBackFromTheServerExactly() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let lists: [String: RecordValue] = [
                "empty": [],
                "strings": ["", "a", "e\u{301}"],
                "integers": [0, 15, 16, .int64(.min), .int64(.max), -1],
                "doubles": [0.0, .double(-0.0), .double(.nan), .double(.infinity)],
                "bytes": [.bytes(Data()), .bytes(Data([0, 255])), .bytes(Data([9, 1, 2])[1...])],
                "dates": [.date(Self.moment), .date(.distantPast)],
                "places": [.location(Location(latitude: 1, longitude: 2, altitude: .nan))],
                "one": ["only"],
            ]
            var record = feed.note("a", in: zone)
            for (key, list) in lists { record[key] = list }

            // When they are saved and fetched
            try await feed.database.save(record)
            let fetched = try await feed.database.record(for: record.recordID)

            // Then each is as it was, and the empty one is a list and not nothing
            XCTAssertEqual(fetched.allKeys, lists.keys.sorted())
            for (key, list) in lists { XCTAssertEqual(fetched[key], list, key) }
            XCTAssertEqual(fetched["empty"] as [String]?, [])
            XCTAssertEqual(fetched["integers"] as [Int64]?, [0, 15, 16, .min, .max, -1])
        }
    }

    func testAListReadsAsATypeThatHoldsAllOfIt() {
        var record = Record(recordType: "Note")
        record["numbers"] = [1, 2, 300]
        XCTAssertEqual(record["numbers"] as [Int]?, [1, 2, 300])
        XCTAssertEqual(record["numbers"] as [Int16]?, [1, 2, 300])
        XCTAssertNil(record["numbers"] as [Int8]?)
        XCTAssertNil(record["numbers"] as [Bool]?)
        XCTAssertNil(record["numbers"] as [Double]?)
        XCTAssertNil(record["numbers"] as Int?)
        record["flags"] = [true, false]
        XCTAssertEqual(record["flags"] as [Bool]?, [true, false])
    }

    func testR1_aSingleValueIsNoList() {
        var record = Record(recordType: "Note")
        record["title"] = "x"
        XCTAssertNil(record["title"] as [String]?)
        XCTAssertNotEqual(["x"] as RecordValue, "x")
    }

    func testR1_anythingCanBeSetAndIsReadBackBeforeTheSave() {
        var record = Record(recordType: "Note")
        let mixture: RecordValue = ["a", 1, [0.5]]
        record["mixture"] = mixture
        XCTAssertEqual(record["mixture"], mixture)
        record["nested"] = [[1, 2], [3]]
        XCTAssertEqual(record["nested"] as [[Int]]?, [[1, 2], [3]])
    }

    func testR1_mixedAndNestedListsAreRefusedAtTheSave() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let malformed: [String: RecordValue] = [
                "text and number": ["a", 1],
                "integer and double": [1, 1.0],
                "bytes and text": [.bytes(Data("a".utf8)), "a"],
                "a mixture at the very end": .list(Array(repeating: 1, count: 1_000) + ["x"]),
                "a list of lists": [["a"], ["b"]],
                "a list of an empty list": [[]],
                "a list after values": ["a", ["b"]],
            ]
            for (story, list) in malformed {
                for policy in RecordSavePolicy.allCases {
                    // When a record with such a list is saved
                    let result = try await feed.storingNothing(story) {
                        try await feed.save(feed.note("a", in: zone, ["good": 1, "list": list]), policy)
                    }

                    // Then the error names record, key and rule
                    let error = try XCTUnwrap(result.error, story)
                    XCTAssertEqual(error.code, .invalidArguments, story)
                    XCTAssertEqual(error.rule, "R1", story)
                    XCTAssertEqual(error.recordID?.recordName, "a", story)
                    XCTAssertTrue(error.message.contains("\"list\""), error.message)
                }
            }
        }
    }

    func testR1_listsNestedThousandsDeepAreRefusedWithoutATrap() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var list: RecordValue = ["x"]
            for _ in 0..<2_000 { list = .list([list]) }
            let result = try await feed.storingNothing {
                try await feed.save(feed.note("a", in: zone, ["list": list]), .ifServerRecordUnchanged)
            }
            XCTAssertEqual(result.error?.rule, "R1")
        }
    }

    func testR1_anArchiveOfANestedListReadsBackOrFailsWithATypedError() {
        for depth in [1, 2, 3, 10, 100, 2_000] {
            var record = Record(recordType: "Note")
            var list: RecordValue = ["x"]
            for _ in 0..<depth { list = .list([list]) }
            record["list"] = list
            do {
                let read = try Record(encoded: record.encoded())
                XCTAssertEqual(read["list"], list, "depth \(depth)")
            } catch {
                XCTAssertEqual(error.code, .invalidArguments, "depth \(depth)")
            }
        }
    }
}
