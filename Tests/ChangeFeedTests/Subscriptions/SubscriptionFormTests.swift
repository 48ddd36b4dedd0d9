import Foundation
import XCTest

@testable import ChangeFeed

/// The stored form of a subscription and its value semantics.
final class SubscriptionFormTests: XCTestCase {
    private var samples: [Subscription] {
        let zoneID = RecordZone.ID(zoneName: "Notes", ownerName: "bert")
        return [Subscription.Kind.database, .recordZone(zoneID)].flatMap { kind in
            [nil, "Note"].flatMap { type in
                [false, true].map { excludes in
                    Subscription(
                        subscriptionID: "s", kind: kind, recordType: type, excludesOriginatingDevice: excludes)
                }
            }
        }
    }

    func testSB5_theStoredFormGivesBackTheSameSubscription() throws {
        for sample in samples {
            XCTAssertEqual(try Subscription(subscriptionID: "s", storedBytes: sample.storedBytes), sample)
            let coded = try JSONDecoder().decode(Subscription.self, from: JSONEncoder().encode(sample))
            XCTAssertEqual(coded, sample)
        }
        XCTAssertEqual(Set(samples).count, samples.count)
    }

    func testSB5_noBytesMakeTheStoredFormsDecoderCrash() {
        var random = FeedFixture.Random(seed: 7)
        for sample in samples {
            let bytes = sample.storedBytes
            for length in 0..<bytes.count {
                XCTAssertThrowsError(try Subscription(subscriptionID: "s", storedBytes: Array(bytes.prefix(length))))
            }
            XCTAssertThrowsError(try Subscription(subscriptionID: "s", storedBytes: bytes + [0]))
            for _ in 0..<2_000 {
                var damaged = bytes
                for _ in 0...Int.random(in: 0..<3, using: &random) {
                    let place = Int.random(in: 0..<damaged.count, using: &random)
                    damaged[place] = UInt8.random(in: 0...255, using: &random)
                }
                guard let read = try? Subscription(subscriptionID: "s", storedBytes: damaged) else { continue }
                XCTAssertEqual(try? Subscription(subscriptionID: "s", storedBytes: read.storedBytes), read)
            }
        }
    }

    func testN8_subscriptionsAreComparedByBytes() {
        let composed = Subscription(subscriptionID: "\u{E9}", kind: .database)
        let decomposed = Subscription(subscriptionID: "e\u{301}", kind: .database)
        XCTAssertNotEqual(composed, decomposed)
    }
}
