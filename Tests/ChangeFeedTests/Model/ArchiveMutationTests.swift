import ChangeFeed
import Foundation
import XCTest

/// Decoders are total: whatever the bytes, the answer is a record or a typed error, and never a trap.
final class ArchiveMutationTests: XCTestCase {
    private enum Form: CaseIterable {
        case wholeRecord, systemFields

        func decode(_ bytes: Data) throws(ChangeFeedError) -> Record {
            switch self {
            case .wholeRecord: try Record(encoded: bytes)
            case .systemFields: try Record(systemFields: bytes)
            }
        }
    }

    /// Real bytes of every form: new, fetched, edited, partial, with and without base.
    private func realArchives(_ feed: FeedFixture) async throws -> [(Form, Data)] {
        let edited = try await RecordArchiveTests.editedRecord(in: feed)
        let found = try await feed.database.records(for: [edited.recordID], desiredKeys: ["text", "absent"])
        let partial = try XCTUnwrap(found[edited.recordID]).get()
        var new = Record(recordType: "Note", recordID: Record.ID(recordName: "new"))
        new["list"] = ["a", "b"]
        new["place"] = .location(Location(latitude: 1, longitude: 2, altitude: 3))
        return [
            (.wholeRecord, edited.encoded()), (.wholeRecord, partial.encoded()), (.wholeRecord, new.encoded()),
            (.systemFields, edited.encodeSystemFields()), (.systemFields, new.encodeSystemFields()),
            (.systemFields, edited.encodeSystemFields(includingBase: true)),
        ]
    }

    /// Decodes and, if that works, looks at all there is: nothing that was accepted may fail later.
    private func probe(_ bytes: Data, as form: Form, _ story: String) -> Record? {
        do {
            let record = try form.decode(bytes)
            for field in record {
                XCTAssertEqual(record[field.key], field.value, story)
                XCTAssertTrue(record.isLoaded(field.key), story)
            }
            XCTAssertEqual(record.allKeys.count, record.fields.count)
            XCTAssertFalse(record.recordID.description.isEmpty)
            let again = try Record(encoded: record.encoded())
            XCTAssertEqual(again, record, story)
            return record
        } catch {
            XCTAssertEqual(error.code, .invalidArguments, story)
            XCTAssertEqual(error.detail, .damaged, story)
            XCTAssertFalse(error.message.isEmpty, story)
            return nil
        }
    }

    func testEveryTruncationIsRefused() async throws {
        for (form, bytes) in try await realArchives(FeedFixture()) {
            XCTAssertNotNil(probe(bytes, as: form, "\(form), whole"))
            for length in 0..<bytes.count {
                XCTAssertNil(probe(bytes.prefix(length), as: form, "\(form), the first \(length) of \(bytes.count)"))
                let tail = bytes.suffix(length)
                XCTAssertNil(probe(tail, as: form, "\(form), the last \(length) of \(bytes.count)"))
            }
        }
    }

    func testBytesAfterTheEndAreRefused() async throws {
        for (form, bytes) in try await realArchives(FeedFixture()) {
            XCTAssertNil(probe(bytes + [0], as: form, "\(form) and a zero"))
            XCTAssertNil(probe(bytes + bytes, as: form, "\(form) twice"))
        }
    }

    func testASliceOfALargerBufferDecodesAsItsBytes() async throws {
        for (form, bytes) in try await realArchives(FeedFixture()) {
            let slice = (Data([1, 2, 3]) + bytes + [4]).dropFirst(3).dropLast()
            XCTAssertNotEqual(slice.startIndex, 0)
            XCTAssertEqual(try form.decode(slice), try form.decode(bytes))
        }
    }

    func testEveryBitFlipIsRefusedOrGivesAWholeRecordThatTheServerCanJudge() async throws {
        let feed = FeedFixture()
        let target = FeedFixture()
        try await target.save("a", in: target.makeZone("Z"))
        var accepted = 0
        for (form, bytes) in try await realArchives(feed) {
            for index in bytes.indices {
                for bit in 0..<8 {
                    var flipped = bytes
                    flipped[index] ^= 1 << bit
                    let story = "\(form), bit \(bit) of byte \(index)"
                    guard let record = probe(flipped, as: form, story) else { continue }
                    accepted += 1
                    let policy = RecordSavePolicy.allCases[accepted % 3]
                    let results = try await target.database.modifyRecords(saving: [record], savePolicy: policy)
                    XCTAssertEqual(results.saves.count, 1, story)
                    guard let saved = try? results.saves.first?.result.get() else { continue }
                    let found = try await target.database.record(for: saved.recordID)
                    XCTAssertEqual(found.recordChangeTag, saved.recordChangeTag, story)
                }
            }
        }
        XCTAssertGreaterThan(accepted, 0, "values that changed are still values")
    }

    func testRandomBytesAreRefused() async throws {
        var random = FeedFixture.Random(seed: 71)
        let real = try await realArchives(FeedFixture())
        for round in 0..<5_000 {
            let (form, bytes) = real[round % real.count]
            let length = Int.random(in: 0..<300, using: &random)
            let noise = Data((0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            XCTAssertNil(probe(noise, as: form, "round \(round), noise"))
            // The head of a real archive and then noise: past the magic number, into the parts.
            let cut = Int.random(in: 0..<bytes.count, using: &random)
            _ = probe(bytes.prefix(cut) + noise, as: form, "round \(round), \(cut) real bytes and noise")
        }
    }

    func testHugeLengthsAreRefusedWithoutAskingForTheMemory() async throws {
        for (form, bytes) in try await realArchives(FeedFixture()) {
            for index in bytes.indices {
                for filler: [UInt8] in [Array(repeating: 0xFF, count: 10), Array(repeating: 0xFF, count: 9) + [0x01]] {
                    _ = probe(bytes.prefix(index) + filler + bytes.suffix(8), as: form, "\(form), length at \(index)")
                }
            }
        }
    }

    func testOneFormIsNotMistakenForNonsenseOfTheOther() async throws {
        try await forEachStore { feed in
            let record = try await RecordArchiveTests.editedRecord(in: feed)
            // Both forms name the same record, whichever reads the other.
            for bytes in [record.encoded(), record.encodeSystemFields()] {
                for form in Form.allCases {
                    if let read = probe(bytes, as: form, "\(form)") {
                        XCTAssertEqual(read.recordID, record.recordID)
                        XCTAssertEqual(read.recordChangeTag, record.recordChangeTag)
                    }
                }
            }
        }
    }
}
