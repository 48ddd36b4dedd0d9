import ChangeFeed
import Foundation
import XCTest

/// What a refused request tells: code, item, rule, bound, and a sentence to show (issue "bad input", section 1.12).
final class RefusalTests: XCTestCase {
    private struct Case {
        let story: String
        let code: ChangeFeedError.Code
        let error: ChangeFeedError?
        /// What the sentence has to name.
        let names: String
    }

    private func errors(of feed: FeedFixture) async throws -> [Case] {
        let zone = try await feed.makeZone()
        let first = try await feed.database.save(feed.note("changed", in: zone))
        try await feed.save("changed", title: "v2", in: zone)
        let gone = try await feed.database.save(feed.note("gone", in: zone))
        try await feed.delete("gone", in: zone)
        func saving(_ record: Record) async throws -> ChangeFeedError? {
            try await feed.storingNothing { try await feed.save(record, .ifServerRecordUnchanged).error }
        }
        let missing = RecordZone.ID(zoneName: "Missing")
        var large = feed.note("large", in: zone)
        large["data"] = Data(count: 1_200_000)
        let untyped = Record(recordType: "My type", recordID: Record.ID(recordName: "typed", zoneID: zone))
        let twice = feed.note("twice", in: zone)
        return [
            Case(story: "N1", code: .invalidArguments, error: try await saving(feed.note("_n", in: zone)), names: "_n"),
            Case(story: "N5", code: .invalidArguments, error: try await saving(untyped), names: "My type"),
            Case(
                story: "N6", code: .invalidArguments, error: try await saving(feed.note("k", in: zone, ["my key": 1])),
                names: "my key"),
            Case(
                story: "R1", code: .invalidArguments,
                error: try await saving(feed.note("l", in: zone, ["tags": [1, "a"]])), names: "tags"),
            Case(story: "R4", code: .limitExceeded, error: try await saving(large), names: "1000000"),
            Case(story: "M3", code: .serverRecordChanged, error: try await saving(first), names: "changed"),
            Case(
                story: "M6", code: .serverRecordChanged, error: try await saving(feed.note("changed", in: zone)),
                names: "changed"),
            Case(story: "M7", code: .unknownItem, error: try await saving(gone), names: "gone"),
            Case(
                story: "M8", code: .zoneNotFound, error: try await saving(feed.note("a", in: missing)),
                names: "Missing"),
            Case(
                story: "M1 repeated", code: .invalidArguments,
                error: try await feed.refuses(.invalidArguments) {
                    try await feed.database.modifyRecords(saving: [twice, twice])
                }, names: "twice"),
            Case(
                story: "M1 empty", code: .invalidArguments,
                error: try await feed.refuses(.invalidArguments) { try await feed.database.modifyRecords(saving: []) },
                names: "empty"),
            Case(
                story: "M21", code: .limitExceeded,
                error: try await feed.refuses(.limitExceeded) {
                    try await feed.database.modifyRecords(saving: (0...400).map { feed.note("r\($0)", in: zone) })
                }, names: "400"),
            Case(
                story: "N2", code: .invalidArguments,
                error: try await feed.database.modifyRecordZones(saving: [.init(zoneName: "_z")]).errors.values.first,
                names: "_z"),
        ]
    }

    func testEveryRefusalNamesItemAndRuleInASentence() async throws {
        try await forEachStore { feed in
            for refusal in try await errors(of: feed) {
                let story = refusal.story
                let error = try XCTUnwrap(refusal.error, story)
                XCTAssertEqual(error.code, refusal.code, story)
                XCTAssertNotNil(error.rule, story)
                XCTAssertTrue(error.message.contains(refusal.names), "\(story): \(error.message)")
                XCTAssertEqual(error.errorDescription, error.message, story)
                XCTAssertEqual((error as any Error).localizedDescription, error.message, story)
                XCTAssertEqual(error.message.last, ".", "\(story): \(error.message)")
                XCTAssertEqual(error.message.first?.isUppercase, true, "\(story): \(error.message)")
                XCTAssertTrue(error.description.hasPrefix("\(error.code)"), error.description)
                XCTAssertTrue(error.description.contains(error.rule ?? "?"), error.description)
                XCTAssertFalse(error.isRetryable, story)
                XCTAssertEqual(error.limit != nil, refusal.code == .limitExceeded, story)
            }
        }
    }

