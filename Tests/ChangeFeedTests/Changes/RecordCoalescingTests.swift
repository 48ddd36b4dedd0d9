import ChangeFeed
import XCTest

/// Section 6.5 for records: what a reader with a token hears of what happened since, row by row.
final class RecordCoalescingTests: XCTestCase {
    /// Reads a zone to its end, lets things happen, and reads on.
    private func whatIsHeard(
        of zone: RecordZone.ID, in feed: FeedFixture, when act: () async throws -> Void
    ) async throws -> ZoneChanges {
        let token = try await feed.token(of: zone)
        try await act()
        return try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
    }

    func test6_5_createdIsAModification() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let page = try await whatIsHeard(of: zone, in: feed) { try await feed.save("a", in: zone) }
            XCTAssertEqual(page.story, ["+a"])
        }
    }

    func testFZ9_changedManyTimesIsOneModificationWithTheLastContent() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", title: "0", in: zone)
            let page = try await whatIsHeard(of: zone, in: feed) {
                for version in 1...20 { try await feed.save("a", title: "\(version)", in: zone) }
            }
            XCTAssertEqual(page.story, ["+a"])
            XCTAssertEqual(page.modifications.first?["title"], "20")
        }
    }

    func test6_5_createdAndChangedIsOneModification() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let page = try await whatIsHeard(of: zone, in: feed) {
                try await feed.save("a", title: "1", in: zone)
                try await feed.save("a", title: "2", in: zone)
            }
            XCTAssertEqual(page.story, ["+a"])
            XCTAssertEqual(page.modifications.first?["title"], "2")
        }
    }

    func test6_5_createdAndDeletedIsADeletion() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let page = try await whatIsHeard(of: zone, in: feed) {
                try await feed.save("a", in: zone)
                try await feed.delete("a", in: zone)
            }
            XCTAssertEqual(page.story, ["-a"])
        }
    }

    func test6_5_changedAndDeletedIsOneDeletionWithTypeTagAndReason() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", type: "Letter", in: zone)
            var last: Record?
            let page = try await whatIsHeard(of: zone, in: feed) {
                last = try await feed.save("a", title: "last", type: "Letter", in: zone).first
                try await feed.delete("a", in: zone)
            }
            let tag = try XCTUnwrap(last?.recordChangeTag)
            XCTAssertEqual(
                page.deletions,
                [
                    ZoneChanges.Deletion(
                        recordID: Record.ID(recordName: "a", zoneID: zone), recordType: "Letter",
                        recordChangeTag: tag, reason: .deleted)
                ])
            XCTAssertEqual(page.changes.count, 1)
        }
    }

    func test6_5_deletedAndCreatedIsAModificationWithANewTagAndANewCreationDate() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let old = try await feed.save("a", title: "old", in: zone)[0]
            let page = try await whatIsHeard(of: zone, in: feed) {
                feed.clock.advance(by: 60)
                try await feed.delete("a", in: zone)
                feed.clock.advance(by: 60)
                try await feed.save("a", title: "new", in: zone)
            }
            XCTAssertEqual(page.story, ["+a"])
            let new = try XCTUnwrap(page.modifications.first)
            XCTAssertNotNil(new.recordChangeTag)
            XCTAssertNotEqual(new.recordChangeTag, old.recordChangeTag)
            XCTAssertEqual(new.creationDate, feed.clock.now)
            XCTAssertEqual(old.creationDate, feed.clock.now - 120)
        }
    }

    func test6_5_aRecreatedRecordHasNothingOfItsFormerFields() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
            record["title"] = "old"
            record["secret"] = "of the former life"
            try await feed.database.save(record)
            let page = try await whatIsHeard(of: zone, in: feed) {
                try await feed.delete("a", in: zone)
                try await feed.save("a", title: "new", in: zone)
            }
            XCTAssertEqual(page.modifications.first?.allKeys, ["title"])
        }
    }

    func test6_5_deletingWhatNeverWasIsNothingAndConsumesNoNumber() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let token = try await feed.token(of: zone)
            let databaseToken = try await feed.databaseToken()

            try await feed.delete("never", in: zone)

            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
            XCTAssertEqual(page.changeToken, token)
            let database = try await feed.database.databaseChanges(since: databaseToken)
            XCTAssertEqual(database.story, [])
            XCTAssertEqual(database.changeToken, databaseToken)
        }
    }

    func test6_5_deletingTwiceIsOneDeletionAtTheFirstPlace() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", in: zone)
            let page = try await whatIsHeard(of: zone, in: feed) {
                try await feed.delete("a", in: zone)
                try await feed.delete("b", in: zone)
                try await feed.delete("a", in: zone)
            }
            XCTAssertEqual(page.story, ["-a", "-b"])
        }
    }

    func testR8_aSaveWithNoChangedFieldIsAModificationWithANewTag() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let record = try await feed.save("a", title: "same", in: zone)[0]
            let page = try await whatIsHeard(of: zone, in: feed) { try await feed.database.save(record) }
            XCTAssertEqual(page.story, ["+a"])
            XCTAssertEqual(page.modifications.first?["title"], "same")
            XCTAssertNotEqual(page.modifications.first?.recordChangeTag, record.recordChangeTag)
        }
    }

    func testR9_savingAChildDoesNotTouchItsParent() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let parent = try await feed.save("parent", in: zone)[0]
            let page = try await whatIsHeard(of: zone, in: feed) {
                var child = Record(recordType: "Note", recordID: Record.ID(recordName: "child", zoneID: zone))
                child.setParent(parent.recordID)
                try await feed.database.save(child)
            }
            XCTAssertEqual(page.story, ["+child"])
        }
    }

    func testFZ14_aDevicesOwnSavesComeBackToIt() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            var saved: [Record] = []
            let page = try await whatIsHeard(of: zone, in: feed) {
                saved = try await feed.save("mine", "too", title: "t", in: zone)
            }
            // What a save returns is what a fetch returns
            XCTAssertEqual(page.modifications, saved)
        }
    }

    func testM11_aRefusedAtomicBatchLeavesNoTraceInTheFeed() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let current = try await feed.save("a", title: "1", in: zone)[0]
            try await feed.save("a", title: "2", in: zone)
            var stale = current
            stale["title"] = "conflict"
            let token = try await feed.token(of: zone)

            let fresh = Record(recordType: "Note", recordID: Record.ID(recordName: "b", zoneID: zone))
            let results = try await feed.database.modifyRecords(saving: [fresh, stale])

            XCTAssertEqual(results.errors[current.recordID]?.code, .serverRecordChanged)
            XCTAssertEqual(results.errors[fresh.recordID]?.code, .batchRequestFailed)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
            XCTAssertEqual(page.changeToken, token)
        }
    }
}
