import ChangeFeed
import Foundation
import XCTest

/// Rules R10 and FZ10: what cannot be sealed or opened fails alone.
final class CipherFailureTests: XCTestCase {
    private typealias Feed = FeedFixture

    /// A zone with `a`, `b` and `c`, each with a secret.
    private func world() async throws -> (feed: FeedFixture, zone: RecordZone.ID, cipher: TestCipher) {
        let cipher = TestCipher()
        let feed = Feed.sealing(with: cipher)
        let zone = try await feed.makeZone()
        try await feed.modify(saving: ["a", "b", "c"].map { Feed.secret($0, .string($0), in: zone) }, in: zone)
        return (feed, zone, cipher)
    }

    func testFZ10_aRecordThatDoesNotOpenLeavesThePageIntact() async throws {
        for limit in [1, 2, nil] {
            let (feed, zone, cipher) = try await world()
            cipher.breakOpening(ofRecordsNamed: ["b"])

            let pages = try await feed.pages(of: zone, limit: limit)

            XCTAssertEqual(pages.flatMap(\.story), ["+a", "!b", "+c"])
            let error = pages.flatMap(\.failures).first { $0.key.recordName == "b" }?.value
            XCTAssertEqual(error?.code, .internalError)
            XCTAssertEqual(error?.recordID, Feed.id("b", in: zone))
            XCTAssertEqual(error?.rule, "R10")
            // And the token has moved past it
            let next = try await feed.pages(of: zone, since: pages.last?.changeToken)
            XCTAssertEqual(next.flatMap(\.story), [])
        }
    }

    func testFZ10_aLookupFailsForThatRecordAlone() async throws {
        let (feed, zone, cipher) = try await world()
        cipher.breakOpening(ofRecordsNamed: ["b"])

        let living = try await feed.living(of: ["a", "b", "c"], in: zone)

        XCTAssertEqual(living, ["a", "c"])
        // Once it opens again, it can be had
        cipher.breakOpening(ofRecordsNamed: [])
        let record = try await feed.record("b", in: zone)
        XCTAssertEqual(record.encryptedValues["secret"], "b")
    }

    func testR10_aSaveThatCannotBeSealedFailsAlone() async throws {
        let (feed, zone, cipher) = try await world()
        cipher.breakSealing(ofRecordsNamed: ["x"])
        let token = try await feed.token(of: zone)
        let records = [Feed.secret("x", "x", in: zone), Feed.secret("y", "y", in: zone)]

        let atomic = try await feed.modify(saving: records, in: zone)
        XCTAssertEqual(atomic.story, ["+x internalError", "+y batchRequestFailed"])
        XCTAssertEqual(atomic.errors[Feed.id("x", in: zone)]?.rule, "R10")
        let partial = try await feed.modify(saving: records, in: zone, atomically: false)
        XCTAssertEqual(partial.story, ["+x internalError", "+y"])
        let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
        XCTAssertEqual(page.story, ["+y"])
    }

    func testR10_aSavedRecordThatDoesNotOpenDoesNotUndoTheOthers() async throws {
        let (feed, zone, cipher) = try await world()
        let second = try await feed.makeZone("Second")
        cipher.breakOpening(ofRecordsNamed: ["b"])
        // Given a request that touches a plain field of the record that does not open, and others
        func titled(_ name: String, in zone: RecordZone.ID) -> Record {
            var record = Feed.note(name, in: zone)
            record["title"] = "new"
            return record
        }

        let results = try await feed.database.modifyRecords(
            saving: [titled("a", in: zone), titled("b", in: zone), titled("x", in: second)], savePolicy: .changedKeys,
            atomically: false)

        // Then there is a result for each, and those of the others are what they would have been without it
        XCTAssertEqual(results.saves.count, 3)
        XCTAssertEqual(results.errors[Feed.id("a", in: zone)]?.code, nil)
        XCTAssertEqual(results.errors[Feed.id("x", in: second)]?.code, nil)
        let (here, there) = (try await feed.record("a", in: zone), try await feed.record("x", in: second))
        XCTAssertEqual(here["title"], "new")
        XCTAssertEqual(there["title"], "new")
    }

