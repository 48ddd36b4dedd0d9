import ChangeFeed
import Foundation
import XCTest

/// Deleting records, with and without a known version (rule M9, section 6.9, case B66; test 26 of section 8).
final class DeletionTests: XCTestCase {
    private func delete(
        _ recordID: Record.ID, tag: String? = nil, in feed: FeedFixture
    ) async throws -> Result<Void, ChangeFeedError> {
        let request = RecordModifyRequest(deleting: [.init(recordID: recordID, recordChangeTag: tag)])
        let results = try await feed.database.modifyRecords(request)
        XCTAssertEqual(results.saves.count, 0)
        XCTAssertEqual(results.deletions.map(\.recordID), [recordID])
        return try XCTUnwrap(results.deletions.first).result
    }

    /// A record in two versions.
    private func twoVersions(in feed: FeedFixture) async throws -> (first: Record, second: Record) {
        let zone = try await feed.makeZone()
        let first = try await feed.database.save(feed.note("a", in: zone, ["title": "v1"]))
        var edited = first
        edited["title"] = "v2"
        return (first, try await feed.database.save(edited))
    }

    func testM9_deletingAnUnknownRecordSucceedsWithoutEffect() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let recordID = Record.ID(recordName: "never", zoneID: zone)
            for tag in [nil, "made-up", ""] {
                let result = try await feed.storingNothing { try await delete(recordID, tag: tag, in: feed) }
                XCTAssertNil(result.error, "tag \(tag ?? "none")")
            }
        }
    }

    func testM9_deletingInAMissingZoneIsZoneNotFound() async throws {
        try await forEachStore { feed in
            let missing = RecordZone.ID(zoneName: "Missing")
            let recordID = Record.ID(recordName: "a", zoneID: missing)
            let result = try await feed.storingNothing { try await delete(recordID, in: feed) }
            XCTAssertEqual(result.code, .zoneNotFound)
            XCTAssertEqual(result.error?.zoneID, missing)
        }
    }

    func testM9_withoutATagWhicheverVersionIsThereGoes() async throws {
        try await forEachStore { feed in
            let (_, second) = try await twoVersions(in: feed)
            let token = try await feed.token(of: second.recordID.zoneID)
            let deleted = try await delete(second.recordID, in: feed)
            XCTAssertNil(deleted.error)
            let page = try await feed.database.recordZoneChanges(inZoneWith: second.recordID.zoneID, since: token)
            XCTAssertEqual(page.story, ["-a"])
            XCTAssertEqual(page.deletions.first?.recordType, "Note")
            XCTAssertEqual(page.deletions.first?.recordChangeTag, second.recordChangeTag)
            XCTAssertEqual(page.deletions.first?.reason, .deleted)
        }
    }

    func test6_9_aDeleteOfAVersionThatTheClientHasNotSeenIsAConflict() async throws {
        try await forEachStore { feed in
            // Given a device that knows v1 while the server has v2
            let (first, second) = try await twoVersions(in: feed)

            // When it deletes v1
            let result = try await feed.storingNothing {
                try await delete(first.recordID, tag: first.recordChangeTag, in: feed)
            }

            // Then the other device's edit is not lost, and the error has it
            XCTAssertEqual(result.code, .serverRecordChanged)
            XCTAssertEqual(result.error?.recordID, first.recordID)
            XCTAssertEqual(result.error?.serverRecord, second)
            XCTAssertEqual(result.error?.rule, "M9")
        }
    }

    func test6_9_aDeleteOfTheVersionThatIsThereSucceeds() async throws {
        try await forEachStore { feed in
            let (_, second) = try await twoVersions(in: feed)
            let deleted = try await delete(second.recordID, tag: second.recordChangeTag, in: feed)
            XCTAssertNil(deleted.error)
            let found = try await feed.database.records(for: [second.recordID])
            XCTAssertEqual(found[second.recordID]?.code, .unknownItem)
        }
    }

    func test6_9_aDeleteOfWhatIsGoneAlreadySucceedsWhateverTheTag() async throws {
        try await forEachStore { feed in
            let (first, second) = try await twoVersions(in: feed)
            try await feed.delete("a", in: first.recordID.zoneID)
            for tag in [first.recordChangeTag, second.recordChangeTag, nil] {
                let result = try await feed.storingNothing { try await delete(first.recordID, tag: tag, in: feed) }
                XCTAssertNil(result.error)
            }
        }
    }

    func test6_9_aTagOfAnEarlierLifeOfTheIdIsAConflict() async throws {
        try await forEachStore { feed in
            // Given a record that was deleted and created again
            let (_, second) = try await twoVersions(in: feed)
            let zone = second.recordID.zoneID
            try await feed.delete("a", in: zone)
            let reborn = try await feed.database.save(feed.note("a", in: zone, ["title": "new life"]))

            // When a device deletes the version that it knew before
            let result = try await feed.storingNothing {
                try await delete(second.recordID, tag: second.recordChangeTag, in: feed)
            }

            // Then the new life stays
            XCTAssertEqual(result.code, .serverRecordChanged)
            XCTAssertEqual(result.error?.serverRecord, reborn)
        }
    }

    func testB66_bothOrdersOfDeleteAndEditAreToldApart() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let v1 = try await feed.database.save(feed.note("a", in: zone, ["title": "v1"]))
            var edit = v1
            edit["title"] = "edited"

            // Edit, then a delete of v1: the edit wins, the deleter is told
            let v2 = try await feed.database.save(edit)
            let refused = try await delete(v1.recordID, tag: v1.recordChangeTag, in: feed)
            XCTAssertEqual(refused.code, .serverRecordChanged)

            // Delete of v2, then an edit of v1: the delete wins, the editor is told
            let deleted = try await delete(v2.recordID, tag: v2.recordChangeTag, in: feed)
            XCTAssertNil(deleted.error)
            let late = try await feed.save(edit, .ifServerRecordUnchanged)
            XCTAssertEqual(late.code, .unknownItem)
        }
    }

    func testR6_aRecordCreatedAgainHasANewTagAndANewCreationDate() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let first = try await feed.database.save(feed.note("a", in: zone, ["title": "x", "old": "y"]))
            feed.clock.advance(by: 60)
            try await feed.delete("a", in: zone)
            feed.clock.advance(by: 60)
            let second = try await feed.database.save(feed.note("a", in: zone, ["title": "x"]))
            XCTAssertEqual(second.creationDate, feed.clock.now)
            XCTAssertNotEqual(second.creationDate, first.creationDate)
            XCTAssertNotEqual(second.recordChangeTag, first.recordChangeTag)
            XCTAssertEqual(second.texts, ["title": "x"], "nothing of the old life comes back")
        }
    }

    func testM9_deletingInTheDefaultZoneComparesTagsToo() async throws {
        try await forEachStore { feed in
            let first = try await feed.database.save(feed.note("a", in: .default, ["title": "v1"]))
            var edited = first
            edited["title"] = "v2"
            let second = try await feed.database.save(edited)
            let stale = try await delete(first.recordID, tag: first.recordChangeTag, in: feed)
            XCTAssertEqual(stale.code, .serverRecordChanged)
            let found = try await feed.database.record(for: first.recordID)
            XCTAssertEqual(found, second)
            let deleted = try await delete(first.recordID, tag: second.recordChangeTag, in: feed)
            XCTAssertNil(deleted.error)
        }
    }
}
