import ChangeFeed
import Foundation
import XCTest

/// Section 6.6 and case B27: compaction in steps of bounded work, each of which gets on.
final class CompactionStepTests: XCTestCase {
    private func hungry() -> FeedFixture {
        FeedFixture { $0.retention = RetentionPolicy(maximumAge: .seconds(1), maximumTombstonesPerZone: nil) }
    }

    /// Garbage of every kind: record tombstones in three zones, zones deleted and zones with a past, and outcomes.
    private func litter(_ feed: FeedFixture, records: Int = 20) async throws {
        for name in ["A", "B", "C"] {
            let zone = try await feed.makeZone(name)
            try await feed.fill(zone, count: records)
            try await feed.delete((1...records).map { "r\($0)" }, in: zone)
        }
        for index in 1...5 {
            let zone = try await feed.makeZone("Gone\(index)")
            try await feed.deleteZone(zone)
            try await feed.makeZone("Back\(index)")
            try await feed.deleteZone(RecordZone.ID(zoneName: "Back\(index)"))
            try await feed.makeZone("Back\(index)")
        }
        let zone = try await feed.makeZone("Asked")
        for index in 1...10 {
            _ = try await feed.database.modifyRecords(
                RecordModifyRequest(saving: [FeedFixture.note("q\(index)", in: zone)], requestID: "\(index)"))
        }
        feed.clock.advance(by: 10)
    }

    func test6_6_smallStepsDiscardTheSameAsOneBigStep() async throws {
        for budget in [1, 2, 3, 4, 7, 50, 1_000] {
            let feed = hungry()
            try await litter(feed)
            let steps = try await stepsToTheEnd(of: feed, budget: budget)

            XCTAssertTrue(steps.allSatisfy { $0.total <= budget }, "budget \(budget): \(steps.map(\.total))")
            XCTAssertEqual(steps.reduce(0) { $0 + $1.recordTombstones }, 60, "budget \(budget)")
            XCTAssertEqual(steps.reduce(0) { $0 + $1.zoneTombstones }, 10, "budget \(budget)")
            XCTAssertEqual(steps.reduce(0) { $0 + $1.requests }, 10, "budget \(budget)")
        }
    }

    func testB27_eachKindOfGarbageMakesProgressEveryStep() async throws {
        let feed = hungry()
        try await litter(feed)

        let step = try await feed.container.compact(stepBudget: 12)

        XCTAssertGreaterThan(step.recordTombstones, 0)
        XCTAssertGreaterThan(step.zoneTombstones, 0)
        XCTAssertGreaterThan(step.requests, 0)
        XCTAssertFalse(step.isComplete)
    }

    func test6_6_completeMeansThatNothingIsLeft() async throws {
        // Given a zone with old and young tombstones, and a step that discards the old ones and is then not followed up
        let feed = FeedFixture {
            $0.retention = RetentionPolicy(maximumAge: .seconds(5), maximumTombstonesPerZone: nil)
        }
        let zone = try await feed.makeZone("A")
        try await feed.fill(zone, count: 40)
        try await feed.delete((1...20).map { "r\($0)" }, in: zone)
        feed.clock.advance(by: 10)
        try await feed.delete((21...40).map { "r\($0)" }, in: zone)
        try await feed.makeZone("B")
        let step = try await feed.container.compact(stepBudget: 20)
        XCTAssertEqual(step.recordTombstones, 20)

        // When the young have become old, and compaction goes on until it says that nothing is left
        feed.clock.advance(by: 10)
        _ = try await stepsToTheEnd(of: feed, budget: 20)

        let left = try await tombstones(feed)
        XCTAssertEqual(left, 0)
    }

    func test6_6_betweenTwoStepsOthersMayWrite() async throws {
        let feed = hungry()
        try await litter(feed)
        let zone = RecordZone.ID(zoneName: "A")

        // When somebody rewrites a record of a zone between every two steps, so that the zone moves in its database
        var isComplete = false
        for step in 0..<500 where !isComplete {
            try await feed.save("busy", title: "\(step)", in: zone)
            isComplete = try await feed.container.compact(stepBudget: 3).isComplete
        }

        XCTAssertTrue(isComplete)
        let left = try await tombstones(feed)
        XCTAssertEqual(left, 0)
    }

