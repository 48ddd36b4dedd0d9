import ChangeFeed
import Foundation
import XCTest

/// A hint and its forms.
final class ChangeNotificationTests: XCTestCase {
    private var samples: [ChangeNotification] {
        let zoneIDs = [nil, RecordZone.ID(zoneName: "Notes"), RecordZone.ID(zoneName: "Notes", ownerName: "bert")]
        return zoneIDs.flatMap { zoneID in
            ChangeNotification.Kind.allCases.flatMap { kind in
                [false, true].map { isPruned in
                    ChangeNotification(
                        notificationID: "n1", subscriptionID: "é\u{301}\"", databaseScope: .private, zoneID: zoneID,
                        kind: kind, isPruned: isPruned)
                }
            }
        }
    }

    func testSB2_kindsHaveCloudKitsNumbers() {
        XCTAssertEqual(ChangeNotification.Kind.recordZone.rawValue, 2)
        XCTAssertEqual(ChangeNotification.Kind.database.rawValue, 4)
        XCTAssertEqual(ChangeNotification.Kind.allCases.count, 2)
    }

    func testSB3_aHintComesBackFromItsPayload() throws {
        for sample in samples {
            XCTAssertEqual(try ChangeNotification(payload: sample.payload), sample)
            XCTAssertEqual(Array(sample.payload.keys), [ChangeNotification.payloadKey])
            let coded = try JSONDecoder().decode(ChangeNotification.self, from: JSONEncoder().encode(sample))
            XCTAssertEqual(coded, sample)
        }
        XCTAssertEqual(Set(samples).count, samples.count)
    }

    func testSB3_aHintRidesInAPushAsJSONOrAsAPropertyList() throws {
        for sample in samples {
            var push: [String: Any] = ["aps": ["content-available": 1]]
            push.merge(sample.payload) { $1 }

            let json = try JSONSerialization.jsonObject(with: JSONSerialization.data(withJSONObject: push))
            XCTAssertEqual(try ChangeNotification(payload: XCTUnwrap(json as? [String: Any])), sample)

            for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
                let data = try PropertyListSerialization.data(fromPropertyList: push, format: format, options: 0)
                let list = try PropertyListSerialization.propertyList(from: data, format: nil)
                XCTAssertEqual(try ChangeNotification(payload: XCTUnwrap(list as? [String: Any])), sample)
            }
        }
    }

    func testSB3_otherPayloadsAreATypedError() async {
        let payloads: [[AnyHashable: Any]] = [
            [:], ["aps": ["alert": "Hi"]], ["cf": "text"], ["cf": [1, 2]], ["cf": [String: Any]()], [7: 7],
        ]
        for payload in payloads {
            await expectError(.invalidArguments, detail: .damaged, rule: "SB3") {
                try ChangeNotification(payload: payload)
            }
        }
    }

    func testSB3_eachPartOfAPayloadIsChecked() async throws {
        let notification = try XCTUnwrap(samples.last)
        let fields = try XCTUnwrap(notification.payload["cf"] as? [String: Any])
        XCTAssertEqual(Set(fields.keys), ["v", "nid", "sid", "scope", "kind", "zone", "owner", "pruned"])
        for key in fields.keys where key != "pruned" {
            var fields = fields
            fields[key] = nil
            await expectError(.invalidArguments, detail: .damaged, rule: "SB3", key) {
                try ChangeNotification(payload: ["cf": fields])
            }
        }
        for key in fields.keys {
            for value: Any in [99, -1, 2.5, true, [1], ["a": 1], Data([1])] {
                var fields = fields
                fields[key] = value
                await expectError(.invalidArguments, detail: .damaged, rule: "SB3", "\(key): \(value)") {
                    try ChangeNotification(payload: ["cf": fields])
                }
            }
        }
    }

    func testSB3_noPayloadMakesTheParserCrash() throws {
        var random = FeedFixture.Random(seed: 3)
        let values: [Any] = [
            0, 1, 2, 4, UInt8(1), Int64.max, UInt64.max, 1.0, -0.5, "", "Notes", true, Data(), Date(), [Any](), [1],
            [String: Any](), ["a": ["b": 1]], Optional<Int>.none as Any, NSNull(),
        ]
        var keys = ["v", "nid", "sid", "scope", "kind", "zone", "owner", "pruned", "other"]
        keys.append("")
        let samples = samples
        var parsed = 0
        for _ in 0..<10_000 {
            let sample = try XCTUnwrap(samples.randomElement(using: &random))
            var fields = try XCTUnwrap(sample.payload["cf"] as? [String: Any])
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                let key = try XCTUnwrap(keys.randomElement(using: &random))
                fields[key] = Bool.random(using: &random) ? nil : values.randomElement(using: &random)
            }
            guard let notification = try? ChangeNotification(payload: ["cf": fields]) else { continue }
            parsed += 1
            XCTAssertEqual(try ChangeNotification(payload: notification.payload), notification)
        }
        XCTAssertGreaterThan(parsed, 1_000)
    }

    // MARK: The buffer

    private func hint(_ number: Int, zone: String) -> ChangeNotification {
        ChangeNotification(
            notificationID: "\(number)", subscriptionID: "s", databaseScope: .private,
            zoneID: RecordZone.ID(zoneName: zone), kind: .database, isPruned: false)
    }

    func testSB3_hintsForOneZoneAreOneHint() {
        var buffer = NotificationBuffer(limit: 4)
        for (number, zone) in ["A", "B", "A", "A", "B"].enumerated() { buffer.add(hint(number, zone: zone)) }
        XCTAssertEqual(buffer.count, 2)
        XCTAssertEqual(buffer.takeFirst(), hint(3, zone: "A"))
        buffer.add(hint(5, zone: "A"))
        XCTAssertEqual(buffer.takeFirst(), hint(4, zone: "B"))
        XCTAssertEqual(buffer.takeFirst(), hint(5, zone: "A"))
        XCTAssertNil(buffer.takeFirst())
    }

    func testSB3_beyondTheBoundOnePrunedHintStandsForAll() {
        for limit in 1...5 {
            var buffer = NotificationBuffer(limit: limit)
            for number in 0..<limit { buffer.add(hint(number, zone: "z\(number)")) }
            XCTAssertEqual(buffer.count, limit)
            for number in limit..<20 {
                buffer.add(hint(number, zone: "z\(number)"))
                XCTAssertEqual(buffer.count, 1)
            }
            XCTAssertEqual(buffer.takeFirst(), hint(19, zone: "z19").pruned)
            XCTAssertNil(buffer.takeFirst())
            buffer.add(hint(20, zone: "z"))
            XCTAssertEqual(buffer.takeFirst(), hint(20, zone: "z"))
        }
    }

    func testSB3_aClosedBufferStaysEmpty() {
        var buffer = NotificationBuffer(limit: 0)
        buffer.add(hint(1, zone: "A"))
        buffer.close()
        buffer.add(hint(2, zone: "A"))
        XCTAssertNil(buffer.takeFirst())
    }
}
