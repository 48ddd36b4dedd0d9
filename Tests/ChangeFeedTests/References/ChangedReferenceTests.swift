import ChangeFeed
import Foundation
import XCTest

/// Rule R11: only the references that a record has now count, to whatever bears their target's name now.
final class ChangedReferenceTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// A zone with `old`, `new` and a `record` that belongs to `old`.
    private func world() async throws -> (feed: FeedFixture, zone: RecordZone.ID, record: Record) {
        let feed = FeedFixture()
        let zone = try await feed.makeZone()
        try await feed.save("old", "new", in: zone)
        let results = try await feed.modify(saving: [Feed.note("record", in: zone, owner: "old")], in: zone)
        return (feed, zone, try XCTUnwrap(results.saves.first).result.get())
    }

    func testR11_aReplacedReferenceFollowsItsNewTargetOnly() async throws {
        try await overEveryStore {
            var (feed, zone, record) = try await world()
            record["owner"] = .reference(.init(recordID: Feed.id("new", in: zone), action: .deleteSelf))
            try await feed.modify(saving: [record], in: zone)

            try await feed.modify(deleting: ["old"], in: zone)
            var living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, ["record"])

            try await feed.modify(deleting: ["new"], in: zone)
            living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func testR11_aClearedReferenceIsNoLink() async throws {
        try await overEveryStore {
            var (feed, zone, record) = try await world()
            record["owner"] = RecordValue?.none
            try await feed.modify(saving: [record], in: zone)

            try await feed.modify(deleting: ["old"], in: zone)

            let living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, ["record"])
        }
    }

    func testR11_aReferenceWhoseActionBecameNoneDangles() async throws {
        try await overEveryStore {
            var (feed, zone, record) = try await world()
            let dangling = Record.Reference(recordID: Feed.id("old", in: zone), action: .none)
            record["owner"] = .reference(dangling)
            try await feed.modify(saving: [record], in: zone)

            try await feed.modify(deleting: ["old"], in: zone)

            let left = try await feed.record("record", in: zone)
            XCTAssertEqual(left["owner"], .reference(dangling))
        }
    }

    func testR11_savingOtherKeysKeepsTheLink() async throws {
        try await overEveryStore {
            for policy in RecordSavePolicy.allCases {
                var (feed, zone, record) = try await world()
                record["title"] = "changed"
                try await feed.modify(saving: [record], in: zone, policy: policy)

                try await feed.modify(deleting: ["old"], in: zone)

                let living = try await feed.living(of: ["record"], in: zone)
                XCTAssertEqual(living, [], "\(policy)")
            }
        }
    }

    func testR11_oneOfTwoReferencesToTheSameTargetIsLinkEnough() async throws {
        try await overEveryStore {
            var (feed, zone, record) = try await world()
            record["second"] = .reference(.init(recordID: Feed.id("old", in: zone), action: .deleteSelf))
            try await feed.modify(saving: [record], in: zone)
            var again = try await feed.record("record", in: zone)
            again["owner"] = RecordValue?.none
            try await feed.modify(saving: [again], in: zone)

            try await feed.modify(deleting: ["old"], in: zone)

            let living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func testR11_aRecordThatWasDeletedLeavesNoLinkToALaterOneOfItsName() async throws {
        try await overEveryStore {
            let (feed, zone, _) = try await world()
            try await feed.modify(deleting: ["record"], in: zone)
            try await feed.modify(saving: [Feed.note("record", in: zone)], in: zone)

            try await feed.modify(deleting: ["old"], in: zone)

            let living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, ["record"])
        }
    }

    func testR11_aRecordTakenByACascadeLeavesNoLinkToALaterOneOfItsName() async throws {
        try await overEveryStore {
            let (feed, zone, _) = try await world()
            try await feed.modify(deleting: ["old"], in: zone)
            try await feed.modify(saving: [Feed.note("old", in: zone), Feed.note("record", in: zone)], in: zone)

            try await feed.modify(deleting: ["old"], in: zone)

            let living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, ["record"])
        }
    }

    func testR11_aTargetCreatedLateTakesThoseThatWaitedForIt() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            // Given a reference to what is not there yet: only `parent` and `validate` are checked (R13)
            let results = try await feed.modify(saving: [Feed.note("record", in: zone, owner: "late")], in: zone)
            XCTAssertEqual(results.story, ["+record"])

            // When the target comes and goes
            try await feed.save("late", in: zone)
            try await feed.modify(deleting: ["late"], in: zone)

            let living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func testR11_deletingATargetThatNeverWasTakesNothing() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            try await feed.modify(saving: [Feed.note("record", in: zone, owner: "ghost")], in: zone)

            let results = try await feed.modify(deleting: ["ghost"], in: zone)

            XCTAssertEqual(results.story, ["-ghost"])
            let living = try await feed.living(of: ["record"], in: zone)
            XCTAssertEqual(living, ["record"])
        }
    }

    func testR11_aTargetThatComesBackFindsItsDanglingLinksHarmless() async throws {
        try await overEveryStore {
            // Given a record whose link of the action none outlived its target
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            var record = Feed.note("record", in: zone)
            record["see"] = .reference(.init(recordID: Feed.id("target", in: zone)))
            try await feed.modify(saving: [Feed.note("target", in: zone), record], in: zone)
            try await feed.modify(deleting: ["target"], in: zone)

            // When a target of the same name comes and goes
            try await feed.save("target", in: zone)
            try await feed.modify(deleting: ["target"], in: zone)

            let left = try await feed.record("record", in: zone)
            XCTAssertEqual(left["see"], record["see"])
        }
    }

    func testR11_aZonesFormerLifeLeavesNoLinks() async throws {
        try await overEveryStore {
            let (feed, zone, _) = try await world()
            try await feed.deleteZone(zone)
            try await feed.makeZone()
            try await feed.save("old", "record", in: zone)

            try await feed.modify(deleting: ["old"], in: zone)

            let living = try await feed.living(of: ["old", "record"], in: zone)
            XCTAssertEqual(living, ["record"])
        }
    }

    func testR11_linksOutliveTheContainer() async throws {
        try await overEveryStore {
            let (feed, zone, _) = try await world()

            let reopened = feed.reopened()
            try await reopened.modify(deleting: ["old"], in: zone)

            let living = try await reopened.living(of: ["record"], in: zone)
            XCTAssertEqual(living, [])
        }
    }

    func testR11_aReferenceStaysWithinItsZone() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (here, there) = (try await feed.makeZone("Here"), try await feed.makeZone("There"))
            try await feed.save("target", in: there)
            for action in Record.Reference.Action.allCases {
                var record = Feed.note("record", in: here)
                record["link"] = .reference(.init(recordID: Feed.id("target", in: there), action: action))

                let results = try await feed.modify(saving: [record], in: here)

                XCTAssertEqual(results.story, ["+record invalidArguments"], "\(action)")
                XCTAssertEqual(results.errors[record.recordID]?.rule, "R11")
            }
        }
    }
}
