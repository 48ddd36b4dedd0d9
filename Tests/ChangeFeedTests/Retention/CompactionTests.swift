import ChangeFeed
import Foundation
import XCTest

/// Sections 6.2 and 6.6: what compaction discards, and which tokens expire by it.
final class CompactionTests: XCTestCase {
    func test6_6_theDefaultKeepsThirtyDaysAtLeast() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.delete("a", in: zone)
            feed.clock.advance(by: 30 * 86_400)

            let step = try await feed.compact()

            XCTAssertEqual(step.total, 0)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["-a"])
        }
    }

    func test6_6_byAgeOnlyWhatIsOlderGoes() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: .seconds(100), maximumTombstonesPerZone: nil)
            }
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", "c", in: zone)
            // Given deletions 200, 100 and 0 seconds ago, and a token before each and after the last
            var tokens = [try await feed.token(of: zone)]
            for name in ["a", "b", "c"] {
                try await feed.delete(name, in: zone)
                tokens.append(try await feed.token(of: zone))
                if name != "c" { feed.clock.advance(by: 100) }
            }

            let step = try await feed.compact()

            // Then the oldest has gone, and only the token before it has expired: what is exactly as old as allowed stays
            XCTAssertEqual(step.recordTombstones, 1)
            await expectError(.changeTokenExpired, detail: .expired, zoneID: zone, rule: "6.2") {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: tokens[0])
            }
            for (token, story) in zip(tokens.dropFirst(), [["-b", "-c"], ["-c"], []]) {
                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                XCTAssertEqual(page.story, story)
            }
        }
    }

    func testB26_byCountTheZoneKeepsItsYoungest() async throws {
        try await overEveryStore {
            // Given a zone that keeps 100, a token from 150 deletions ago, and tokens all along
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 100)
            }
            let (zone, quiet) = (try await feed.makeZone(), try await feed.makeZone("Quiet"))
            try await feed.fill(zone, count: 150)
            try await feed.save("x", "y", in: quiet)
            let quietToken = try await feed.token(of: quiet)
            try await feed.delete("x", in: quiet)
            var tokens = [try await feed.token(of: zone)]
            for index in 1...150 {
                try await feed.delete("r\(index)", in: zone)
                tokens.append(try await feed.token(of: zone))
            }

            let step = try await feed.compact()

            // Then tokens expire up to the edge and not beyond, and the other zone's traffic expired nothing there
            XCTAssertEqual(step.recordTombstones, 50)
            for index in [0, 1, 48, 49] {
                await expectError(.changeTokenExpired, detail: .expired, zoneID: zone, "\(index) deletions known") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: tokens[index])
                }
            }
            for index in [50, 51, 149, 150] {
                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: tokens[index])
                XCTAssertEqual(page.deletions.count, 150 - index)
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: quiet, since: quietToken)
            XCTAssertEqual(page.story, ["-x"])
        }
    }

    func test6_6_ageAndCountBothHold() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: .seconds(100), maximumTombstonesPerZone: 3)
            }
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 10)
            // Given four old tombstones and five young ones
            try await feed.delete(["r1", "r2", "r3", "r4"], in: zone)
            feed.clock.advance(by: 101)
            try await feed.delete(["r5", "r6", "r7", "r8", "r9"], in: zone)

            let step = try await feed.compact()
            XCTAssertEqual(step.recordTombstones, 6)

            feed.clock.advance(by: 101)
            let later = try await feed.compact()
            XCTAssertEqual(later.recordTombstones, 3)
        }
    }

    func test6_6_keepingNoneAndKeepingAllForEver() async throws {
        try await overEveryStore {
            for (policy, expected) in [
                (RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 0), 5), (.forever, 0),
            ] {
                let feed = FeedFixture { $0.retention = policy }
                let zone = try await feed.makeZone()
                try await feed.fill(zone, count: 6)
                try await feed.delete((1...5).map { "r\($0)" }, in: zone)
                feed.clock.advance(by: 1_000 * 86_400)

                let step = try await feed.compact()

                XCTAssertEqual(step.recordTombstones, expected)
            }
        }
    }

    func test6_6_beforeADateIsBeforeItAndNotAtIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", in: zone)
            try await feed.delete("a", in: zone)
            feed.clock.advance(by: 1)
            let date = feed.clock.now
            let token = try await feed.token(of: zone)
            try await feed.delete("b", in: zone)

            let step = try await feed.compact(before: .date(date))

            XCTAssertEqual(step.recordTombstones, 1)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["-b"])
        }
    }

    func test6_6_upToAPositionIncludesIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", "c", in: zone)
            try await feed.delete("a", in: zone)
            try await feed.delete("b", in: zone)
            let before = try await feed.token(of: zone)
            let position = try await feed.store.read { store throws(ChangeFeedError) in try store.head }
            try await feed.delete("c", in: zone)

            let step = try await feed.compact(before: .position(position))

            XCTAssertEqual(step.recordTombstones, 2)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: before)
            XCTAssertEqual(page.story, ["-c"])
        }
    }

    func test6_6_livingRecordsExpireNoTokenHoweverOldTheyAre() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: .seconds(1), maximumTombstonesPerZone: 0)
            }
            let zone = try await feed.makeZone()
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())
            try await feed.fill(zone, count: 30)
            for _ in 1...5 { try await feed.save("r1", in: zone) }
            feed.clock.advance(by: 1_000 * 86_400)

            let step = try await feed.compact()

            XCTAssertEqual(step.total, 0)
            let pages = try await feed.pages(of: zone, since: token)
            XCTAssertEqual(pages.flatMap(\.story).count, 30)
            let zones = try await feed.database.databaseChanges(since: database)
            XCTAssertEqual(zones.story, ["+Notes"])
        }
    }

    func test6_6_aRecordThatCameBackIsNoTombstone() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 0)
            }
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.delete("a", in: zone)
            try await feed.save("a", title: "again", in: zone)

            let step = try await feed.compact()

            XCTAssertEqual(step.total, 0)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+a"])
        }
    }

    func test6_6_theTombstonesOfACascadeGoLikeOthers() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 0)
            }
            let zone = try await feed.makeZone()
            try await feed.modify(
                saving: [
                    FeedFixture.note("list", in: zone), FeedFixture.note("a", in: zone, owner: "list"),
                    FeedFixture.note("b", in: zone, owner: "a"),
                ], in: zone)
            try await feed.modify(deleting: ["list"], in: zone)

            let step = try await feed.compact()

            XCTAssertEqual(step.recordTombstones, 3)
        }
    }
}
