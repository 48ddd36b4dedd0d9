import ChangeFeed
import Foundation
import XCTest

/// Rules R11 and M15: a record goes with the record that its `deleteSelf` reference names.
final class DeleteSelfTests: XCTestCase {
    private typealias Feed = FeedFixture

    func testR11_aRecordGoesWithItsOwnerAndTheFeedTellsOfBoth() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a list, an item that belongs to it, and one that does not
            try await feed.modify(saving: [Feed.note("list", in: zone)], in: zone)
            try await feed.modify(
                saving: [Feed.note("item", in: zone, owner: "list"), Feed.note("other", in: zone)], in: zone)
            let token = try await feed.token(of: zone)
            let item = try await feed.record("item", in: zone)

            // When the list is deleted
            let results = try await feed.modify(deleting: ["list"], in: zone)

            // Then the caller hears of what was asked for only (M15), and the feed of all that went
            XCTAssertEqual(results.story, ["-list"])
            let deletions = try await feed.pages(of: zone, since: token).flatMap(\.deletions)
            XCTAssertEqual(
                Set(deletions.map { "\($0.recordID.recordName): \($0.reason)" }), ["list: deleted", "item: cascaded"])
            let told = try XCTUnwrap(deletions.first { $0.recordID.recordName == "item" })
            XCTAssertEqual(told.recordType, "Note")
            XCTAssertEqual(told.recordChangeTag, item.recordChangeTag)
            let living = try await feed.living(of: ["list", "item", "other"], in: zone)
            XCTAssertEqual(living, ["other"])
        }
    }

    func testR11_aCascadeGoesOnThroughWhatItTakes() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a tree: two below the root, two below one of these, and a stranger
            try await feed.modify(
                saving: [
                    Feed.note("a1", in: zone, owner: "a"), Feed.note("root", in: zone),
                    Feed.note("a", in: zone, owner: "root"), Feed.note("b", in: zone, owner: "root"),
                    Feed.note("a2", in: zone, owner: "a"), Feed.note("stranger", in: zone),
                ], in: zone)
            let token = try await feed.token(of: zone)

            try await feed.modify(deleting: ["root"], in: zone)

            let gone = try await feed.gone(in: zone, since: token)
            XCTAssertEqual(gone, ["a1: cascaded", "a2: cascaded", "a: cascaded", "b: cascaded", "root: deleted"])
            let living = try await feed.living(of: ["stranger"], in: zone)
            XCTAssertEqual(living, ["stranger"])
        }
    }

    func testR11_aCircleGoesOnceWhereverItIsCut() async throws {
        try await overEveryStore {
            for first in ["a", "b", "c"] {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()
                try await feed.modify(
                    saving: [
                        Feed.note("a", in: zone, owner: "b"), Feed.note("b", in: zone, owner: "c"),
                        Feed.note("c", in: zone, owner: "a"),
                    ], in: zone)
                let token = try await feed.token(of: zone)

                try await feed.modify(deleting: [first], in: zone)

                let gone = try await feed.gone(in: zone, since: token)
                XCTAssertEqual(gone, ["a", "b", "c"].map { $0 == first ? "\($0): deleted" : "\($0): cascaded" })
            }
        }
    }

    func testR11_aRecordThatOwnsItselfCanBeDeleted() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(saving: [Feed.note("a", in: zone, owner: "a")], in: zone)
            let token = try await feed.token(of: zone)

            let results = try await feed.modify(deleting: ["a"], in: zone)

            XCTAssertEqual(results.story, ["-a"])
            let gone = try await feed.gone(in: zone, since: token)
            XCTAssertEqual(gone, ["a: deleted"])
        }
    }

    func testR11_withSeveralOwnersTheFirstToGoTakesTheRecord() async throws {
        try await overEveryStore {
            for (first, asList) in [("a", false), ("b", false), ("c", false), ("a", true), ("b", true), ("c", true)] {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()
                // Given a record with three owners, in three fields or in one list
                let owners = ["a", "b", "c"].map { name in
                    RecordValue.reference(.init(recordID: Feed.id(name, in: zone), action: .deleteSelf))
                }
                var record = Feed.note("record", in: zone)
                if asList {
                    record["owners"] = .list(owners)
                } else {
                    for (key, owner) in zip(["first", "second", "third"], owners) { record[key] = owner }
                }
                try await feed.save("a", "b", "c", in: zone)
                try await feed.modify(saving: [record], in: zone)

                try await feed.modify(deleting: [first], in: zone)

                let living = try await feed.living(of: ["a", "b", "c", "record"], in: zone)
                XCTAssertEqual(living, ["a", "b", "c"].filter { $0 != first }, "\(first), as a list: \(asList)")
            }
        }
    }

    func testR11_aRecordSavedByTheRequestThatDeletesItsOwnerGoesToo() async throws {
        try await overEveryStore {
            for atomically in [true, false] {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()
                try await feed.save("list", in: zone)
                let token = try await feed.token(of: zone)

                let results = try await feed.modify(
                    saving: [Feed.note("late", in: zone, owner: "list")], deleting: ["list"], in: zone,
                    atomically: atomically)

                // It was saved, and it went: a client that holds it must hear of the latter
                XCTAssertEqual(results.story, ["+late", "-list"])
                let gone = try await feed.gone(in: zone, since: token)
                XCTAssertEqual(gone, ["late: cascaded", "list: deleted"])
            }
        }
    }

    func testR11_whatIsAskedForIsNotCalledACascade() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(
                saving: [Feed.note("list", in: zone), Feed.note("item", in: zone, owner: "list")], in: zone)
            let token = try await feed.token(of: zone)

            let results = try await feed.modify(deleting: ["list", "item"], in: zone)

            XCTAssertEqual(results.story, ["-list", "-item"])
            let gone = try await feed.gone(in: zone, since: token)
            XCTAssertEqual(gone, ["item: deleted", "list: deleted"])
        }
    }

    func testR11_aDeletionThatConflictsTakesNothingWithIt() async throws {
        try await overEveryStore {
            for atomically in [true, false] {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()
                try await feed.modify(
                    saving: [Feed.note("list", in: zone), Feed.note("item", in: zone, owner: "list")], in: zone)
                let token = try await feed.token(of: zone)

                let results = try await feed.database.modifyRecords(
                    RecordModifyRequest(
                        deleting: [.init(recordID: Feed.id("list", in: zone), recordChangeTag: "of another time")],
                        atomically: atomically))

                XCTAssertEqual(results.story, ["-list serverRecordChanged"])
                let gone = try await feed.gone(in: zone, since: token)
                XCTAssertEqual(gone, [])
            }
        }
    }

    func testR11_inTheDefaultZoneTheCascadeIsDoneWhenTheRequestReturns() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = RecordZone.ID.default
            try await feed.modify(
                saving: [
                    Feed.note("list", in: zone), Feed.note("item", in: zone, owner: "list"),
                    Feed.note("part", in: zone, owner: "item"), Feed.note("other", in: zone),
                ], in: zone)

            let results = try await feed.modify(deleting: ["list"], in: zone)

            XCTAssertEqual(results.story, ["-list"])
            let living = try await feed.living(of: ["list", "item", "part", "other"], in: zone)
            XCTAssertEqual(living, ["other"])
        }
    }

    func testR11_aCascadeStaysInItsZone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            for zone in [one, two] {
                try await feed.modify(
                    saving: [Feed.note("list", in: zone), Feed.note("item", in: zone, owner: "list")], in: zone)
            }

            try await feed.modify(deleting: ["list"], in: one)

            let (here, there) = (
                try await feed.living(of: ["list", "item"], in: one),
                try await feed.living(of: ["list", "item"], in: two)
            )
            XCTAssertEqual(here, [])
            XCTAssertEqual(there, ["list", "item"])
        }
    }

    func testR11_aChainOfFiveThousandGoesWithoutAStack() async throws {
        try await overEveryStore {
            // Given a chain, each link owned by the one before
            let feed = FeedFixture { $0.limits = .relaxed }
            let zone = try await feed.makeZone()
            let chain = (0..<5_000).map { Feed.note("r\($0)", in: zone, owner: $0 == 0 ? nil : "r\($0 - 1)") }
            try await feed.modify(saving: chain, in: zone)
            let token = try await feed.token(of: zone)

            let results = try await feed.modify(deleting: ["r0"], in: zone)

            XCTAssertEqual(results.story, ["-r0"])
            let deletions = try await feed.pages(of: zone, since: token).flatMap(\.deletions)
            XCTAssertEqual(deletions.count, 5_000)
            XCTAssertEqual(Set(deletions.map(\.recordID)).count, 5_000)
            XCTAssertEqual(deletions.filter { $0.reason == .deleted }.map(\.recordID.recordName), ["r0"])
            let fresh = try await feed.pages(of: zone).flatMap(\.story)
            XCTAssertEqual(fresh, [])
        }
    }
}
