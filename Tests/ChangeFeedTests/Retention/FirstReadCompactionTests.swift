import ChangeFeed
import Foundation
import XCTest

/// Section 6.2: a first read under way is expired only by tombstones that it would have delivered.
final class FirstReadCompactionTests: XCTestCase {
    private func forgetful() -> FeedFixture {
        FeedFixture { $0.retention = RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 0) }
    }

    func test6_2_aFirstReadSurvivesACompactionBetweenEveryTwoPages() async throws {
        try await overEveryStore {
            for limit in [1, 2, 3, 7] {
                let feed = forgetful()
                let zone = try await feed.makeZone()
                try await feed.fill(zone, count: 20)
                let odd = stride(from: 1, through: 19, by: 2).map { "r\($0)" }
                try await feed.delete(odd, in: zone)

                let pages = try await feed.pages(of: zone, limit: limit) { _ in _ = try await feed.compact() }

                let even = stride(from: 2, through: 20, by: 2).map { "+r\($0)" }
                XCTAssertEqual(pages.flatMap(\.story), even, "limit \(limit)")
                let next = try await feed.pages(of: zone, since: pages.last?.changeToken)
                XCTAssertEqual(next.flatMap(\.story), [])
            }
        }
    }

    func test6_2_oneStepBetweenEveryTwoPagesToo() async throws {
        try await overEveryStore {
            let feed = forgetful()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 20)
            try await feed.delete((1...10).map { "r\($0)" }, in: zone)

            let pages = try await feed.pages(of: zone, limit: 1) { _ in
                _ = try await feed.container.compact(before: .policy, stepBudget: 2)
            }

            XCTAssertEqual(pages.flatMap(\.story), (11...20).map { "+r\($0)" })
        }
    }

    func test6_2_aFirstReadUnderChangeWithACompactionBetweenPagesLosesNothing() async throws {
        try await overEveryStore {
            // Given a first read, between whose pages a record is added and rewritten and old garbage discarded
            let feed = forgetful()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 12)
            try await feed.delete("r3", "r8", in: zone)
            var copy = LocalCopy()

            let pages = try await feed.pages(of: zone, limit: 2) { page in
                guard page < 5 else { return }
                try await feed.save("r\(page)", title: "changed", in: zone)
                try await feed.save("new\(page)", in: zone)
                _ = try await feed.compact()
            }

            for page in pages { copy.apply(page) }
            var fresh = LocalCopy()
            for page in try await feed.pages(of: zone) { fresh.apply(page) }
            XCTAssertEqual(copy, fresh)
            XCTAssertEqual(copy.titles.filter { $0.value == "changed" }.count, 4)
        }
    }

    func test6_2_aFirstReadEndsWhereATombstoneItNeededWentAtEveryPage() async throws {
        try await overEveryStore {
            for stop in 1...4 {
                let feed = forgetful()
                let zone = try await feed.makeZone()
                try await feed.fill(zone, count: 5)
                // Given a first read of so many pages, and then a deletion that is forgotten at once
                var token: ZoneChangeToken?
                for _ in 1...stop {
                    token = try await feed.database.recordZoneChanges(
                        inZoneWith: zone, since: token, resultsLimit: 1
                    ).changeToken
                }
                try await feed.delete("r1", in: zone)
                _ = try await feed.compact()

                await expectError(.changeTokenExpired, detail: .expired, zoneID: zone, "page \(stop)") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                }
            }
        }
    }

    func test6_2_theFirstReadOfADatabaseSurvivesToo() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            for name in ["A", "B", "C", "D", "E"] { try await feed.makeZone(name) }
            for name in ["B", "D"] { try await feed.deleteZone(RecordZone.ID(zoneName: name)) }
            try await feed.makeZone("D")
            feed.clock.advance(by: 10)

            let pages = try await feed.databasePages(limit: 1) { _ in
                _ = try await feed.container.compact(before: .date(feed.clock.now))
            }

            XCTAssertEqual(pages.flatMap(\.story), ["+A", "+C", "+E", "+D"])
            let next = try await feed.database.databaseChanges(since: pages.last?.changeToken)
            XCTAssertEqual(next.story, [])
        }
    }

    func test6_2_aDeletionDiscardedBeforeItsPageExpiresTheReadThatStillHadToTellIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (notes, other) = (try await feed.makeZone("Notes"), try await feed.makeZone("Other"))
            let token = try await feed.databaseToken()
            // Given that Notes was replaced, Other changed, and Notes changed again: so the first page of one item ends
            // behind the deletion of Notes, which is still to be told with its new life
            try await feed.container.purgeZone(notes, for: FeedFixture.userID)
            try await feed.makeZone("Notes")
            try await feed.save("o", in: other)
            try await feed.save("n", in: notes)
            let first = try await feed.database.databaseChanges(since: token, resultsLimit: 1)
            XCTAssertEqual(first.story, ["+Other"])

            // When the deletion is discarded between the two pages
            feed.clock.advance(by: 1)
            let discarded = try await feed.compact(before: .date(feed.clock.now))
            XCTAssertEqual(discarded.zoneTombstones, 1)

            // Then the reader is not left with records of the zone's former life
            await expectError(.changeTokenExpired, detail: .expired, rule: "6.2") {
                try await feed.database.databaseChanges(since: first.changeToken, resultsLimit: 1)
            }
        }
    }

    func test6_2_aFinishedFirstReadHasTheTokenOfItsEnd() async throws {
        try await overEveryStore {
            // Given a first read that was finished after old garbage, and then more garbage
            let feed = forgetful()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 4)
            try await feed.delete("r4", in: zone)
            let token = try await feed.token(of: zone)
            _ = try await feed.compact()
            let unharmed = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(unharmed.story, [])

            try await feed.delete("r3", in: zone)
            _ = try await feed.compact()

            await expectError(.changeTokenExpired, detail: .expired, zoneID: zone) {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }
}
