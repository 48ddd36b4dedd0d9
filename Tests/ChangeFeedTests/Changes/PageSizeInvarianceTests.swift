import ChangeFeed
import XCTest

/// Section 8, test 7: whatever the size of the pages, together they say the same.
final class PageSizeInvarianceTests: XCTestCase {
    private static let sizes = [1, 2, 3, 4, 5, 7, 11, 12, 13, 40]

    func test6_3_thePagesOfAZoneTogetherAreTheOneBigPage() async throws {
        for seed in 1...12 as ClosedRange<UInt64> {
            try await forEachStore { feed in
                var random = FeedFixture.Random(seed: seed)
                let zone = try await feed.makeZone()
                var tokens: [ZoneChangeToken?] = [nil]

                // Given a random history, with tokens taken on the way and in the middle of first reads
                for step in 0..<90 {
                    let name = "r\(Int.random(in: 1...14, using: &random))"
                    if Int.random(in: 0..<10, using: &random) < 4 {
                        try await feed.delete(name, in: zone)
                    } else {
                        try await feed.save(name, title: "\(step)", in: zone)
                    }
                    if step % 15 == 7 { tokens.append(try await feed.token(of: zone)) }
                    if step % 30 == 20 {
                        let page = try await feed.database.recordZoneChanges(
                            inZoneWith: zone, since: nil, resultsLimit: 2)
                        if page.moreComing { tokens.append(page.changeToken) }
                    }
                }

                // When it is read from each of them in pages of each size
                for (index, token) in tokens.enumerated() {
                    let whole = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                    XCTAssertFalse(whole.moreComing)
                    for size in Self.sizes {
                        let pages = try await feed.pages(of: zone, since: token, limit: size)
                        let place = "seed \(seed), token \(index), pages of \(size)"

                        // Then they are the one page, cut
                        guard pages.flatMap(\.story) == whole.story else {
                            return XCTFail("\(place): \(pages.flatMap(\.story)) are not \(whole.story)")
                        }
                        XCTAssertEqual(pages.flatMap(\.modifications), whole.modifications, place)
                        XCTAssertEqual(pages.flatMap(\.deletions), whole.deletions, place)
                        XCTAssertEqual(pages.last?.changeToken, whole.changeToken, place)
                        XCTAssertEqual(Set(pages.map(\.changeToken)).count, pages.count, place)
                        XCTAssertEqual(pages.count, max(1, (whole.changes.count + size - 1) / size), place)
                    }
                }
            }
        }
    }

    func test6_3_thePagesOfADatabaseTogetherAreTheOneBigPage() async throws {
        for seed in 1...12 as ClosedRange<UInt64> {
            try await forEachStore { feed in
                var random = FeedFixture.Random(seed: seed)
                var living: Set<String> = []
                var tokens: [DatabaseChangeToken?] = [nil]

                // Given a random history of zones that come, change, go for one reason or another and come back
                for step in 0..<80 {
                    let name = "zone\(Int.random(in: 1...8, using: &random))"
                    let zone = RecordZone.ID(zoneName: name)
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0..<4 where living.contains(name): try await feed.save("r", in: zone)
                    case 4..<6 where living.remove(name) != nil: try await feed.deleteZone(zone)
                    case 6 where living.remove(name) != nil:
                        try await feed.container.purgeZone(zone, for: FeedFixture.userID)
                    default:
                        try await feed.makeZone(name)
                        living.insert(name)
                    }
                    if step % 9 == 5 { tokens.append(try await feed.databaseToken()) }
                }

                for (index, token) in tokens.enumerated() {
                    let whole = try await feed.database.databaseChanges(since: token)
                    XCTAssertFalse(whole.moreComing)
                    let items = Set(whole.changes.map(\.zoneID)).count
                    for size in Self.sizes {
                        let pages = try await feed.databasePages(since: token, limit: size)
                        let place = "seed \(seed), token \(index), pages of \(size)"
                        guard pages.flatMap(\.story) == whole.story else {
                            return XCTFail("\(place): \(pages.flatMap(\.story)) are not \(whole.story)")
                        }
                        XCTAssertEqual(pages.last?.changeToken, whole.changeToken, place)
                        XCTAssertEqual(Set(pages.map(\.changeToken)).count, pages.count, place)
                        XCTAssertEqual(pages.count, max(1, (items + size - 1) / size), place)
                    }
                    if token == nil { XCTAssertEqual(Set(whole.modifications.map(\.zoneName)), living) }
                }
            }
        }
    }
}

extension DatabaseChanges.Change {
    fileprivate var zoneID: RecordZone.ID {
        switch self {
        case .modified(let zoneID): zoneID
        case .deleted(let deletion): deletion.zoneID
        }
    }
}
