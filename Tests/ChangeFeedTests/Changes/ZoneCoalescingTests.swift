import ChangeFeed
import XCTest

/// Section 6.5 for zones: what a reader of the database's feed hears of what happened since its token, row by row.
final class ZoneCoalescingTests: XCTestCase {
    private let notes = RecordZone.ID(zoneName: "Notes")

    private func whatIsHeard(
        in feed: FeedFixture, when act: () async throws -> Void
    ) async throws -> [String] {
        let token = try await feed.databaseToken()
        try await act()
        let page = try await feed.database.databaseChanges(since: token)
        XCTAssertFalse(page.moreComing)
        return page.story
    }

    func testFD1_aNewZoneIsAChange() async throws {
        try await forEachStore { feed in
            let heard = try await whatIsHeard(in: feed) { try await feed.makeZone() }
            XCTAssertEqual(heard, ["+Notes"])
        }
    }

    func testFD1_manyChangesInOneZoneAreOneEntryAtItsLatestPlace() async throws {
        try await forEachStore { feed in
            for name in ["Notes", "Photos", "Quiet"] { try await feed.makeZone(name) }
            let heard = try await whatIsHeard(in: feed) {
                try await feed.save("a", in: notes)
                try await feed.save("p", in: RecordZone.ID(zoneName: "Photos"))
                try await feed.save("b", in: notes)
                try await feed.delete("a", in: notes)
            }
            XCTAssertEqual(heard, ["+Photos", "+Notes"])
        }
    }

