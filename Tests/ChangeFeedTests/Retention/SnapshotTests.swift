import ChangeFeed
import Foundation
import XCTest

/// Sections 6.1.5 and 6.6: `restoreFromSnapshot` under an open container, and a feed replaced by an empty one.
final class SnapshotTests: XCTestCase {
    func test6_6_tokensOlderThanTheSnapshotLiveOnAndLaterOnesExpire() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given tokens before, at and after a snapshot
            try await feed.save("a", in: zone)
            let (early, earlyDatabase) = (try await feed.token(of: zone), try await feed.databaseToken())
            try await feed.save("b", in: zone)
            let (exact, exactDatabase) = (try await feed.token(of: zone), try await feed.databaseToken())
            let snapshot = try await feed.snapshot()
            try await feed.save("lost", in: zone)
            let (late, lateDatabase) = (try await feed.token(of: zone), try await feed.databaseToken())

            try await feed.container.restoreFromSnapshot(snapshot)

            // Then it is so before the first new write, and after as many as had been lost and more
            for count in 0...3 {
                let news = count == 0 ? [] : (1...count).map { "+n\($0)" }
                let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: early)
                XCTAssertEqual(first.story, ["+b"] + news)
                let second = try await feed.database.recordZoneChanges(inZoneWith: zone, since: exact)
                XCTAssertEqual(second.story, news)
                let zones = try await feed.database.databaseChanges(since: earlyDatabase)
                XCTAssertEqual(zones.story, ["+Notes"])
                let zonesSince = try await feed.database.databaseChanges(since: exactDatabase)
                XCTAssertEqual(zonesSince.story, count == 0 ? [] : ["+Notes"])
                await expectError(.changeTokenExpired, detail: .historyReset, zoneID: zone, rule: "6.1.5") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: late)
                }
                await expectError(.changeTokenExpired, detail: .historyReset, rule: "6.1.5") {
                    try await feed.database.databaseChanges(since: lateDatabase)
                }
                try await feed.save("n\(count + 1)", in: zone)
            }
        }
    }

    func test6_6_aPageGivenAfterTheSnapshotExpiresThoughItEndsBeforeIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            // Given three records at the time of the snapshot, the first of which is rewritten afterwards
            for name in ["a", "b", "c"] { try await feed.save(name, in: zone) }
            let snapshot = try await feed.snapshot()
            try await feed.save("a", title: "lost", in: zone)
            // And a device that has read the first page only, in which `a` is not: it comes later now
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: 1)
            XCTAssertEqual(first.story, ["+b"])

            try await feed.container.restoreFromSnapshot(snapshot)

            // Then the device is not left without `a`, which is before `b` again
            await expectError(.changeTokenExpired, detail: .historyReset, zoneID: zone, rule: "6.1.5") {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: first.changeToken)
            }
        }
    }

    func test6_6_aDatabasePageGivenAfterTheSnapshotExpiresThoughItEndsBeforeIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let token = try await feed.databaseToken()
            for name in ["A", "B", "C"] { try await feed.makeZone(name) }
            let snapshot = try await feed.snapshot()
            try await feed.save("lost", in: RecordZone.ID(zoneName: "A"))
            let first = try await feed.database.databaseChanges(since: token, resultsLimit: 1)
            XCTAssertEqual(first.story, ["+B"])

            try await feed.container.restoreFromSnapshot(snapshot)

            await expectError(.changeTokenExpired, detail: .historyReset, rule: "6.1.5") {
                try await feed.database.databaseChanges(since: first.changeToken)
            }
        }
    }

    func test6_6_tagsNeverRepeatThroughAnyNumberOfRestores() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let snapshot = try await feed.snapshot()
            var tags: Set<String> = []
            for round in 1...20 {
                try await feed.container.restoreFromSnapshot(snapshot)
                for name in ["a", "b"] {
                    let record = try await feed.saved(name, in: zone)
                    let tag = try XCTUnwrap(record.recordChangeTag)
                    XCTAssertTrue(tags.insert(tag).inserted, "the tag \(tag) came again in round \(round)")
                }
            }
        }
    }

    func test6_6_aVersionFromTheLostHistoryIsAConflictAndNotTakenForTheNewOne() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let snapshot = try await feed.snapshot()
            var lost = try await feed.saved("a", title: "lost", in: zone)
            try await feed.container.restoreFromSnapshot(snapshot)
            try await feed.save("a", title: "new", in: zone)
            lost["title"] = "edited"

            let results = try await feed.modify(saving: [lost], in: zone)

            XCTAssertEqual(results.story, ["+a serverRecordChanged"])
            XCTAssertEqual(results.errors[lost.recordID]?.serverRecord?["title"], "new")
            let deletion = try await feed.database.modifyRecords(
                RecordModifyRequest(deleting: [.init(recordID: lost.recordID, recordChangeTag: lost.recordChangeTag)]))
            XCTAssertEqual(deletion.story, ["-a serverRecordChanged"])
        }
    }

    func test6_6_everythingIsBackAsItWas() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (zone, gone) = (try await feed.makeZone(), try await feed.makeZone("Gone"))
            try await feed.modify(
                saving: [
                    FeedFixture.note("list", in: zone), FeedFixture.note("item", in: zone, owner: "list"),
                    FeedFixture.note("parent", in: zone), FeedFixture.note("child", in: zone, parent: "parent"),
                ], in: zone)
            let token = try await feed.token(of: zone)
            try await feed.save("x", in: zone)
            try await feed.delete("x", in: zone)
            let (bytes, snapshot) = (
                try await feed.container.bytesUsed(by: FeedFixture.userID), try await feed.snapshot()
            )
            // Given that afterwards links, tombstones, zones and usage all changed
            try await feed.modify(deleting: ["list"], in: zone)
            try await feed.modify(deleting: ["parent", "child"], in: zone)
            try await feed.deleteZone(gone)
            try await feed.makeZone("Extra")
            _ = try await feed.container.compact(before: .date(feed.clock.now.addingTimeInterval(1)))

            try await feed.container.restoreFromSnapshot(snapshot)

            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["-x"])
            let used = try await feed.container.bytesUsed(by: FeedFixture.userID)
            XCTAssertEqual(used, bytes)
            let zones = try await feed.databasePages().flatMap(\.story)
            XCTAssertEqual(zones, ["+Gone", "+Notes"])
            let held = try await feed.modify(deleting: ["parent"], in: zone)
            XCTAssertEqual(held.story, ["-parent referenceViolation"])
            try await feed.modify(deleting: ["list"], in: zone)
            let living = try await feed.living(of: ["item", "child"], in: zone)
            XCTAssertEqual(living, ["child"])
        }
    }

    func test6_6_aSnapshotIsNotChangedByWhatComesAfterIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("a", title: "then", in: zone)
            let snapshot = try await feed.snapshot()

            for _ in 1...3 {
                try await feed.save("a", title: "now", in: zone)
                try await feed.save("b", in: zone)
                try await feed.container.restoreFromSnapshot(snapshot)
                let pages = try await feed.pages(of: zone)
                XCTAssertEqual(pages.flatMap(\.modifications).map { $0["title"] }, ["then"])
            }
        }
    }

    func test6_6_aCompactionUnderWayBeginsAnewAfterARestore() async throws {
        try await overEveryStore {
            let feed = FeedFixture {
                $0.retention = RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 0)
            }
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 30)
            try await feed.delete((1...30).map { "r\($0)" }, in: zone)
            let snapshot = try await feed.snapshot()
            for _ in 1...3 { _ = try await feed.container.compact(stepBudget: 5) }

            try await feed.container.restoreFromSnapshot(snapshot)

            var discarded = 0
            for _ in 1...50 {
                let step = try await feed.container.compact(stepBudget: 5)
                discarded += step.recordTombstones
                if step.isComplete { break }
            }
            XCTAssertEqual(discarded, 30)
        }
    }

    func testB75_aFeedPutBackToEmptyIsAResetAndDeliversNoDeletion() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let empty = try await feed.snapshot()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 300)
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())

            try await feed.container.restoreFromSnapshot(empty)

            await expectError(.changeTokenExpired, detail: .historyReset) {
                try await feed.database.databaseChanges(since: database)
            }
            await expectError(.zoneNotFound, zoneID: zone) {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
            // And with the same names in it, and as much written
            try await feed.makeZone()
            try await feed.fill(zone, count: 300)
            await expectError(.changeTokenExpired, detail: .historyReset) {
                try await feed.database.databaseChanges(since: database)
            }
            await expectError(.changeTokenExpired, detail: .historyReset, zoneID: zone) {
                try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }

    func testB75_anotherFeedOfTheSameNamesIsToldFromTheOneThatItReplaced() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 300)
            let (token, database) = (try await feed.token(of: zone), try await feed.databaseToken())

            let other = FeedFixture(randomness: Locked(FeedFixture.Random(seed: 99)))
            try await other.makeZone()

            await expectError(.invalidArguments, detail: .foreign) {
                try await other.database.databaseChanges(since: database)
            }
            await expectError(.invalidArguments, detail: .foreign, zoneID: zone) {
                try await other.database.recordZoneChanges(inZoneWith: zone, since: token)
            }
        }
    }

    func test6_6_aStoreThatTakesNoSnapshotsAndASnapshotOfAnotherKindAreRefused() async throws {
        try await overEveryStore {
            struct Foreign: StoreSnapshot {}
            let feed = FeedFixture()
            await expectError(.invalidArguments) { try await feed.container.restoreFromSnapshot(Foreign()) }
            let plain = FeedFixture(store: LossyStore(over: InMemoryStore()))
            let snapshot = try await feed.snapshot()
            await expectError(.invalidArguments) { try await plain.container.restoreFromSnapshot(snapshot) }
        }
    }
}
