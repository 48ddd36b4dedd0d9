import ChangeFeed
import ChangeFeedTesting
import Foundation
import XCTest

@testable import ChangeFeedSQLite

/// Names whose hashes are the same are told apart by the names.
final class NameCollisionTests: XCTestCase {
    func testNamesThatCollideAreKeptApart() async throws {
        for bits in [0, 2] {
            let folder = try StoreFolder()
            var configuration = SQLiteStore.Configuration.small()
            configuration.nameBits = bits
            let store = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
            let notes = Notes(over: store)
            try await notes.makeZone()
            var random = SeededGenerator(seed: UInt64(bits) + 3)
            var expected: [String: String] = [:]
            for step in 0..<150 {
                let names = Set((0..<1 + Int(random.next() % 4)).map { _ in "n\(random.next() % 30)" }).sorted()
                if random.next() % 3 == 0 {
                    let results = try await notes.database.modifyRecords(
                        saving: [], deleting: names.map { notes.note($0, "").recordID })
                    for deletion in results.deletions { try deletion.result.get() }
                    for name in names { expected[name] = nil }
                } else {
                    try await notes.save(names, String(step))
                    for name in names { expected[name] = String(step) }
                }
                if step % 40 == 39 {
                    while try await !notes.container.compact(before: .date(.distantFuture)).isComplete {}
                }
                let name = "n\(random.next() % 30)"
                let record = try? await notes.database.record(for: notes.note(name, "").recordID)
                XCTAssertEqual(record?["text"], expected[name], "\(bits) bits, step \(step), \(name)")
            }
            let texts = try await notes.texts()
            XCTAssertEqual(texts, expected, "\(bits) bits")
            let findings = try await store.integrityCheck()
            XCTAssertEqual(findings, [], "\(bits) bits")
            await store.close()
        }
    }

    func testTheHashIsSipHash24() {
        // The published vectors: the key 00…0f, the inputs of 0, 1, 8 and 15 bytes 00, 01, 02, …
        let hash = NameHash(keyLow: 0x0706_0504_0302_0100, keyHigh: 0x0f0e_0d0c_0b0a_0908)
        let vectors: [(Int, UInt64)] = [
            (0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (8, 0x93f5_f579_9a93_2462),
            (15, 0xa129_ca61_49be_45e5),
        ]
        for (count, expected) in vectors {
            let input = (0..<count).map { UInt8($0) }
            XCTAssertEqual(input.withUnsafeBytes { hash.hash($0) }, expected, "\(count) bytes")
        }
    }
}
