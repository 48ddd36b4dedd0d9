import ChangeFeed
import XCTest

/// Section 6.4: what a read with no token delivers, and what happens to it while it is under way.
final class FirstReadTests: XCTestCase {
    func test6_4_anOldTombstoneIsNotDelivered() async throws {
        try await forEachStore { feed in
            // Given three records of which one is gone again
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", "c", in: zone)
            try await feed.delete("b", in: zone)

            // When a device reads from the beginning
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)

            // Then it hears of the living only
            XCTAssertEqual(page.story, ["+a", "+c"])
            XCTAssertFalse(page.moreComing)
        }
    }

    func test6_4_theTokenOfAFirstReadLeavesOldTombstonesBehind() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", in: zone)
            try await feed.delete("b", in: zone)
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)

            let second = try await feed.database.recordZoneChanges(inZoneWith: zone, since: first.changeToken)

            XCTAssertEqual(second.story, [])
            XCTAssertEqual(second.changeToken, first.changeToken)
        }
    }

    func test6_4_aRecordDeletedAfterItWasDeliveredIsDelivered() async throws {
        try await forEachStore { feed in
            // Given a first read that has delivered r1
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 3)
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 1)
            XCTAssertEqual(first.story, ["+r1"])

            // When r1 goes before the next page
            try await feed.delete("r1", in: zone)

            // Then the rest of the read says so
            let rest = try await feed.pages(of: zone, since: first.changeToken, limit: 1)
            XCTAssertEqual(rest.flatMap(\.story), ["+r2", "+r3", "-r1"])
        }
    }

    func test6_4_aRecordDeletedBeforeItWasDeliveredIsDeliveredAsDeletedOnly() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 3)
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 1)

            try await feed.delete("r3", in: zone)

            let rest = try await feed.pages(of: zone, since: first.changeToken, limit: 1)
            XCTAssertEqual(rest.flatMap(\.story), ["+r2", "-r3"])
        }
    }

    func test6_3_6_aRecordChangedWhilePagingComesAgainWithItsNewContent() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 3, title: "old")
            var copy = LocalCopy()
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 2)
            copy.apply(first)

            try await feed.save("r1", title: "new", in: zone)

            let rest = try await feed.pages(of: zone, since: first.changeToken, limit: 2)
            rest.forEach { copy.apply($0) }
            XCTAssertEqual(first.story + rest.flatMap(\.story), ["+r1", "+r2", "+r3", "+r1"])
            XCTAssertEqual(copy.titles, ["r1": "new", "r2": "old", "r3": "old"])
        }
    }

    func test6_4_theReadOfAnEmptyZoneGivesATokenThatSeesTheFirstRecord() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let empty = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
            XCTAssertEqual(empty.story, [])
            XCTAssertFalse(empty.moreComing)

            try await feed.save("a", in: zone)

            let next = try await feed.database.recordZoneChanges(inZoneWith: zone, since: empty.changeToken)
            XCTAssertEqual(next.story, ["+a"])
        }
    }

    func test6_3_1_theReadOfAnEmptyDatabaseGivesATokenThatSeesTheFirstZone() async throws {
        try await forEachStore { feed in
            let empty = try await feed.database.databaseChanges(since: nil)
            XCTAssertEqual(empty.story, [])
            XCTAssertFalse(empty.moreComing)

            try await feed.makeZone("Notes")

            let next = try await feed.database.databaseChanges(since: empty.changeToken)
            XCTAssertEqual(next.story, ["+Notes"])
        }
    }

    /// Between every two pages, for every page size: a record that was read goes, one that was not read goes, one
    /// changes, one is new, one that went comes back.
    func test6_4_aDeviceConvergesWhateverHappensBetweenTwoPages() async throws {
        for limit in 1...13 {
            try await forEachStore { feed in
                let zone = try await feed.makeZone()
                var server: [String: String] = [:]
                for number in 1...12 { server["r\(number)"] = "first" }
                try await feed.fill(zone, count: 12, title: "first")
                try await feed.save("ghost", in: zone)
                try await feed.delete("ghost", in: zone)

                var copy = LocalCopy()
                var old = 0
                let acts = 6
                let pages = try await feed.pages(of: zone, limit: limit) { page in
                    guard page <= acts else { return }
                    let gone = ["r\(page)", "r\(13 - page)"]
                    try await feed.delete(gone, in: zone)
                    for name in gone { server[name] = nil }
                    try await feed.save("r\(page + 1)", "new\(page)", title: "change \(page)", in: zone)
                    server["r\(page + 1)"] = "change \(page)"
                    server["new\(page)"] = "change \(page)"
                    if page % 2 == 0 {
                        try await feed.save("r1", title: "back \(page)", in: zone)
                        server["r1"] = "back \(page)"
                    }
                }
                for page in pages {
                    copy.apply(page)
                    old += page.story.filter { $0 == "-ghost" }.count
                }

                XCTAssertEqual(copy.titles, server, "limit \(limit)")
                XCTAssertEqual(old, 0, "a tombstone from before the read was delivered at limit \(limit)")
                XCTAssertFalse(pages[pages.count - 1].moreComing)
            }
        }
    }

    func test6_4_theFirstReadOfADatabaseNamesLivingZonesOnly() async throws {
        try await forEachStore { feed in
            // Given zones of which one was deleted, one purged and one deleted and created again
            for name in ["A", "B", "C", "D"] { try await feed.makeZone(name) }
            try await feed.deleteZone(RecordZone.ID(zoneName: "B"))
            try await feed.container.purgeZone(RecordZone.ID(zoneName: "C"), for: FeedFixture.userID)
            try await feed.deleteZone(RecordZone.ID(zoneName: "D"))
            try await feed.makeZone("D")

            let pages = try await feed.databasePages(limit: 1)

            XCTAssertEqual(pages.flatMap(\.story), ["+A", "+D"])
        }
    }

    func test6_4_aZoneDeletedWhileTheDatabaseIsReadIsDelivered() async throws {
        try await forEachStore { feed in
            for name in ["A", "B", "C"] { try await feed.makeZone(name) }

            let pages = try await feed.databasePages(limit: 1) { page in
                if page == 1 { try await feed.deleteZone(RecordZone.ID(zoneName: "A")) }
                if page == 2 {
                    try await feed.container.purgeZone(RecordZone.ID(zoneName: "C"), for: FeedFixture.userID)
                }
            }

            XCTAssertEqual(pages.flatMap(\.story), ["+A", "+B", "-A (deleted)", "-C (purged)"])
        }
    }
}