    func test6_6_eachUsersGarbageIsReached() async throws {
        let feed = hungry()
        for user in ["anna", "bert", "cora"] {
            let database = feed.database(of: user)
            let zone = try await database.save(RecordZone(zoneName: "Notes")).zoneID
            _ = try await database.modifyRecords(saving: [FeedFixture.note("a", in: zone)])
            try await database.deleteRecord(withID: FeedFixture.id("a", in: zone))
        }
        // The public database has no feed, but tombstones it need not keep either
        let everybody = feed.container.database(.public, for: "anna")
        _ = try await everybody.modifyRecords(saving: [FeedFixture.note("a", in: .default)])
        try await everybody.deleteRecord(withID: FeedFixture.id("a", in: .default))
        feed.clock.advance(by: 10)

        var total = 0
        for _ in 0..<50 {
            let step = try await feed.container.compact(stepBudget: 2)
            total += step.recordTombstones
            if step.isComplete { break }
        }

        XCTAssertEqual(total, 4)
    }

    func test6_6_aBudgetThatDoesNothingIsRefused() async throws {
        let feed = hungry()
        for budget in [0, -1, .min] {
            await expectError(.invalidArguments, rule: "6.6", "\(budget)") {
                try await feed.container.compact(stepBudget: budget)
            }
        }
    }

    func test6_6_whereThereIsNothingOneStepSaysSo() async throws {
        let feed = hungry()
        let step = try await feed.container.compact()
        XCTAssertEqual(step.total, 0)
        XCTAssertTrue(step.isComplete)
    }

    func testB27_tenThousandRewritesAndTenThousandPairsLeaveNothingBehind() async throws {
        // Given a policy of 60 days, one record written 10 000 times and 10 000 records created and deleted
        let feed = FeedFixture {
            $0.limits = .relaxed
            $0.retention = RetentionPolicy(maximumAge: .seconds(60 * 86_400), maximumTombstonesPerZone: nil)
        }
        let zone = try await feed.makeZone()
        for count in 1...10_000 { try await feed.save("often", title: "\(count)", in: zone) }
        for start in stride(from: 0, to: 10_000, by: 2_500) {
            let names = (start..<start + 2_500).map { "r\($0)" }
            try await feed.save(names, in: zone)
            try await feed.delete(names, in: zone)
        }
        try await feed.save("recent", in: zone)

        // When nothing is old enough yet, nothing goes
        feed.clock.advance(by: 59 * 86_400)
        try await feed.delete("recent", in: zone)
        let early = try await stepsToTheEnd(of: feed, budget: 500)
        XCTAssertEqual(early.map(\.total), early.map { _ in 0 })

        // When 61 days have gone, each step gets on until the old is gone
        feed.clock.advance(by: 2 * 86_400)
        let steps = try await stepsToTheEnd(of: feed, budget: 500)
        XCTAssertTrue(steps.dropLast().allSatisfy { $0.total > 0 }, "\(steps.map(\.total))")
        XCTAssertTrue(steps.allSatisfy { $0.total <= 500 }, "\(steps.map(\.total))")
        XCTAssertLessThanOrEqual(steps.count, 40)

        // Then what is left is the living and the recent
        let left = try await tombstones(feed)
        XCTAssertEqual(left, 1)
        let entries = try await entries(feed, in: zone)
        XCTAssertEqual(entries, 2)
        let record = try await feed.record("often", in: zone)
        XCTAssertEqual(record["title"], "10000")
    }

    private func stepsToTheEnd(of feed: FeedFixture, budget: Int) async throws -> [CompactionStep] {
        var steps: [CompactionStep] = []
        while steps.last?.isComplete != true, steps.count < 1_000 {
            steps.append(try await feed.container.compact(stepBudget: budget))
        }
        XCTAssertEqual(steps.last?.isComplete, true, "compaction with a budget of \(budget) does not end")
        return steps
    }

    /// How many entries a zone has in the store, tombstones included.
    private func entries(_ feed: FeedFixture, in zoneID: RecordZone.ID) async throws -> Int {
        let databaseID = feed.database.databaseID
        return try await feed.store.read { store throws(ChangeFeedError) in
            guard let zone = try store.zone(zoneID, in: databaseID) else { return 0 }
            var count = 0
            try store.scanRecords(of: zone.key, after: .beginning, tombstonesAfter: .beginning) { _ in
                count += 1
                return .next
            }
            return count
        }
    }

    /// How many record tombstones the store has.
    private func tombstones(_ feed: FeedFixture) async throws -> Int {
        let databaseID = feed.database.databaseID
        return try await feed.store.read { store throws(ChangeFeedError) in
            var zones: [ZoneKey] = []
            try store.scanZones(of: databaseID, after: .beginning) { zone in
                zones.append(zone.key)
                return .next
            }
            var count = 0
            for zone in zones { count += try store.tombstoneCount(of: zone) }
            return count
        }
    }
}
