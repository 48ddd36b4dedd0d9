import ChangeFeed
import XCTest

/// Section 6.3: how long a page is, what its token names and when more is coming.
final class PageRulesTests: XCTestCase {
    func test6_3_1_aPageTokenNamesWhatThePageCovered() async throws {
        try await forEachStore { feed in
            // Given five records and a device that takes the first page only
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 2)
            XCTAssertEqual(first.story, ["+r1", "+r2"])

            // When it goes on much later
            try await feed.save("late", in: zone)
            let rest = try await feed.database.recordZoneChanges(inZoneWith: zone, since: first.changeToken)

            // Then nothing behind its page is missing
            XCTAssertEqual(rest.story, ["+r3", "+r4", "+r5", "+late"])
        }
    }

    func testB19_aLimitThatCutsAPageDoesNotMoveTheTokenToTheHead() async throws {
        try await forEachStore { feed in
            // Given 250 changes, the first 150 of one type and the rest of another
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.save((1...150).map { "a\($0)" }, type: "Article", in: zone)
            try await feed.save((1...100).map { "b\($0)" }, type: "Book", in: zone)

            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token, resultsLimit: 100)
            let rest = try await feed.pages(of: zone, since: first.changeToken, limit: 100)

            XCTAssertEqual(first.changes.count, 100)
            XCTAssertTrue(first.moreComing)
            let names = rest.flatMap(\.story)
            XCTAssertEqual(names.count, 150)
            XCTAssertEqual(Set(names).intersection(first.story), [])
            XCTAssertEqual(names.filter { $0.hasPrefix("+b") }.count, 100)
        }
    }

    func testB30_thePagesOfOneAtomicCommitLoseNothingAndRepeatNothing() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.fill(zone, count: 250)

            let pages = try await feed.pages(of: zone, since: token, limit: 100)

            XCTAssertEqual(pages.map(\.changes.count), [100, 100, 50])
            XCTAssertEqual(Set(pages.flatMap(\.story)).count, 250)
        }
    }

    func testB16_aDeviceThatReadsItsOwnWritesMovesOnWithEveryPage() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.fill(zone, count: 205)
            let pages = try await feed.pages(of: zone, since: token, limit: 100)
            XCTAssertEqual(pages.count, 3)
            XCTAssertEqual(Set(pages.map(\.changeToken)).count, 3)
        }
    }

    func test6_3_2_moreIsComingExactlyIfThereIsMore() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 6)
            for (limit, more) in [(5, true), (6, false), (7, false)] {
                let page = try await feed.database.recordZoneChanges(
                    inZoneWith: zone, since: nil, resultsLimit: limit)
                XCTAssertEqual(page.moreComing, more, "limit \(limit)")
            }
        }
    }

    func test6_3_2_nothingButOldTombstonesIsNotMoreToAFirstRead() async throws {
        try await forEachStore { feed in
            // Given one living record with dead ones behind it, and the same with zones
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", "c", in: zone)
            try await feed.delete("b", "c", in: zone)
            try await feed.makeZone("Gone")
            try await feed.deleteZone(RecordZone.ID(zoneName: "Gone"))

            let records = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 1)
            let zones = try await feed.database.databaseChanges(since: nil, resultsLimit: 1)

            XCTAssertEqual(records.story, ["+a"])
            XCTAssertFalse(records.moreComing)
            XCTAssertEqual(zones.story, ["+Notes"])
            XCTAssertFalse(zones.moreComing)
        }
    }

    func test6_3_3_theLimitCountsModificationsAndDeletionsTogether() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", "c", "d", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.delete("a", in: zone)
            try await feed.save("b", in: zone)
            try await feed.delete("c", in: zone)
            try await feed.save("d", in: zone)

            let pages = try await feed.pages(of: zone, since: token, limit: 3)

            XCTAssertEqual(pages.map(\.story), [["-a", "+b", "-c"], ["+d"]])
        }
    }

    func test6_3_3_noLimitAndZeroLeaveItToTheServerAndNoLimitGoesOverIt() async throws {
        var limits = Limits.cloudKit
        limits.resultsPerPage = 4
        try await forEachStore(limits: limits) { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 9)
            for name in ["B", "C", "D", "E"] { try await feed.makeZone(name) }
            for limit in [nil, 0, 4, 5, 1_000, Int.max] {
                let records = try await feed.database.recordZoneChanges(
                    inZoneWith: zone, since: nil, resultsLimit: limit)
                XCTAssertEqual(records.story, ["+r1", "+r2", "+r3", "+r4"], "limit \(limit as Any)")
                XCTAssertTrue(records.moreComing)
                let zones = try await feed.database.databaseChanges(since: nil, resultsLimit: limit)
                XCTAssertEqual(zones.changes.count, 4, "limit \(limit as Any)")
                XCTAssertTrue(zones.moreComing)
            }
        }
    }

    func test6_3_3_aNegativeLimitIsAnError() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            for limit in [-1, -200, Int.min] {
                await expectError(.invalidArguments, zoneID: zone, rule: "6.3.3") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: limit)
                }
                await expectError(.invalidArguments, rule: "6.3.3") {
                    try await feed.database.databaseChanges(since: nil, resultsLimit: limit)
                }
            }
        }
    }

    func test6_3_5_aPageIsOneMergedListInAscendingOrderWithItsTwoViews() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 4)
            let token = try await feed.token(of: zone)
            for act in ["+r4", "-r2", "+new", "-r1", "+r3"] {
                if act.hasPrefix("+") {
                    try await feed.save(String(act.dropFirst()), in: zone)
                } else {
                    try await feed.delete(String(act.dropFirst()), in: zone)
                }
            }

            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)

            XCTAssertEqual(page.story, ["+r4", "-r2", "+new", "-r1", "+r3"])
            XCTAssertEqual(page.modifications.map(\.recordID.recordName), ["r4", "new", "r3"])
            XCTAssertEqual(page.deletions.map(\.recordID.recordName), ["r2", "r1"])
        }
    }

    func testT6_theTokenOfAnEarlierPageStaysValidAfterALaterFailure() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 6)
            let first = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, resultsLimit: 2)
            let second = try await feed.database.recordZoneChanges(
                inZoneWith: zone, since: first.changeToken, resultsLimit: 2)

            // When a later request of the same fetch fails
            await expectError(.invalidArguments, zoneID: zone) {
                try await feed.database.recordZoneChanges(
                    inZoneWith: zone, since: second.changeToken, resultsLimit: -1)
            }

            // Then both tokens go on from where they are
            let fromFirst = try await feed.pages(of: zone, since: first.changeToken)
            let fromSecond = try await feed.pages(of: zone, since: second.changeToken)
            XCTAssertEqual(fromFirst.flatMap(\.story), ["+r3", "+r4", "+r5", "+r6"])
            XCTAssertEqual(fromSecond.flatMap(\.story), ["+r5", "+r6"])
        }
    }

    func testFZ12_thePageCarriesTheMarkerOfTheMostRecentModify() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let record = Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
            var request = RecordModifyRequest(saving: [record])
            request.clientChangeTokenData = Data([7, 7])
            _ = try await feed.database.modifyRecords(request)
            let marked = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)

            try await feed.save("b", in: zone)
            let unmarked = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)

            XCTAssertEqual(marked.clientChangeTokenData, Data([7, 7]))
            XCTAssertNil(unmarked.clientChangeTokenData)
        }
    }
}
