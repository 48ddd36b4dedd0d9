import ChangeFeed
import Foundation
import XCTest

/// Decoders are total: whatever the bytes, the answer is a record or a typed error, and never a trap.
final class ArchiveMutationTests: XCTestCase {
    private enum Form: String, CaseIterable {
        case wholeRecord, systemFields

        func decode(_ bytes: Data) throws(ChangeFeedError) -> Record {
            switch self {
            case .wholeRecord: try Record(encoded: bytes)
            case .systemFields: try Record(systemFields: bytes)
            }
        }
    }

    /// What was found wrong with records that were accepted and errors that were thrown.
    private var faults: [String] = []

    override func tearDown() {
        XCTAssertEqual(Array(faults.prefix(3)), [], "\(faults.count) in all")
        faults = []
        super.tearDown()
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

    /// Decodes and, if that works, looks at all there is: nothing that was accepted may contradict itself.
    private func probe(_ bytes: Data, as form: Form, _ story: @autoclosure () -> String) -> Record? {
        func check(_ holds: Bool, _ what: String) {
            if !holds { faults.append("\(form.rawValue), \(story()): \(what)") }
        }
        do {
            let record = try form.decode(bytes)
            let keys = record.allKeys
            check(Set(keys).count == keys.count, "a key comes twice")
            check(record.fields.allSatisfy { record[$0.key] == $0.value }, "a field reads as another value")
            check(keys.allSatisfy(record.isLoaded), "a field with a value is not loaded")
            check((try? Record(encoded: record.encoded())) == record, "it does not survive another archive")
            return record
        } catch {
            check(error.code == .invalidArguments && error.detail == .damaged, "\(error)")
            return nil
        }
    }

    func testEveryTruncationIsRefused() async throws {
        try await overEveryStore {
            for (form, bytes) in try await realArchives(FeedFixture()) {
                XCTAssertNotNil(probe(bytes, as: form, "whole"))
                for length in 0..<bytes.count {
                    XCTAssertNil(probe(bytes.prefix(length), as: form, "the first \(length)"), "\(form), \(length)")
                    XCTAssertNil(probe(bytes.suffix(length), as: form, "the last \(length)"), "\(form), \(length)")
                }
            }
        }
    }

    func testBytesAfterTheEndAreRefused() async throws {
        try await overEveryStore {
            for (form, bytes) in try await realArchives(FeedFixture()) {
                XCTAssertNil(probe(bytes + [0], as: form, "a zero more"))
                XCTAssertNil(probe(bytes + bytes, as: form, "twice"))
            }
        }
    }

    func testASliceOfALargerBufferDecodesAsItsBytes() async throws {
        try await overEveryStore {
            for (form, bytes) in try await realArchives(FeedFixture()) {
                let slice = (Data([1, 2, 3]) + bytes + [4]).dropFirst(3).dropLast()
                XCTAssertNotEqual(slice.startIndex, 0)
                XCTAssertEqual(try form.decode(slice), try form.decode(bytes))
            }
        }
    }

    func testEveryBitFlipIsRefusedOrGivesARecordThatTheServerCanJudge() async throws {
        try await overEveryStore {
            var accepted = 0
            for (form, bytes) in try await realArchives(FeedFixture()).dropLast() {
                for bit in 0..<bytes.count * 8 {
                    // When one bit is wrong
                    var flipped = bytes
                    flipped[bit / 8] ^= 1 << (bit % 8)
                    guard let record = probe(flipped, as: form, "bit \(bit % 8) of byte \(bit / 8)") else { continue }

                    // Then a server with a record of that name answers, and what it stores can be read
                    accepted += 1
                    guard accepted.isMultiple(of: 8) else { continue }
                    let target = FeedFixture()
                    try await target.save("a", in: .default)
                    let policy = RecordSavePolicy.allCases[accepted / 8 % 3]
                    guard let saved = try? await target.save(record, policy).get() else { continue }
                    let found = try await target.database.record(for: saved.recordID)
                    XCTAssertEqual(found, saved, "bit \(bit % 8) of byte \(bit / 8)")
                }
            }
            XCTAssertGreaterThan(accepted, 0, "a value that changed is still a value")
        }
    }

    func testRandomBytesAreRefused() async throws {
        try await overEveryStore {
            var random = FeedFixture.Random(seed: 71)
            let real = try await realArchives(FeedFixture())
            for round in 0..<3_000 {
                let (form, bytes) = real[round % real.count]
                let length = Int.random(in: 0..<300, using: &random)
                let noise = Data((0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) })
                XCTAssertNil(probe(noise, as: form, "noise \(round)"), "round \(round)")
                // The head of a real archive and then noise: past the magic number, into the parts.
                let cut = Int.random(in: 0..<bytes.count, using: &random)
                _ = probe(bytes.prefix(cut) + noise, as: form, "round \(round), \(cut) real bytes and noise")
            }
        }
    }

