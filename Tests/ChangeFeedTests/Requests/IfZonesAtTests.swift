import ChangeFeed
import Foundation
import XCTest

/// Section 6.13.1: commit only if the zones are still where their tokens say.
final class IfZonesAtTests: XCTestCase {
    private typealias Feed = FeedFixture

    private func request(
        _ name: String, in zone: RecordZone.ID, ifZonesAt tokens: [RecordZone.ID: ZoneChangeToken]
    ) -> RecordModifyRequest {
        RecordModifyRequest(saving: [Feed.note(name, in: zone)], ifZonesAt: tokens)
    }

    func test6_13_1_aZoneThatIsStillThereIsWrittenTo() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)
            let token = try await feed.token(of: zone)

            let results = try await feed.database.modifyRecords(request("a", in: zone, ifZonesAt: [zone: token]))

            XCTAssertEqual(results.story, ["+a"])
        }
    }

    func test6_13_1_aZoneThatHasMovedOnRefusesTheWholeRequest() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (zone, other) = (try await feed.makeZone(), try await feed.makeZone("Other"))
            try await feed.save("x", in: zone)
            let token = try await feed.token(of: zone)
            // Given a change or a deletion since
            for change in ["save", "delete"] {
                let before = try await feed.token(of: zone)
                if change == "save" { try await feed.save("x", in: zone) } else { try await feed.delete("x", in: zone) }

                await expectError(.serverRecordChanged, detail: .zoneChanged, zoneID: zone, rule: "6.13.1", change) {
                    try await feed.database.modifyRecords(
                        RecordModifyRequest(
                            saving: [Feed.note("a", in: other), Feed.note("b", in: zone)], ifZonesAt: [zone: before]))
                }
            }
            await expectError(.serverRecordChanged, detail: .zoneChanged, zoneID: zone) {
                try await feed.database.modifyRecords(self.request("b", in: zone, ifZonesAt: [zone: token]))
            }
            let fresh = try await feed.pages(of: other).flatMap(\.story)
            XCTAssertEqual(fresh, [])
        }
    }

    func test6_13_1_aZoneThatIsOnlyLookedAtCountsAsWell() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (zone, watched) = (try await feed.makeZone(), try await feed.makeZone("Watched"))
            let token = try await feed.token(of: watched)
            let passed = try await feed.database.modifyRecords(request("a", in: zone, ifZonesAt: [watched: token]))
            XCTAssertEqual(passed.story, ["+a"])

            try await feed.save("x", in: watched)

            await expectError(.serverRecordChanged, detail: .zoneChanged, zoneID: watched) {
                try await feed.database.modifyRecords(self.request("b", in: zone, ifZonesAt: [watched: token]))
            }
        }
    }

    func test6_13_1_otherZonesWorkChangesNothing() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (zone, busy) = (try await feed.makeZone(), try await feed.makeZone("Busy"))
            let token = try await feed.token(of: zone)
            try await feed.fill(busy, count: 20)

            let results = try await feed.database.modifyRecords(request("a", in: zone, ifZonesAt: [zone: token]))

            XCTAssertEqual(results.story, ["+a"])
        }
    }

    func test6_13_1_theTokenOfAPageThatIsNotTheLastIsNotWhereTheZoneIs() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 3)
            let pages = try await feed.pages(of: zone, limit: 1)
            for page in pages.dropLast() {
                await expectError(.serverRecordChanged, detail: .zoneChanged, zoneID: zone) {
                    try await feed.database.modifyRecords(
                        self.request("a", in: zone, ifZonesAt: [zone: page.changeToken]))
                }
            }
            let last = try XCTUnwrap(pages.last).changeToken
            let results = try await feed.database.modifyRecords(request("a", in: zone, ifZonesAt: [zone: last]))
            XCTAssertEqual(results.story, ["+a"])
        }
    }

    func test6_13_1_whatWroteNothingMovesNoZone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            // Given a refused batch, a deletion of what never was, and a zone saved again
            try await feed.modify(saving: [Feed.note("x", in: zone, parent: "nobody")], in: zone)
            try await feed.delete("ghost", in: zone)
            try await feed.makeZone()

            let results = try await feed.database.modifyRecords(request("a", in: zone, ifZonesAt: [zone: token]))

            XCTAssertEqual(results.story, ["+a"])
        }
    }

    func test6_13_1_aRequestThatFailsForItsTokenFailsAsAFetchWould() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (zone, other) = (try await feed.makeZone(), try await feed.makeZone("Other"))
            let (token, foreign) = (try await feed.token(of: zone), try await feed.token(of: other))

            await expectError(.invalidArguments, detail: .foreign, zoneID: zone) {
                try await feed.database.modifyRecords(self.request("a", in: zone, ifZonesAt: [zone: foreign]))
            }
            try await feed.deleteZone(zone)
            await expectError(.zoneNotFound, zoneID: zone) {
                try await feed.database.modifyRecords(self.request("a", in: other, ifZonesAt: [zone: token]))
            }
            try await feed.makeZone()
            await expectError(.changeTokenExpired, detail: .zoneRecreated, zoneID: zone) {
                try await feed.database.modifyRecords(self.request("a", in: zone, ifZonesAt: [zone: token]))
            }
            let fresh = try await feed.pages(of: zone).flatMap(\.story)
            XCTAssertEqual(fresh, [])
        }
    }

    func test6_13_1_ofTwoWritersWithOneTokenOneWins() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)

            let winners = await withTaskGroup(of: Bool.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        let request = RecordModifyRequest(
                            saving: [Feed.note("r\(index)", in: zone)], ifZonesAt: [zone: token])
                        return (try? await feed.database.modifyRecords(request)) != nil
                    }
                }
                return await group.reduce(into: 0) { count, won in count += won ? 1 : 0 }
            }

            XCTAssertEqual(winners, 1)
            let fresh = try await feed.pages(of: zone).flatMap(\.story)
            XCTAssertEqual(fresh.count, 1)
        }
    }
}