    func testFD1_aDeletedRecordIsAChangeOfItsZone() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            try await feed.save("a", in: notes)
            let heard = try await whatIsHeard(in: feed) { try await feed.delete("a", in: notes) }
            XCTAssertEqual(heard, ["+Notes"])
        }
    }

    func testZ3_savingAZoneThatExistsIsNoChange() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let heard = try await whatIsHeard(in: feed) { try await feed.makeZone() }
            XCTAssertEqual(heard, [])
        }
    }

    func test6_5_aDeletedZoneIsOneDeletionWhateverHappenedInIt() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let heard = try await whatIsHeard(in: feed) {
                try await feed.save("a", "b", in: notes)
                try await feed.deleteZone(notes)
            }
            XCTAssertEqual(heard, ["-Notes (deleted)"])
        }
    }

    func testFD3_eachReasonIsToldFromTheOthers() async throws {
        try await forEachStore { feed in
            for name in ["A", "B", "C"] { try await feed.makeZone(name) }
            let heard = try await whatIsHeard(in: feed) {
                try await feed.container.purgeZone(RecordZone.ID(zoneName: "C"), for: FeedFixture.userID)
                try await feed.container.resetEncryptedData(
                    inZoneWith: RecordZone.ID(zoneName: "A"), for: FeedFixture.userID)
                try await feed.deleteZone(RecordZone.ID(zoneName: "B"))
            }
            XCTAssertEqual(heard, ["-C (purged)", "-A (encryptedDataReset)", "-B (deleted)"])
        }
    }

    func test6_5_aZoneCreatedAndDeletedIsADeletion() async throws {
        try await forEachStore { feed in
            let heard = try await whatIsHeard(in: feed) {
                try await feed.makeZone()
                try await feed.deleteZone(notes)
            }
            XCTAssertEqual(heard, ["-Notes (deleted)"])
        }
    }

    func testB34_aZoneDeletedAndCreatedAgainIsADeletionAndThenAChange() async throws {
        try await forEachStore { feed in
            // Given a device that has Notes and all its records
            try await feed.makeZone()
            try await feed.fill(notes, count: 40)
            let old = try await feed.token(of: notes)

            // When the zone is purged and created again with five records
            let heard = try await whatIsHeard(in: feed) {
                try await feed.container.purgeZone(notes, for: FeedFixture.userID)
                try await feed.makeZone()
                try await feed.fill(notes, count: 5, title: "new life")
            }

            // Then the device is told both, the old token has expired, and a fresh read gives exactly the five
            XCTAssertEqual(heard, ["-Notes (purged)", "+Notes"])
            await expectError(.changeTokenExpired, detail: .zoneRecreated, zoneID: notes, rule: "6.2") {
                try await feed.database.recordZoneChanges(inZoneWith: self.notes, since: old)
            }
            let fresh = try await feed.database.recordZoneChanges(inZoneWith: notes, since: nil)
            XCTAssertEqual(fresh.story, ["+r1", "+r2", "+r3", "+r4", "+r5"])
            let titles = fresh.modifications.compactMap { $0["title"] as String? }
            XCTAssertEqual(titles, Array(repeating: "new life", count: 5))
        }
    }

    func test6_5_whoKnowsOfTheDeletionHearsOfTheNewLifeOnly() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            try await feed.deleteZone(notes)
            let heard = try await whatIsHeard(in: feed) {
                try await feed.makeZone()
                try await feed.save("a", in: notes)
            }
            XCTAssertEqual(heard, ["+Notes"])
        }
    }

    func test6_5_aZoneThatGoesTwiceIsOneDeletionWithTheLastReason() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let heard = try await whatIsHeard(in: feed) {
                try await feed.container.purgeZone(notes, for: FeedFixture.userID)
                try await feed.makeZone()
                try await feed.deleteZone(notes)
            }
            XCTAssertEqual(heard, ["-Notes (deleted)"])
        }
    }

    func test6_5_theDeletionIsToldOnceAndNotAgainWithLaterChanges() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let token = try await feed.databaseToken()
            try await feed.deleteZone(notes)
            try await feed.makeZone()
            let first = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(first.story, ["-Notes (deleted)", "+Notes"])

            try await feed.save("a", in: notes)

            let second = try await feed.database.databaseChanges(since: first.changeToken)
            XCTAssertEqual(second.story, ["+Notes"])
        }
    }

    func test6_5_deletionAndNewLifeCountAsOneItemOfTheLimit() async throws {
        try await forEachStore { feed in
            for name in ["A", "Notes", "Z"] { try await feed.makeZone(name) }
            let token = try await feed.databaseToken()
            try await feed.save("a", in: RecordZone.ID(zoneName: "A"))
            try await feed.deleteZone(notes)
            try await feed.makeZone()
            try await feed.save("z", in: RecordZone.ID(zoneName: "Z"))

            let byOne = try await feed.databasePages(since: token, limit: 1)
            let byTwo = try await feed.databasePages(since: token, limit: 2)

            XCTAssertEqual(byOne.map(\.story), [["+A"], ["-Notes (deleted)", "+Notes"], ["+Z"]])
            XCTAssertEqual(byTwo.map(\.story), [["+A", "-Notes (deleted)", "+Notes"], ["+Z"]])
        }
    }

    /// The reader's token precedes the deletion; that of its second page need not.
    func test6_5_theDeletionIsToldThoughThePageBeforeItEndsBehindIt() async throws {
        try await forEachStore { feed in
            // Given a device that has read everything
            for name in ["Notes", "Other"] { try await feed.makeZone(name) }
            let token = try await feed.databaseToken()

            // When Notes goes and comes back, Other changes, and then Notes changes again
            try await feed.container.purgeZone(notes, for: FeedFixture.userID)
            try await feed.makeZone()
            try await feed.save("o", in: RecordZone.ID(zoneName: "Other"))
            try await feed.save("n", in: notes)

            // Then it hears of the deletion, whatever the size of its pages
            let inOne = try await feed.databasePages(since: token)
            XCTAssertEqual(inOne.map(\.story), [["+Other", "-Notes (purged)", "+Notes"]])
            let byOne = try await feed.databasePages(since: token, limit: 1)
            XCTAssertEqual(byOne.map(\.story), [["+Other"], ["-Notes (purged)", "+Notes"]])
        }
    }

    func test6_4_aZoneDeliveredByAFirstReadAndThenReplacedIsToldAsDeletedAtEveryPageSize() async throws {
        for limit in 1...4 {
            try await forEachStore { feed in
                for name in ["Notes", "Other", "Third"] { try await feed.makeZone(name) }
                let pages = try await feed.databasePages(limit: limit) { page in
                    guard page == 1 else { return }
                    try await feed.container.purgeZone(notes, for: FeedFixture.userID)
                    try await feed.makeZone()
                    try await feed.save("o", in: RecordZone.ID(zoneName: "Other"))
                    try await feed.save("n", in: notes)
                }
                let heard = pages.flatMap(\.story)
                if limit < 3 {
                    XCTAssertTrue(heard.contains("-Notes (purged)"), "limit \(limit): \(heard)")
                }
                XCTAssertEqual(heard.last, limit < 3 ? "+Notes" : "+Third", "limit \(limit): \(heard)")
            }
        }
    }
}
