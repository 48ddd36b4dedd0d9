import ChangeFeed
import Foundation
import XCTest

/// Rules R13 and R15: references whose target has to exist, on the server or in the same request.
final class ParentTests: XCTestCase {
    private typealias Feed = FeedFixture

    func testR13_aParentMustExist() async throws {
        try await overEveryStore {
            for atomically in [true, false] {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()
                let token = try await feed.token(of: zone)

                let results = try await feed.modify(
                    saving: [Feed.note("child", in: zone, parent: "nobody")], in: zone, atomically: atomically)

                XCTAssertEqual(results.story, ["+child referenceViolation"])
                let error = results.errors[Feed.id("child", in: zone)]
                XCTAssertEqual(error?.rule, "R13")
                XCTAssertEqual(error?.recordID, Feed.id("child", in: zone))
                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                XCTAssertEqual(page.story, [])
            }
        }
    }

    func testR13_aParentOnTheServerWillDo() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("parent", in: zone)

            let results = try await feed.modify(saving: [Feed.note("child", in: zone, parent: "parent")], in: zone)

            XCTAssertEqual(results.story, ["+child"])
            let child = try await feed.record("child", in: zone)
            XCTAssertEqual(child.parent, Record.Reference(recordID: Feed.id("parent", in: zone)))
        }
    }

    func testR13_aParentInTheSameRequestWillDoInAnyOrder() async throws {
        try await overEveryStore {
            for atomically in [true, false] {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()

                let results = try await feed.modify(
                    saving: [
                        Feed.note("grandchild", in: zone, parent: "child"), Feed.note("root", in: zone),
                        Feed.note("child", in: zone, parent: "root"),
                    ], in: zone, atomically: atomically)

                XCTAssertEqual(results.story, ["+grandchild", "+root", "+child"])
            }
        }
    }

    func testR13_aCircleOfParentsIsInOneRequestOrNotAtAll() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let (a, b) = (Feed.note("a", in: zone, parent: "b"), Feed.note("b", in: zone, parent: "a"))

            let alone = try await feed.modify(saving: [a], in: zone)
            let together = try await feed.modify(saving: [a, b], in: zone)

            XCTAssertEqual(alone.story, ["+a referenceViolation"])
            XCTAssertEqual(together.story, ["+a", "+b"])
        }
    }

    func testR13_aParentHasTheActionNone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("parent", in: zone)
            for action in [Record.Reference.Action.deleteSelf, .validate] {
                var child = Feed.note("child", in: zone)
                child.setParent(Record.Reference(recordID: Feed.id("parent", in: zone), action: action))

                let results = try await feed.modify(saving: [child], in: zone)

                XCTAssertEqual(results.story, ["+child invalidArguments"], "\(action)")
                XCTAssertEqual(results.errors[child.recordID]?.rule, "R13", "\(action)")
            }
        }
    }

    func testR13_aParentIsInTheSameZone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (here, there) = (try await feed.makeZone("Here"), try await feed.makeZone("There"))
            try await feed.save("parent", in: there)
            // A record of the parent's name in the child's own zone must not be taken for it
            try await feed.save("parent", in: here)
            var child = Feed.note("child", in: here)
            child.setParent(Feed.id("parent", in: there))

            let results = try await feed.modify(saving: [child], in: here)

            XCTAssertEqual(results.story, ["+child invalidArguments"])
        }
    }

    func testR13_aDeletedParentIsNone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("parent", in: zone)
            try await feed.delete("parent", in: zone)

            let results = try await feed.modify(saving: [Feed.note("child", in: zone, parent: "parent")], in: zone)

            XCTAssertEqual(results.story, ["+child referenceViolation"])
        }
    }

    func testR13_aParentThatFailsFailsItsChildrenAndTheirs() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()

            let results = try await feed.modify(
                saving: [
                    Feed.note("grandchild", in: zone, parent: "child"), Feed.note("child", in: zone, parent: "parent"),
                    Feed.note("parent", in: zone, parent: "nobody"), Feed.note("other", in: zone),
                ], in: zone, atomically: false)

            XCTAssertEqual(
                results.story,
                [
                    "+grandchild referenceViolation", "+child referenceViolation", "+parent referenceViolation",
                    "+other",
                ])
            let fresh = try await feed.pages(of: zone).flatMap(\.story)
            XCTAssertEqual(fresh, ["+other"])
        }
    }

    func testR13_aParentRefusedForAnotherReasonFailsItsChildren() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a parent that was deleted since its writer fetched it
            var parent = try await feed.saved("parent", in: zone)
            parent["title"] = "edited"
            try await feed.delete("parent", in: zone)

            for order in [[0, 1], [1, 0]] {
                let records = [parent, Feed.note("child", in: zone, parent: "parent")]
                let results = try await feed.modify(saving: order.map { records[$0] }, in: zone, atomically: false)

                XCTAssertEqual(results.errors[parent.recordID]?.code, .unknownItem)
                XCTAssertEqual(results.errors[Feed.id("child", in: zone)]?.code, .referenceViolation)
            }
            let fresh = try await feed.pages(of: zone).flatMap(\.story)
            XCTAssertEqual(fresh, [])
        }
    }

    func testR13_aParentThatConflictsIsStillThere() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            var stale = try await feed.saved("parent", in: zone)
            try await feed.save("parent", title: "newer", in: zone)
            stale["title"] = "older"

            let results = try await feed.modify(
                saving: [Feed.note("child", in: zone, parent: "parent"), stale], in: zone, atomically: false)

            XCTAssertEqual(results.story, ["+child", "+parent serverRecordChanged"])
        }
    }

    func testR13_otherReferencesAreExempt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            var record = Feed.note("record", in: zone, owner: "nobody")
            record["see"] = .reference(.init(recordID: Feed.id("noOne", in: zone), action: .none))

            let results = try await feed.modify(saving: [record], in: zone)

            XCTAssertEqual(results.story, ["+record"])
        }
    }

    func testM4_allKeysDoesNotRemoveAParentThatOnlyTheServerHas() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(
                saving: [Feed.note("parent", in: zone), Feed.note("child", in: zone, parent: "parent")], in: zone)
            // Given a client that knows of no parent
            var blind = Feed.note("child", in: zone)
            blind["title"] = "blind"

            for policy in [RecordSavePolicy.changedKeys, .allKeys] {
                let results = try await feed.modify(saving: [blind], in: zone, policy: policy)

                XCTAssertEqual(results.story, ["+child"])
                let child = try await feed.record("child", in: zone)
                XCTAssertEqual(child.parent?.recordID, Feed.id("parent", in: zone), "\(policy)")
            }
        }
    }

    func testR15_aValidatedTargetMustExist() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.save("there", in: zone)
            func record(_ targets: [String], asList: Bool) -> Record {
                var record = Feed.note("record", in: zone)
                let links = targets.map {
                    RecordValue.reference(.init(recordID: Feed.id($0, in: zone), action: .validate))
                }
                if asList { record["links"] = .list(links) } else { record["link"] = links[0] }
                return record
            }

            for refused in [record(["nobody"], asList: false), record(["there", "nobody"], asList: true)] {
                let results = try await feed.modify(saving: [refused], in: zone)
                XCTAssertEqual(results.story, ["+record referenceViolation"])
                XCTAssertEqual(results.errors[refused.recordID]?.rule, "R15")
            }
            let along = try await feed.modify(
                saving: [record(["there", "along"], asList: true), Feed.note("along", in: zone)], in: zone)
            XCTAssertEqual(along.story, ["+record", "+along"])
        }
    }

    func testR15_aValidatedTargetThatGoesLaterTakesNothingAndStopsNoSave() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            var record = Feed.note("record", in: zone)
            record["link"] = .reference(.init(recordID: Feed.id("target", in: zone), action: .validate))
            try await feed.modify(saving: [record, Feed.note("target", in: zone)], in: zone)

            try await feed.modify(deleting: ["target"], in: zone)

            // Then the link dangles, and what does not touch it is not held up by it
            var left = try await feed.record("record", in: zone)
            XCTAssertEqual(left["link"], record["link"])
            left["title"] = "changed"
            let results = try await feed.modify(saving: [left], in: zone)
            XCTAssertEqual(results.story, ["+record"])
        }
    }
}
