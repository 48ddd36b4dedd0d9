import ChangeFeed
import XCTest

/// Rule 6.3.4: a bound on bytes ends a page early, and an item larger than the bound travels alone.
final class PageBytesTests: XCTestCase {
    private var limits: Limits {
        var limits = Limits.cloudKit
        limits.bytesPerPage = 10_000
        return limits
    }

    private func text(_ bytes: Int) -> String { String(repeating: "x", count: bytes) }

    func test6_3_4_aPageEndsBeforeItsBytesGoOverTheBound() async throws {
        try await forEachStore(limits: limits) { feed in
            // Given ten records of 4 000 bytes each
            let zone = try await feed.makeZone()
            for number in 1...10 { try await feed.save("r\(number)", title: text(4_000), in: zone) }

            let pages = try await feed.pages(of: zone)

            // Then two fit in a page and none is lost
            XCTAssertEqual(pages.map(\.changes.count), [2, 2, 2, 2, 2])
            XCTAssertEqual(pages.flatMap(\.story), (1...10).map { "+r\($0)" })
        }
    }

    func test6_3_4_anItemLargerThanTheBoundTravelsAlone() async throws {
        try await forEachStore(limits: limits) { feed in
            let zone = try await feed.makeZone()
            try await feed.save("small1", title: text(10), in: zone)
            try await feed.save("large1", title: text(50_000), in: zone)
            try await feed.save("large2", title: text(50_000), in: zone)
            try await feed.save("small2", title: text(10), in: zone)
            try await feed.save("small3", title: text(10), in: zone)

            let pages = try await feed.pages(of: zone)

            XCTAssertEqual(pages.map(\.story), [["+small1"], ["+large1"], ["+large2"], ["+small2", "+small3"]])
        }
    }

    func test6_3_4_aBoundOfOneByteStillMovesOneItemAPage() async throws {
        var limits = Limits.cloudKit
        limits.bytesPerPage = 1
        try await forEachStore(limits: limits) { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5, title: "text")
            let token = try await feed.token(of: zone)
            try await feed.delete("r1", "r2", in: zone)
            try await feed.save("r3", title: "text", in: zone)

            let first = try await feed.pages(of: zone)
            let later = try await feed.pages(of: zone, since: token)

            XCTAssertEqual(first.map(\.story), [["+r4"], ["+r5"], ["+r3"]])
            XCTAssertEqual(later.map(\.story), [["-r1"], ["-r2"], ["+r3"]])
        }
    }

    func test6_3_4_bytesThatAreNotFetchedDoNotCount() async throws {
        try await forEachStore(limits: limits) { feed in
            let zone = try await feed.makeZone()
            for number in 1...10 { try await feed.save("r\(number)", title: text(4_000), in: zone) }

            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, desiredKeys: [])

            XCTAssertEqual(page.changes.count, 10)
            XCTAssertFalse(page.moreComing)
        }
    }

    func test6_3_4_countAndBytesBoundAPageTogether() async throws {
        try await forEachStore(limits: limits) { feed in
            let zone = try await feed.makeZone()
            for number in 1...4 { try await feed.save("small\(number)", title: text(10), in: zone) }
            for number in 1...4 { try await feed.save("large\(number)", title: text(4_000), in: zone) }

            let pages = try await feed.pages(of: zone, limit: 3)

            XCTAssertEqual(
                pages.map(\.story),
                [
                    ["+small1", "+small2", "+small3"], ["+small4", "+large1", "+large2"], ["+large3", "+large4"],
                ])
        }
    }
}