    func testR10_aConflictWithARecordThatDoesNotOpenIsStillARefusal() async throws {
        let (feed, zone, cipher) = try await world()
        var stale = try await feed.record("b", in: zone)
        try await feed.save("b", title: "newer", in: zone)
        let token = try await feed.token(of: zone)
        cipher.breakOpening(ofRecordsNamed: ["b"])
        stale["title"] = "older"

        let results = try await feed.modify(
            saving: [stale, Feed.note("x", in: zone)], in: zone, atomically: false)

        XCTAssertNotNil(results.errors[stale.recordID])
        XCTAssertNil(results.errors[Feed.id("x", in: zone)])
        let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
        XCTAssertEqual(page.story, ["+x"])
    }

    func testR10_aRecordThatDoesNotOpenCanBeDeleted() async throws {
        let (feed, zone, cipher) = try await world()
        cipher.breakOpening(ofRecordsNamed: ["b"])

        let results = try await feed.modify(deleting: ["b"], in: zone)

        XCTAssertEqual(results.story, ["-b"])
    }

    func testR10_withoutItsEncryptionAContainerStillGivesTheRest() async throws {
        let (feed, zone, _) = try await world()
        try await feed.save("plain", title: "in clear", in: zone)

        let reopened = feed.reopened()

        let pages = try await reopened.pages(of: zone)
        XCTAssertEqual(pages.flatMap(\.story), ["!a", "!b", "!c", "+plain"])
        let inventory = try await reopened.pages(of: zone, keys: [])
        XCTAssertEqual(inventory.flatMap(\.story), ["+a", "+b", "+c", "+plain"])
    }

    func testR10_withAnotherKeyNothingOpens() async throws {
        let (feed, zone, _) = try await world()

        let other = feed.reconfigured { $0.encryption = TestCipher(key: 1).encryption }

        let pages = try await other.pages(of: zone)
        XCTAssertEqual(pages.flatMap(\.story), ["!a", "!b", "!c"])
    }

    func testR10_whatWasMovedToAnotherFieldRecordOrUserDoesNotOpen() async throws {
        let (feed, zone, _) = try await world()
        let user = feed.database.databaseID
        try await feed.database(of: "bert").save(RecordZone(zoneID: zone))
        let there = try await feed.makeZone("There")
        // Given somebody who can write to the store, and moves a sealed value about
        typealias Move = (what: String, database: DatabaseID, zone: RecordZone.ID, name: String, key: String)
        let moves: [Move] = [
            ("back to its place", user, zone, "a", "secret"), ("another record", user, zone, "b", "secret"),
            ("another field", user, zone, "a", "other"), ("another zone", user, there, "a", "secret"),
            ("another user", .private("bert"), zone, "a", "secret"),
        ]
        for (what, database, target, name, key) in moves {
            let opens = what == "back to its place"
            try await feed.store.write { store throws(ChangeFeedError) in
                guard let from = try store.zone(zone, in: user), let to = try store.zone(target, in: database),
                    case .live(let source) = try store.record(named: "a", in: from.key),
                    let sealed = source.encryptedPayload
                else { return }
                var bytes = [UInt8]([1, 1, UInt8(key.utf8.count)]) + Array(key.utf8)
                bytes += sealed.encoded.dropFirst(3 + "secret".utf8.count)
                let position = try store.allocatePosition()
                let version = RecordVersion(
                    recordID: Record.ID(recordName: name, zoneID: target), recordType: "Note",
                    system: RecordSystemFields(
                        changeTag: RecordChangeTag(epoch: 1, position: position), creationDate: feed.clock.now,
                        modificationDate: feed.clock.now, creatorUserID: "eve", lastModifiedUserID: "eve"),
                    payload: .empty, encryptedPayload: try Payload(encoded: bytes))
                try store.putRecord(.live(version), in: to.key)
            }
            let recordID = Record.ID(recordName: name, zoneID: target)
            let found = try await feed.database(of: database.userID).records(for: [recordID])
            switch try XCTUnwrap(found[recordID], what) {
            case .success(let record):
                XCTAssertTrue(opens, "\(what): opens as \(String(describing: record.encryptedValues[key]))")
                XCTAssertEqual(record.encryptedValues[key], "a", what)
            case .failure(let error):
                XCTAssertFalse(opens, "\(what): \(error)")
                XCTAssertEqual(error.rule, "R10", what)
            }
            // Put the original back for the next
            if name == "a", target == zone, database == user, !opens {
                var again = Feed.secret("a", "a", in: zone)
                again["title"] = "again"
                try await feed.modify(deleting: ["a"], in: zone)
                try await feed.modify(saving: [again], in: zone)
            }
        }
    }
}