    func testHugeLengthsAreRefusedWithoutAskingForTheMemory() async throws {
        try await overEveryStore {
            for (form, bytes) in try await realArchives(FeedFixture()) {
                for index in bytes.indices {
                    for last: UInt8 in [0x01, 0x7F, 0xFF] {
                        let huge = Data(repeating: 0xFF, count: 9) + [last]
                        _ = probe(bytes.prefix(index) + huge + bytes.suffix(8), as: form, "length at \(index)")
                    }
                }
            }
        }
    }

    // MARK: Bytes that no encoder makes

    /// The archive of a record with two new fields, with one text in it replaced by another of the same length.
    private func archive(replacing old: String, with new: [UInt8]) throws -> Data {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "someName"))
        record["firstKey"] = "oneValue"
        record["otherKey"] = "twoValue"
        var bytes = record.encoded()
        let range = try XCTUnwrap(bytes.firstRange(of: Data(old.utf8)))
        XCTAssertEqual(range.count, new.count)
        bytes.replaceSubrange(range, with: new)
        return bytes
    }

    func testAKeyThatWasChangedTwiceIsRefused() throws {
        let bytes = try archive(replacing: "otherKey", with: Array("firstKey".utf8))
        XCTAssertNil(probe(bytes, as: .wholeRecord, "two changes of one key"))
    }

    func testAKeyThatWasChangedTwiceReachesNoStore() async throws {
        try await overEveryStore {
            // Given such a record, if there can be one
            let bytes = try archive(replacing: "otherKey", with: Array("firstKey".utf8))
            guard let record = try? Record(encoded: bytes) else { return }

            // When it is saved
            let feed = FeedFixture()
            guard let saved = try? await feed.database.save(record) else { return }

            // Then the server has one value for one key, in bytes that can be read back
            XCTAssertEqual(saved.allKeys, ["firstKey"])
            XCTAssertNoThrow(try Payload(encoded: saved.base.payload.encoded))
        }
    }

    func testTextThatIsNotUTF8IsRefusedAndNotRepaired() throws {
        // A lone continuation byte can be in no archive: whoever accepts it turns it into another name or value.
        let invalid: [UInt8] = Array("xxx".utf8) + [0x80] + Array("xxxx".utf8)
        for text in ["someName", "firstKey", "oneValue"] {
            let bytes = try archive(replacing: text, with: invalid)
            let read = probe(bytes, as: .wholeRecord, "\(text) is no UTF-8")
            XCTAssertNil(read, "\(text) was read as \(String(describing: read?.recordID)) \(read?.texts ?? [:])")
        }
    }

    func testR7_systemFieldsBringNoChangesEvenFromTheArchiveOfAWholeRecord() async throws {
        try await overEveryStore {
            let record = try await RecordArchiveTests.editedRecord(in: FeedFixture())
            guard let read = probe(record.encoded(), as: .systemFields, "a whole record") else { return }
            XCTAssertEqual(read.changedKeys, [], "rule R7: no changed keys; the documentation: any other bytes throw")
        }
    }
}
