import ChangeFeed
import Foundation
import XCTest

/// Rule R12: so many records may belong to one by `deleteSelf`, and not one more.
final class OwnerLimitTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// A server where three records may belong to one, with `a` and `b` to belong to.
    private func world(owned count: Int = 0) async throws -> (feed: FeedFixture, zone: RecordZone.ID) {
        let feed = FeedFixture { $0.limits.deleteSelfReferences = 3 }
        let zone = try await feed.makeZone()
        try await feed.save("a", "b", in: zone)
        if count > 0 {
            try await feed.modify(
                saving: (1...count).map { Feed.note("r\($0)", in: zone, owner: "a") }, in: zone)
        }
        return (feed, zone)
    }

    func testR12_theOneTooManyIsRefused() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world(owned: 3)
            let token = try await feed.token(of: zone)

            let results = try await feed.modify(saving: [Feed.note("r4", in: zone, owner: "a")], in: zone)

            XCTAssertEqual(results.story, ["+r4 limitExceeded"])
            let error = results.errors[Feed.id("r4", in: zone)]
            XCTAssertEqual(error?.rule, "R12")
            XCTAssertEqual(error?.limit, .init(name: "deleteSelfReferences", allowed: 3, found: 4))
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
        }
    }

    func testR12_withinOneRequestToo() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world()
            let records = (1...5).map { Feed.note("r\($0)", in: zone, owner: "a") }

            let partial = try await feed.modify(saving: records, in: zone, atomically: false)

            XCTAssertEqual(partial.story, ["+r1", "+r2", "+r3", "+r4 limitExceeded", "+r5 limitExceeded"])
            let (other, otherZone) = try await world()
            let refused = try await other.modify(
                saving: (1...4).map { Feed.note("r\($0)", in: otherZone, owner: "a") }, in: otherZone)
            XCTAssertEqual(
                refused.story,
                ["+r1 batchRequestFailed", "+r2 batchRequestFailed", "+r3 batchRequestFailed", "+r4 limitExceeded"])
        }
    }

    func testR12_eachTargetHasABoundOfItsOwn() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world(owned: 3)
            let second = try await feed.makeZone("Second")

            let here = try await feed.modify(
                saving: (4...6).map { Feed.note("r\($0)", in: zone, owner: "b") }, in: zone)
            let there = try await feed.modify(
                saving: (1...3).map { Feed.note("r\($0)", in: second, owner: "a") }, in: second)

            XCTAssertEqual(here.story, ["+r4", "+r5", "+r6"])
            XCTAssertEqual(there.story, ["+r1", "+r2", "+r3"])
        }
    }

    func testR12_aRecordSavedAgainIsNotCountedTwice() async throws {
        try await overEveryStore {
            for policy in RecordSavePolicy.allCases {
                let (feed, zone) = try await world(owned: 3)
                var record = try await feed.record("r1", in: zone)
                record["title"] = "again"
                record["owner"] = .reference(.init(recordID: Feed.id("a", in: zone), action: .deleteSelf))

                let results = try await feed.modify(saving: [record], in: zone, policy: policy)

                XCTAssertEqual(results.story, ["+r1"], "\(policy)")
            }
        }
    }

    func testR12_referencesOfOtherActionsAreNotCounted() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world(owned: 3)
            var record = Feed.note("r4", in: zone, parent: "a")
            record["see"] = .reference(.init(recordID: Feed.id("a", in: zone), action: .none))
            record["sure"] = .reference(.init(recordID: Feed.id("a", in: zone), action: .validate))

            let results = try await feed.modify(saving: [record], in: zone)

            XCTAssertEqual(results.story, ["+r4"])
        }
    }

    func testR12_whoeverGoesOrMovesMakesRoom() async throws {
        try await overEveryStore {
            let makeRoom: [(String, (FeedFixture, RecordZone.ID) async throws -> Void)] = [
                ("deleted", { feed, zone in try await feed.modify(deleting: ["r2"], in: zone) }),
                (
                    "moved",
                    { feed, zone in
                        var record = try await feed.record("r2", in: zone)
                        record["owner"] = .reference(.init(recordID: Feed.id("b", in: zone), action: .deleteSelf))
                        try await feed.modify(saving: [record], in: zone)
                    }
                ),
                (
                    "cleared",
                    { feed, zone in
                        var record = try await feed.record("r2", in: zone)
                        record["owner"] = RecordValue?.none
                        try await feed.modify(saving: [record], in: zone)
                    }
                ),
            ]
            for (how, act) in makeRoom {
                let (feed, zone) = try await world(owned: 3)
                try await act(feed, zone)

                let one = try await feed.modify(saving: [Feed.note("r4", in: zone, owner: "a")], in: zone)
                let another = try await feed.modify(saving: [Feed.note("r5", in: zone, owner: "a")], in: zone)

                XCTAssertEqual(one.story, ["+r4"], how)
                XCTAssertEqual(another.story, ["+r5 limitExceeded"], how)
            }
        }
    }

    func testR12_aRecordThatMovesAwayMakesRoomForTheNextOfItsRequest() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world(owned: 3)
            var leaving = try await feed.record("r1", in: zone)
            leaving["owner"] = .reference(.init(recordID: Feed.id("b", in: zone), action: .deleteSelf))

            // Never more than three belong to `a`, neither before nor after
            let results = try await feed.modify(saving: [leaving, Feed.note("r4", in: zone, owner: "a")], in: zone)

            XCTAssertEqual(results.story, ["+r1", "+r4"])
        }
    }

    func testR12_aSaveThatFailsForItsParentTakesNoPlace() async throws {
        try await overEveryStore {
            let (feed, zone) = try await world(owned: 2)
            // Given that `x` fails because its parent, later in the request, does
            let records = [
                Feed.note("x", in: zone, parent: "y", owner: "a"), Feed.note("y", in: zone, parent: "nobody"),
                Feed.note("r3", in: zone, owner: "a"),
            ]

            let results = try await feed.modify(saving: records, in: zone, atomically: false)

            XCTAssertEqual(results.story, ["+x referenceViolation", "+y referenceViolation", "+r3"])
        }
    }

    func testR12_aTargetThatIsNotThereYetHasTheSameBound() async throws {
        try await overEveryStore {
            // Given three that wait for a target that is not there
            let (feed, zone) = try await world()
            try await feed.modify(saving: (1...3).map { Feed.note("r\($0)", in: zone, owner: "late") }, in: zone)

            let before = try await feed.modify(saving: [Feed.note("r4", in: zone, owner: "late")], in: zone)
            try await feed.save("late", in: zone)
            let after = try await feed.modify(saving: [Feed.note("r4", in: zone, owner: "late")], in: zone)

            XCTAssertEqual(before.story, ["+r4 limitExceeded"])
            XCTAssertEqual(after.story, ["+r4 limitExceeded"])
        }
    }

    func testR12_cloudKitAllowsSevenHundredAndFifty() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            for range in [1...400, 401...750] {
                let results = try await feed.modify(
                    saving: range.map { Feed.note("r\($0)", in: zone, owner: "a") }, in: zone)
                XCTAssertTrue(results.errors.isEmpty)
            }

            let results = try await feed.modify(saving: [Feed.note("r751", in: zone, owner: "a")], in: zone)

            XCTAssertEqual(
                results.errors[Feed.id("r751", in: zone)]?.limit,
                .init(name: "deleteSelfReferences", allowed: 750, found: 751))
        }
    }
}
