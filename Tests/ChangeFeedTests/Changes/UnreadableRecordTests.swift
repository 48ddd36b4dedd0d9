import ChangeFeed
import XCTest

/// Rule FZ10: one record that cannot be given does not take the page with it.
final class UnreadableRecordTests: XCTestCase {
    private let store = LossyStore(over: InMemoryStore(randomness: { 17 }))
    private lazy var feed = FeedFixture(store: store)

    func testFZ10_aRecordThatCannotBeReadLeavesThePageIntact() async throws {
        let zone = try await feed.makeZone()
        try await feed.fill(zone, count: 3)
        store.loseContent(ofRecordsNamed: ["r2"])

        let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)

        XCTAssertEqual(page.story, ["+r1", "!r2", "+r3"])
        let lost = Record.ID(recordName: "r2", zoneID: zone)
        XCTAssertEqual(page.failures.keys.map(\.self), [lost])
        XCTAssertEqual(page.failures[lost]?.recordID, lost)
    }

    func testFZ10_theTokenMovesPastIt() async throws {
        let zone = try await feed.makeZone()
        try await feed.fill(zone, count: 3)
        store.loseContent(ofRecordsNamed: ["r1", "r2", "r3"])

        let pages = try await feed.pages(of: zone, limit: 1)

        XCTAssertEqual(pages.map(\.story), [["!r1"], ["!r2"], ["!r3"]])
        let next = try await feed.database.recordZoneChanges(
            inZoneWith: zone, since: try XCTUnwrap(pages.last).changeToken)
        XCTAssertEqual(next.story, [])
    }

    func testU26_itCanBeAskedForLaterById() async throws {
        let zone = try await feed.makeZone()
        try await feed.fill(zone, count: 2)
        store.loseContent(ofRecordsNamed: ["r2"])
        let lost = Record.ID(recordName: "r2", zoneID: zone)
        await expectError(.internalError, detail: .damaged, zoneID: zone) {
            try await self.feed.database.record(for: lost)
        }

        store.loseContent(ofRecordsNamed: [])

        let found = try await feed.database.record(for: lost)
        XCTAssertEqual(found.recordID, lost)
    }

    func testFZ10_theOperationReportsItAsTheRecordsResultAndTheZoneSucceeds() async throws {
        let zone = try await feed.makeZone()
        try await feed.fill(zone, count: 3)
        store.loseContent(ofRecordsNamed: ["r2"])

        var failed: [String] = []
        var zoneSucceeded = false
        for await event in FetchRecordZoneChangesOperation(recordZoneIDs: [zone]).events(from: feed.database) {
            switch event {
            case .recordChanged(let recordID, .failure): failed.append(recordID.recordName)
            case .zoneCompleted(_, .success): zoneSucceeded = true
            default: break
            }
        }

        XCTAssertEqual(failed, ["r2"])
        XCTAssertTrue(zoneSucceeded)
    }
}
