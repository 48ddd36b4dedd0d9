import ChangeFeed
import Foundation
import XCTest

/// Rule R14: a record with children by `parent` stays, unless they go or move away with the same request.
final class ChildrenTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// A zone with `parent`, and `child` under it.
    private func world() async throws -> (feed: FeedFixture, zone: RecordZone.ID, token: ZoneChangeToken) {
        let feed = FeedFixture()
        let zone = try await feed.makeZone()
        try await feed.modify(
            saving: [Feed.note("parent", in: zone), Feed.note("child", in: zone, parent: "parent")], in: zone)
        return (feed, zone, try await feed.token(of: zone))
    }

    func testR14_aRecordWithChildrenCannotBeDeleted() async throws {
        try await overEveryStore {
            for atomically in [true, false] {
                let (feed, zone, token) = try await world()

                let results = try await feed.modify(deleting: ["parent"], in: zone, atomically: atomically)

                XCTAssertEqual(results.story, ["-parent referenceViolation"])
                XCTAssertEqual(results.errors[Feed.id("parent", in: zone)]?.rule, "R14")
                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                XCTAssertEqual(page.story, [])
            }
        }
    }

    func testR14_childrenDeletedWithItInAnyOrderDoNotHoldItBack() async throws {
        try await overEveryStore {
            for names in [["parent", "child"], ["child", "parent"]] {
                let (feed, zone, token) = try await world()

                let results = try await feed.modify(deleting: names, in: zone)

                XCTAssertEqual(results.story, names.map { "-\($0)" })
                let gone = try await feed.gone(in: zone, since: token)
                XCTAssertEqual(gone, ["child: deleted", "parent: deleted"])
            }
        }
    }

    func testR14_childrenThatMoveAwayWithTheSameRequestDoNotHoldItBack() async throws {
        try await overEveryStore {
            for newParent in [nil, "other"] {
                let (feed, zone, token) = try await world()
                try await feed.save("other", in: zone)
                var child = try await feed.record("child", in: zone)
                child.setParent(newParent.map { Record.Reference(recordID: Feed.id($0, in: zone)) })

                let results = try await feed.modify(saving: [child], deleting: ["parent"], in: zone)

                XCTAssertEqual(results.story, ["+child", "-parent"])
                let gone = try await feed.gone(in: zone, since: token)
                XCTAssertEqual(gone, ["parent: deleted"])
                let left = try await feed.record("child", in: zone)
                XCTAssertEqual(left.parent?.recordID.recordName, newParent)
            }
        }
    }

    func testR14_aChildThatDoesNotManageToMoveHoldsItBack() async throws {
        try await overEveryStore {
            let (feed, zone, _) = try await world()
            // Given a move by a client that knows an old version of the child
            var stale = try await feed.record("child", in: zone)
            try await feed.save("child", title: "newer", in: zone)
            stale.setParent(nil)

            let results = try await feed.modify(saving: [stale], deleting: ["parent"], in: zone, atomically: false)

            XCTAssertEqual(results.errors[stale.recordID]?.code, .serverRecordChanged)
            let living = try await feed.living(of: ["parent", "child"], in: zone)
            XCTAssertTrue(living.contains("child"))
        }
    }

    func testR14_aChildSavedUnderItByTheSameRequestHoldsItBack() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("parent", in: zone)
            let late = Feed.note("late", in: zone, parent: "parent")

            // Atomically nothing happens
            let refused = try await feed.modify(saving: [late], deleting: ["parent"], in: zone)
            XCTAssertEqual(refused.story, ["+late batchRequestFailed", "-parent referenceViolation"])
            var living = try await feed.living(of: ["parent", "late"], in: zone)
            XCTAssertEqual(living, ["parent"])

            // Otherwise each item for itself
            let partial = try await feed.modify(saving: [late], deleting: ["parent"], in: zone, atomically: false)
            XCTAssertEqual(partial.story, ["+late", "-parent referenceViolation"])
            living = try await feed.living(of: ["parent", "late"], in: zone)
            XCTAssertEqual(living, ["parent", "late"])
        }
    }

    func testR14_aChildOfWhatACascadeWouldTakeHoldsTheWholeCascadeBack() async throws {
        try await overEveryStore {
            for atomically in [true, false] {
                let (feed, zone, _) = try await world()
                // Given that the parent belongs to a list, which itself has no children
                try await feed.save("list", in: zone)
                var parent = try await feed.record("parent", in: zone)
                parent["owner"] = .reference(.init(recordID: Feed.id("list", in: zone), action: .deleteSelf))
                try await feed.modify(saving: [parent], in: zone)
                let token = try await feed.token(of: zone)

                let results = try await feed.modify(deleting: ["list"], in: zone, atomically: atomically)

                XCTAssertEqual(results.story, ["-list referenceViolation"])
                let gone = try await feed.gone(in: zone, since: token)
                XCTAssertEqual(gone, [])
            }
        }
    }

    func testR14_aChildThatGoesWithTheCascadeDoesNotHoldItBack() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a child whose owner is its parent
            try await feed.modify(
                saving: [
                    Feed.note("parent", in: zone), Feed.note("child", in: zone, parent: "parent", owner: "parent"),
                ],
                in: zone)
            let token = try await feed.token(of: zone)

            let results = try await feed.modify(deleting: ["parent"], in: zone)

            XCTAssertEqual(results.story, ["-parent"])
            let gone = try await feed.gone(in: zone, since: token)
            XCTAssertEqual(gone, ["child: cascaded", "parent: deleted"])
        }
    }

    func testR14_aRecordThatIsItsOwnChildCanBeDeleted() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(saving: [Feed.note("a", in: zone, parent: "a")], in: zone)

            let results = try await feed.modify(deleting: ["a"], in: zone)

            XCTAssertEqual(results.story, ["-a"])
        }
    }

    func testR14_notAtomicallyARefusedDeletionRefusesThoseThatNeededItAndNoOthers() async throws {
        try await overEveryStore {
            let (feed, zone, _) = try await world()
            // Given `top` whose child is `parent`, which is refused because of `child`; and something free
            var parent = try await feed.record("parent", in: zone)
            parent.setParent(Feed.id("top", in: zone))
            try await feed.modify(saving: [Feed.note("top", in: zone), parent, Feed.note("free", in: zone)], in: zone)
            let token = try await feed.token(of: zone)

            let results = try await feed.modify(deleting: ["top", "parent", "free"], in: zone, atomically: false)

            XCTAssertEqual(results.story, ["-top referenceViolation", "-parent referenceViolation", "-free"])
            let gone = try await feed.gone(in: zone, since: token)
            XCTAssertEqual(gone, ["free: deleted"])
        }
    }

    func testR14_aChildTakenByACascadeNoLongerHoldsItsParentBack() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(
                saving: [
                    Feed.note("parent", in: zone), Feed.note("list", in: zone),
                    Feed.note("child", in: zone, parent: "parent", owner: "list"),
                ], in: zone)

            try await feed.modify(deleting: ["list"], in: zone)
            let results = try await feed.modify(deleting: ["parent"], in: zone)

            XCTAssertEqual(results.story, ["-parent"])
        }
    }

    func testB56_childrenBeforeTheirParentsInOneRequestAllLand() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a tree of three to a parent, the last child first
            let tree = (0..<300).reversed().map { number in
                Feed.note("r\(number)", in: zone, parent: number == 0 ? nil : "r\((number - 1) / 3)")
            }

            let results = try await feed.modify(saving: tree, in: zone)

            XCTAssertTrue(results.errors.isEmpty, "\(results.errors)")
            let fresh = try await feed.pages(of: zone).flatMap(\.modifications)
            XCTAssertEqual(Set(fresh.map(\.recordID)).count, 300)
        }
    }
}
