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

    /// What was found wrong with payloads that were accepted and errors that were thrown.
    private var faults: [String] = []

    override func tearDown() {
        XCTAssertEqual(Array(faults.prefix(3)), [], "\(faults.count) in all")
        faults = []
        super.tearDown()
    }

    /// Decodes and, if that works, reads every field: a payload that was accepted is good in all its parts.
    private func probe(_ bytes: [UInt8], _ story: @autoclosure () -> String) -> Payload? {
        func check(_ holds: Bool, _ what: String) {
            if !holds { faults.append("\(story()): \(what)") }
        }
        do {
            let payload = try Payload(encoded: bytes)
            check(payload.encoded == bytes, "accepted, but not kept as it is")
            let record = record(of: payload)
            check(Set(record.allKeys).count == record.allKeys.count, "a key comes twice")
            check(record.fields.allSatisfy { record[$0.key] == $0.value }, "a field reads as another value")
            check(payload.isEmpty == record.allKeys.isEmpty, "fields without a value")
            return payload
        } catch {
            check(error.code == .internalError && error.detail == .damaged, "\(error)")
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
        try await overEveryStore {
            for payload in try await realPayloads(FeedFixture()) {
                let bytes = payload.encoded
                for length in 0..<bytes.count {
                    XCTAssertNil(probe(Array(bytes.prefix(length)), "the first \(length) of \(bytes.count)"))
                }
                XCTAssertNil(probe(bytes + [0], "one byte more"))
            }
        }
    }

    func testEveryBitFlipIsRefusedOrReadsInFull() async throws {
        try await overEveryStore {
            var accepted = 0
            for payload in try await realPayloads(FeedFixture()) {
                let bytes = payload.encoded
                for bit in 0..<bytes.count * 8 {
                    var flipped = bytes
                    flipped[bit / 8] ^= 1 << (bit % 8)
                    guard let read = probe(flipped, "bit \(bit % 8) of byte \(bit / 8)") else { continue }
                    accepted += 1
                    XCTAssertNotEqual(read, payload, "bit \(bit % 8) of byte \(bit / 8) makes no difference")
                }
            }
            XCTAssertGreaterThan(accepted, 0)
        }
    }

    func testWhatIsAcceptedIsTheOnlyFormOfItsFields() async throws {
        try await overEveryStore {
            // Equality is by bytes: so fields that read alike must have one form only.
            let payloads = try await realPayloads(FeedFixture())
            let source = try XCTUnwrap(payloads.first)
            var compared = 0
            for bit in stride(from: 0, to: source.encoded.count * 8, by: 5) {
                var flipped = source.encoded
                flipped[bit / 8] ^= 1 << (bit % 8)
                guard let read = try? Payload(encoded: flipped) else { continue }

                // When a new record is given what was read, and saved on a server that knows no types yet
                let feed = FeedFixture()
                var copy = feed.note("a", in: .default)
                for field in record(of: read) { copy[field.key] = field.value }
                let result = try await feed.save(copy, .allKeys)
                if result.code == .invalidArguments { continue }
                let saved = try result.get()

                // Then it is stored as the bytes that were read
                XCTAssertTrue(saved.base.payload == read, "bit \(bit % 8) of byte \(bit / 8)")
                compared += 1
            }
            XCTAssertGreaterThan(compared, 20)
        }
    }

    func testTextThatIsNotUTF8IsRefusedAndNotRepaired() async throws {
        try await overEveryStore {
            // Given the fields of a record with a text that is easy to find
            let feed = FeedFixture()
            let record = try await feed.database.save(feed.note("a", in: .default, ["someKey": "someText"]))
            let bytes = Data(record.base.payload.encoded)
            for text in ["someKey", "someText"] {
                // When a byte of it is one that no text has there
                var damaged = bytes
                let range = try XCTUnwrap(bytes.firstRange(of: Data(text.utf8)))
                damaged[range.lowerBound + 3] = 0x80

                // Then it is refused, and no other text made of it
                let read = try? Payload(encoded: damaged)
                XCTAssertNil(read, "\(text): read as \(read.map { self.record(of: $0).fields } ?? [])")
            }
        }
    }

    func testSeveralRandomFlipsAreRefusedOrReadInFull() async throws {
        try await overEveryStore {
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
