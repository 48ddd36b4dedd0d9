import ChangeFeed
import XCTest

/// Rules 6.1.1 and 6.1.4 under many writers at once.
final class ConcurrentFeedTests: XCTestCase {
    func testB29_aPollingReaderMissesNoneOfManyWriters() async throws {
        try await forEachStore { feed in
            // Given eight writers that create, change and delete their own records, and a reader that polls meanwhile
            let zone = try await feed.makeZone()
            let (writers, rounds) = (8, 40)
            let running = Locked(writers)

            let copy = try await withThrowingTaskGroup(of: LocalCopy?.self) { group in
                for writer in 0..<writers {
                    group.addTask {
                        defer { running.withLock { $0 -= 1 } }
                        for round in 0..<rounds {
                            try await feed.save("w\(writer)-\(round)", title: "\(round)", in: zone)
                            if round % 3 == 1 { try await feed.delete("w\(writer)-\(round - 1)", in: zone) }
                            if round % 4 == 3 { try await feed.save("w\(writer)-\(round)", title: "again", in: zone) }
                            await Task.yield()
                        }
                        return nil
                    }
                }
                group.addTask {
                    var copy = LocalCopy()
                    var token: ZoneChangeToken?
                    while true {
                        // Read before the page: a writer that ends after it is read to its end in the next round
                        let isLastRound = running.withLock { $0 == 0 }
                        let page = try await feed.database.recordZoneChanges(
                            inZoneWith: zone, since: token, resultsLimit: 7)
                        copy.apply(page)
                        token = page.changeToken
                        if isLastRound, !page.moreComing { return copy }
                        await Task.yield()
                    }
                }
                var result = LocalCopy()
                for try await copy in group { if let copy { result = copy } }
                return result
            }

            // Then the reader's copy is what was written
            var expected: [String: String] = [:]
            for writer in 0..<writers {
                for round in 0..<rounds where !(round % 3 == 0 && round + 1 < rounds) {
                    expected["w\(writer)-\(round)"] = round % 4 == 3 ? "again" : "\(round)"
                }
            }
            XCTAssertEqual(copy.titles, expected)
        }
    }

    func test6_1_1_noTwoWritesHaveOneTag() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            let tags = try await withThrowingTaskGroup(of: [String].self) { group in
                for writer in 0..<6 {
                    group.addTask {
                        var tags: [String] = []
                        for round in 0..<20 {
                            let saved = try await feed.save("w\(writer)", "x\(round)", in: zone)
                            tags += saved.compactMap(\.recordChangeTag)
                        }
                        return tags
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            XCTAssertEqual(tags.count, 240)
            XCTAssertEqual(Set(tags).count, 240)
        }
    }
}
