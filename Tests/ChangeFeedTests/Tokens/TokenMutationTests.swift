import ChangeFeed
import Foundation
import XCTest

/// B101: bytes that are no token give a typed error, whichever they are, and never a trap or a page.
final class TokenMutationTests: XCTestCase {
    /// Real tokens of both kinds: at rest, in the middle of a first read, empty, and far on.
    private func realTokens() async throws -> (zone: [Data], database: [Data]) {
        let feed = FeedFixture()
        var database = [try await feed.databaseToken().data]
        let zone = try await feed.makeZone()
        try await feed.makeZone("Other")
        var zones = [try await feed.token(of: zone).data]
        try await feed.fill(zone, count: 300)
        zones.append(try await feed.token(of: zone).data)
        zones.append(
            try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 1).changeToken.data)
        database.append(try await feed.databaseToken().data)
        database.append(try await feed.database.databaseChanges(since: nil, resultsLimit: 1).changeToken.data)
        return (zones, database)
    }

    /// Both ways into both kinds of token must refuse the bytes with a typed error.
    private func expectRefusal(of data: Data, _ story: String, line: UInt = #line) {
        let ways: [(String, () throws -> Void)] = [
            ("zone", { _ = try ZoneChangeToken(data: data) }),
            ("database", { _ = try DatabaseChangeToken(data: data) }),
        ]
        for (kind, decode) in ways {
            do {
                try decode()
                XCTFail("\(story): taken for a \(kind) token", line: line)
            } catch let error as ChangeFeedError {
                XCTAssertEqual(error.code, .invalidArguments, story, line: line)
                XCTAssertEqual(error.detail, .damaged, story, line: line)
                XCTAssertEqual(error.rule, "6.2", story, line: line)
                XCTAssertLessThan(error.message.count, 400, story, line: line)
            } catch {
                XCTFail("\(story): untyped, \(error)", line: line)
            }
        }
    }

    func testB101_everyFlippedBitIsRefused() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            for data in tokens.zone + tokens.database {
                for bit in 0..<data.count * 8 {
                    var flipped = data
                    flipped[bit / 8] ^= 1 << (bit % 8)
                    expectRefusal(of: flipped, "bit \(bit)")
                }
            }
        }
    }

    func testB101_everyTruncationIsRefused() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            for data in tokens.zone + tokens.database {
                for length in 0..<data.count {
                    expectRefusal(of: data.prefix(length), "first \(length)")
                    expectRefusal(of: data.suffix(length), "last \(length)")
                }
            }
        }
    }

    func testB101_everyExtensionIsRefused() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            for data in tokens.zone + tokens.database {
                for byte in UInt8.min...UInt8.max {
                    expectRefusal(of: data + [byte], "with \(byte) behind it")
                    expectRefusal(of: [byte] + data, "with \(byte) before it")
                }
                for other in tokens.zone + tokens.database { expectRefusal(of: data + other, "two tokens") }
                expectRefusal(of: data + Data(count: 4_096), "with zeros behind it")
            }
        }
    }

    func testB101_everyReplacedByteIsRefused() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            for data in tokens.zone + tokens.database {
                for index in data.indices {
                    for byte in [UInt8.min, 1, 0x7F, 0x80, .max] where data[index] != byte {
                        var changed = data
                        changed[index] = byte
                        expectRefusal(of: changed, "\(byte) at \(index)")
                    }
                }
            }
        }
    }

    func testB101_piecesOfTwoTokensAreRefused() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            let all = tokens.zone + tokens.database
            for first in all {
                for second in all where first != second {
                    for cut in 1..<min(first.count, second.count) {
                        let spliced = first.prefix(cut) + second.dropFirst(cut)
                        if all.contains(spliced) { continue }
                        expectRefusal(of: Data(spliced), "cut at \(cut)")
                    }
                }
            }
        }
    }

    func testB101_randomBytesOfEveryLengthAreRefused() {
        var random = FeedFixture.Random(seed: 101)
        for length in 0..<300 {
            for _ in 0..<5 {
                let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                expectRefusal(of: Data(bytes), "\(length) random bytes")
            }
            for byte in [UInt8.min, 1, 2, 0x80, .max] {
                expectRefusal(of: Data(repeating: byte, count: length), "\(length) times \(byte)")
            }
        }
        // A plausible beginning with chance behind it
        for head in [[1, 1], [1, 2], [1, 17], [1, 18]] as [[UInt8]] {
            for length in 0..<120 {
                let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                expectRefusal(of: Data(head + bytes), "a head and \(length) random bytes")
            }
        }
    }

    func testB101_tenMegabytesAreRefused() async throws {
        try await overEveryStore {
            let token = try await realTokens().zone[0]
            expectRefusal(of: Data(count: 10_000_000), "zeros")
            expectRefusal(of: Data(repeating: .max, count: 10_000_000), "ones")
            expectRefusal(of: token + Data(count: 10_000_000), "a token and zeros")
        }
    }

    func testB101_aSliceOfDataIsReadFromItsOwnBeginning() async throws {
        try await overEveryStore {
            let data = try await realTokens().zone[1]
            let slice = (Data([9, 9, 9]) + data + Data([9])).dropFirst(3).dropLast()
            XCTAssertNotEqual(slice.startIndex, 0)
            let token = try ZoneChangeToken(data: slice)
            XCTAssertEqual(token.data, data)
        }
    }

    func testB101_damagedBytesAreRefusedByCodable() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            var random = FeedFixture.Random(seed: 7)
            for data in tokens.zone + tokens.database {
                for _ in 0..<60 {
                    var damaged = data
                    damaged[Int.random(in: damaged.indices, using: &random)] ^= UInt8.random(
                        in: 1...255, using: &random)
                    let archive = try JSONEncoder().encode([damaged])
                    XCTAssertThrowsError(try JSONDecoder().decode([ZoneChangeToken].self, from: archive)) { error in
                        XCTAssertEqual((error as? ChangeFeedError)?.detail, .damaged)
                    }
                    XCTAssertThrowsError(try JSONDecoder().decode([DatabaseChangeToken].self, from: archive)) { error in
                        XCTAssertEqual((error as? ChangeFeedError)?.detail, .damaged)
                    }
                }
            }
            for text in [
                "[\"\"]", "[\"AQ==\"]", "[\"not base 64!\"]", "[null]", "[7]", "[{}]", "[[]]", "[\"\\u0000\"]",
            ] {
                XCTAssertThrowsError(try JSONDecoder().decode([ZoneChangeToken].self, from: Data(text.utf8)), text) {
                    XCTAssertTrue($0 is ChangeFeedError || $0 is DecodingError, "\(text): \($0)")
                }
            }
        }
    }

    func testT2_codableTellsTheKindsApart() async throws {
        try await overEveryStore {
            let tokens = try await realTokens()
            for data in tokens.zone {
                let archive = try JSONEncoder().encode([data])
                XCTAssertThrowsError(try JSONDecoder().decode([DatabaseChangeToken].self, from: archive)) { error in
                    XCTAssertEqual((error as? ChangeFeedError)?.detail, .wrongKind)
                }
            }
        }
    }
}
