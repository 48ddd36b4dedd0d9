import ChangeFeed
import Foundation
import XCTest

/// `clientChangeTokenData`: a marker that comes back with the changes of the zones that were written to (rule FZ12).
final class RequestMarkerTests: XCTestCase {
    private func write(_ records: [Record], marker: Data?, in feed: FeedFixture) async throws -> RecordModifyResults {
        try await feed.database.modifyRecords(
            RecordModifyRequest(saving: records, savePolicy: .allKeys, clientChangeTokenData: marker))
    }

    private func marker(
        of zone: RecordZone.ID, since token: ZoneChangeToken? = nil, in feed: FeedFixture
    ) async throws -> Data? {
        try await feed.database.recordZoneChanges(inZoneWith: zone, since: token).clientChangeTokenData
    }

    func testFZ12_theMarkerOfTheMostRecentRequestComesBackElseNil() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let fresh = try await marker(of: zone, in: feed)
            XCTAssertNil(fresh)

            for text in ["first", "second"] {
                _ = try await write([feed.note("a", in: zone)], marker: Data(text.utf8), in: feed)
                let found = try await marker(of: zone, in: feed)
                XCTAssertEqual(found, Data(text.utf8))
            }

            _ = try await write([feed.note("a", in: zone)], marker: nil, in: feed)
            let last = try await marker(of: zone, in: feed)
            XCTAssertNil(last)
        }
    }

    func testFZ12_aPageWithoutChangesHasItToo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            _ = try await write([feed.note("a", in: zone)], marker: Data([1]), in: feed)
            let token = try await feed.token(of: zone)
            let found = try await marker(of: zone, since: token, in: feed)
            XCTAssertEqual(found, Data([1]))
        }
    }

    func testFZ12_everyZoneThatWasWrittenToHasItAndNoOther() async throws {
        try await forEachStore { feed in
            let (one, two, three) = (
                try await feed.makeZone("One"), try await feed.makeZone("Two"), try await feed.makeZone("Three")
            )
            _ = try await write([feed.note("a", in: one), feed.note("a", in: two)], marker: Data([7]), in: feed)
            let found = [
                try await marker(of: one, in: feed), try await marker(of: two, in: feed),
                try await marker(of: three, in: feed),
            ]
            XCTAssertEqual(found, [Data([7]), Data([7]), nil])
        }
    }

    func testFZ12_anEmptyMarkerIsAMarkerAndASliceIsItsBytes() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            _ = try await write([feed.note("a", in: zone)], marker: Data(), in: feed)
            let empty = try await marker(of: zone, in: feed)
            XCTAssertEqual(empty, Data())
            _ = try await write([feed.note("a", in: zone)], marker: Data([0, 1, 2, 3])[2...], in: feed)
            let slice = try await marker(of: zone, in: feed)
            XCTAssertEqual(slice, Data([2, 3]))
        }
    }

    func testFZ12_aDeletionCarriesItToo() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            _ = try await feed.database.modifyRecords(
                RecordModifyRequest(
                    deleting: [.init(recordID: Record.ID(recordName: "a", zoneID: zone))],
                    clientChangeTokenData: Data([9])))
            let found = try await marker(of: zone, in: feed)
            XCTAssertEqual(found, Data([9]))
        }
    }

    func testM11_aRefusedRequestLeavesTheMarkerAsItWas() async throws {
        try await forEachStore { feed in
            // Given a zone that was marked
            let zone = try await feed.makeZone()
            _ = try await write([feed.note("a", in: zone)], marker: Data([1]), in: feed)

            // When requests with another marker are refused: one item by item, one as a whole
            let malformed = [feed.note("_", in: zone), feed.note("b", in: zone)]
            let refused = try await write(malformed, marker: Data([2]), in: feed)
            XCTAssertEqual(refused.errors.count, 2)
            let twice = [feed.note("b", in: zone), feed.note("b", in: zone)]
            try await feed.refuses(.invalidArguments) { try await write(twice, marker: Data([3]), in: feed) }

            // Then nothing was stored, the marker included
            let found = try await marker(of: zone, in: feed)
            XCTAssertEqual(found, Data([1]))
        }
    }

    func testM14_theSameMarkerTwiceIsNoRepeatOfARequest() async throws {
        try await forEachStore { feed in
            // U2: two devices may well use the same marker; both writes count
            let zone = try await feed.makeZone()
            let first = try await write([feed.note("a", in: zone, ["title": "1"])], marker: Data([1]), in: feed)
            let second = try await write([feed.note("a", in: zone, ["title": "2"])], marker: Data([1]), in: feed)
            XCTAssertEqual(first.errors.count + second.errors.count, 0)
            let found = try await feed.database.record(for: Record.ID(recordName: "a", zoneID: zone))
            XCTAssertEqual(found["title"], "2")
        }
    }

    func testZ5_aNewLifeOfTheZoneHasNoMarker() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            _ = try await write([feed.note("a", in: zone)], marker: Data([1]), in: feed)
            try await feed.deleteZone(zone)
            try await feed.makeZone()
            let found = try await marker(of: zone, in: feed)
            XCTAssertNil(found)
        }
    }
}