    func testM11_anInnocentItemOfABatchIsToldSo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let results = try await feed.database.modifyRecords(
                saving: [feed.note("innocent", in: zone), feed.note("_", in: zone)])
            let error = try XCTUnwrap(results.errors[Record.ID(recordName: "innocent", zoneID: zone)])
            XCTAssertEqual(error.code, .batchRequestFailed)
            XCTAssertEqual(error.recordID?.recordName, "innocent")
            XCTAssertNotNil(error.rule)
            XCTAssertFalse(error.message.isEmpty)
        }
    }

    func testMessagesStayShortWhateverTheNames() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let long = String(repeating: "x", count: 200_000)
            let records = [
                feed.note(long, in: zone), feed.note("k", in: zone, [long: 1]),
                Record(recordType: long, recordID: Record.ID(recordName: "t", zoneID: zone)),
                feed.note("a", in: RecordZone.ID(zoneName: long)),
            ]
            for (index, record) in records.enumerated() {
                let result = try await feed.storingNothing { try await feed.save(record, .allKeys) }
                let message = try XCTUnwrap(result.error).message
                XCTAssertLessThan(message.utf8.count, 1_000, "record \(index): a name fills the message")
            }
            let zones = try await feed.database.modifyRecordZones(saving: [.init(zoneName: long)])
            XCTAssertLessThan(try XCTUnwrap(zones.errors.values.first).message.utf8.count, 1_000)
        }
    }

    func testARequestOfACancelledTaskIsRefusedBeforeItBegins() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let (database, record) = (feed.database, feed.note("a", in: zone))
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await database.save(record)
            }
            let result = try await feed.storingNothing { await task.result }
            guard case .failure(let error as ChangeFeedError) = result else { return XCTFail("not refused") }
            XCTAssertEqual(error.code, .operationCancelled)
        }
    }

    func test1_12_codesHaveCloudKitsNumbers() {
        XCTAssertEqual(ChangeFeedError.Code.allCases.map(\.rawValue), Array(1...37))
        XCTAssertEqual(ChangeFeedError.Code.unknownItem.rawValue, 11)
        XCTAssertEqual(ChangeFeedError.Code.invalidArguments.rawValue, 12)
        XCTAssertEqual(ChangeFeedError.Code.serverRecordChanged.rawValue, 14)
        XCTAssertEqual(ChangeFeedError.Code.batchRequestFailed.rawValue, 22)
        XCTAssertEqual(ChangeFeedError.Code.badDatabase.rawValue, 24)
        XCTAssertEqual(ChangeFeedError.Code.zoneNotFound.rawValue, 26)
        XCTAssertEqual(ChangeFeedError.Code.limitExceeded.rawValue, 27)
        XCTAssertEqual(ChangeFeedError.Code.userDeletedZone.rawValue, 28)
    }

    func testAnErrorOfAnotherServerCarriesAllItsParts() {
        let recordID = Record.ID(recordName: "a", zoneID: RecordZone.ID(zoneName: "Z"))
        let inner = ChangeFeedError(.zoneBusy, "Wait.", zoneID: recordID.zoneID, retryAfter: .seconds(3))
        let error = ChangeFeedError(
            .partialFailure, "Some failed.", recordID: recordID, rule: "E5",
            limit: .init(name: "x", allowed: 1, found: 2), detail: .foreign, retryAfter: .seconds(5),
            partialErrors: [.record(recordID): inner, .zone(recordID.zoneID): inner, .subscription("s"): inner])
        XCTAssertEqual(error.zoneID, recordID.zoneID, "a record names its zone")
        XCTAssertEqual(error.partialErrors[.record(recordID)]?.retryAfter, .seconds(3))
        XCTAssertEqual(error.partialErrors.count, 3)
        XCTAssertEqual(error.retryAfter, .seconds(5))
        XCTAssertEqual(error.limit?.found, 2)
        XCTAssertEqual(error.detail, .foreign)
        XCTAssertTrue(error.isRetryable, "a partial failure of nothing but retryable errors")
    }
}
