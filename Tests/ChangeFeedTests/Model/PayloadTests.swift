import ChangeFeed
import Foundation
import XCTest

/// The stored form of a record's fields, which outside stores hand back: its decoder is total.
final class PayloadTests: XCTestCase {
    private func realPayloads(_ feed: FeedFixture) async throws -> [Payload] {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        for (key, value) in RecordArchiveTests.everyValue { record[key] = value }
        var small = Record(recordType: "Note", recordID: Record.ID(recordName: "b"))
        small["title"] = "x"
        let results = try await feed.database.modifyRecords(saving: [record, small])
        return try results.saves.map { try $0.result.get().base.payload } + [.empty]
    }

    private func record(of payload: Payload) -> Record {
        Record(
            version: RecordVersion(
                recordID: Record.ID(recordName: "a"), recordType: "Note", system: nil, payload: payload))
    }

    /// Decodes and, if that works, reads every field: a payload that was accepted is good in all its parts.
    private func probe(_ bytes: [UInt8], _ story: String) -> Payload? {
        do {
            let payload = try Payload(encoded: bytes)
            XCTAssertEqual(payload.encoded, bytes, "\(story): not the only form of these fields")
            let record = record(of: payload)
            XCTAssertEqual(record.allKeys, record.fields.map(\.key))
            for field in record { XCTAssertEqual(record[field.key], field.value, story) }
            XCTAssertEqual(payload.isEmpty, record.allKeys.isEmpty, story)
            return payload
        } catch {
            XCTAssertEqual(error.code, .internalError, story)
            XCTAssertEqual(error.detail, .damaged, story)
            return nil
        }
    }

    func testEveryValueSurvives() async throws {
        try await forEachStore { feed in
            for payload in try await realPayloads(feed) {
                let read = try Payload(encoded: payload.encoded)
                XCTAssertEqual(read, payload)
                XCTAssertEqual(read.byteCount, payload.byteCount)
                XCTAssertEqual(record(of: read).fields, record(of: payload).fields)
            }
            let payloads = try await realPayloads(FeedFixture())
            let whole = record(of: try XCTUnwrap(payloads.first))
            for (key, value) in RecordArchiveTests.everyValue { XCTAssertEqual(whole[key], value, key) }
        }
    }

    func testEveryTruncationIsRefused() async throws {
        for payload in try await realPayloads(FeedFixture()) {
            let bytes = payload.encoded
            for length in 0..<bytes.count {
                XCTAssertNil(probe(Array(bytes.prefix(length)), "the first \(length) of \(bytes.count)"))
            }
            XCTAssertNil(probe(bytes + [0], "one byte more"))
        }
    }

    func testEveryBitFlipIsRefusedOrReadsInFull() async throws {
        var accepted = 0
        for payload in try await realPayloads(FeedFixture()) {
            let bytes = payload.encoded
            for index in bytes.indices {
                for bit in 0..<8 {
                    var flipped = bytes
                    flipped[index] ^= 1 << bit
                    guard let read = probe(flipped, "bit \(bit) of byte \(index)") else { continue }
                    accepted += 1
                    XCTAssertNotEqual(read, payload, "bit \(bit) of byte \(index) makes no difference")
                }
            }
        }
        XCTAssertGreaterThan(accepted, 0)
    }

    func testSeveralRandomFlipsAreRefusedOrReadInFull() async throws {
        let payloads = try await realPayloads(FeedFixture())
        for seed: UInt64 in 1...20 {
            var random = FeedFixture.Random(seed: seed)
            for round in 0..<500 {
                var bytes = payloads[round % 2].encoded
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[index] = UInt8.random(in: .min ... .max, using: &random)
                }
                if Bool.random(using: &random) {
                    bytes.remove(at: Int.random(in: 0..<bytes.count, using: &random))
                }
                _ = probe(bytes, "seed \(seed), round \(round)")
            }
        }
    }

    func testRandomBytesAreRefused() {
        var random = FeedFixture.Random(seed: 4)
        for round in 0..<20_000 {
            let length = Int.random(in: 0..<64, using: &random)
            var bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            // Half of them with the version and the count of a real one, so that they come to the keys and values.
            if round.isMultiple(of: 2) { bytes = Payload.empty.encoded.dropLast() + [UInt8(round % 5)] + bytes }
            _ = probe(bytes, "round \(round)")
        }
        XCTAssertNil(probe([], "no bytes"))
        XCTAssertNil(probe([UInt8](repeating: 0xFF, count: 32), "all ones"))
    }

    func testAnEmptyPayloadIsEmpty() throws {
        let read = try Payload(encoded: Payload.empty.encoded)
        XCTAssertTrue(read.isEmpty)
        XCTAssertEqual(read, .empty)
        XCTAssertEqual(read.byteCount, 0)
    }
}
