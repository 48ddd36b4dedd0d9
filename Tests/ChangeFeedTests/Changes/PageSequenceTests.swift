import ChangeFeed
import XCTest

/// The sequences of pages: they go on by themselves, only as far as they are read, and never in a circle.
final class PageSequenceTests: XCTestCase {
    private let notes = RecordZone.ID(zoneName: "Notes")

    func testB20_theSequenceGoesOnByItself() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 500)

            var sizes: [Int] = []
            var names: Set<String> = []
            for try await page in feed.database.recordZoneChangePages(inZoneWith: zone, since: nil, resultsLimit: 100) {
                sizes.append(page.changes.count)
                names.formUnion(page.story)
            }

            XCTAssertEqual(sizes, [100, 100, 100, 100, 100])
            XCTAssertEqual(names.count, 500)
        }
    }

    func testB97_tenThousandChangesAreFiftyPages() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 10_000)
            var pages = 0
            var records = 0
            for try await page in feed.database.recordZoneChangePages(inZoneWith: zone, since: nil) {
                pages += 1
                records += page.changes.count
            }
            XCTAssertEqual(pages, 50)
            XCTAssertEqual(records, 10_000)
        }
    }

    func testTheSequenceStartsAtItsTokenAndPassesItsParametersOn() async throws {
        try await overEveryStore {
            let (token, next) = try await twoZoneTokens()
            let database = ScriptedDatabase(zone: { _, number in
                .success(
                    ZoneChanges(
                        changes: [], changeToken: next, clientChangeTokenData: nil, moreComing: number == 1))
            })
            let pages = database.recordZoneChangePages(
                inZoneWith: notes, since: token, desiredKeys: ["title"], resultsLimit: 7)

            var count = 0
            for try await _ in pages { count += 1 }

            XCTAssertEqual(count, 2)
            let requests = await database.zoneRequests
            XCTAssertEqual(requests.map(\.since), [token, next])
            XCTAssertEqual(requests.map(\.zoneID), [notes, notes])
            XCTAssertEqual(requests.map(\.desiredKeys), [["title"], ["title"]])
            XCTAssertEqual(requests.map(\.resultsLimit), [7, 7])
        }
    }

    func testAPageIsAskedForWhenItIsAwaited() async throws {
        try await overEveryStore {
            let (one, two) = try await twoDatabaseTokens()
            let database = ScriptedDatabase(database: { _, number in
                .success(
                    DatabaseChanges(
                        changes: [.modified(RecordZone.ID(zoneName: "Z\(number)"))],
                        changeToken: number % 2 == 1 ? one : two, moreComing: true))
            })

            // Given a sequence that nobody reads
            let pages = database.databaseChangePages(since: nil)
            var requests = await database.databaseRequests.count
            XCTAssertEqual(requests, 0)

            // When two pages are read
            var iterator = pages.makeAsyncIterator()
            _ = try await iterator.next()
            _ = try await iterator.next()

            // Then two were asked for
            requests = await database.databaseRequests.count
            XCTAssertEqual(requests, 2)
        }
    }

    func testB17_aZoneThatSaysMoreAndDoesNotMoveEndsTheSequence() async throws {
        try await overEveryStore {
            let (token, _) = try await twoZoneTokens()
            let database = ScriptedDatabase(zone: { _, _ in
                .success(ZoneChanges(changes: [], changeToken: token, clientChangeTokenData: nil, moreComing: true))
            })

            await expectError(.internalError, detail: .noProgress, zoneID: notes, rule: "6.3.2") {
                for try await _ in database.recordZoneChangePages(inZoneWith: self.notes, since: nil) {}
            }

            let requests = await database.zoneRequests.count
            XCTAssertLessThanOrEqual(requests, 3)
        }
    }

    func testB17_aDatabaseThatSaysMoreAndDoesNotMoveEndsTheSequence() async throws {
        try await overEveryStore {
            let (token, _) = try await twoDatabaseTokens()
            let database = ScriptedDatabase(database: { _, _ in
                .success(DatabaseChanges(changes: [], changeToken: token, moreComing: true))
            })

            await expectError(.internalError, detail: .noProgress, rule: "6.3.2") {
                for try await _ in database.databaseChangePages(since: token) {}
            }

            let requests = await database.databaseRequests.count
            XCTAssertEqual(requests, 1)
        }
    }

    func testASequenceThatFailedIsOver() async throws {
        try await overEveryStore {
            let (token, _) = try await twoZoneTokens()
            let database = ScriptedDatabase(zone: { _, _ in
                .success(ZoneChanges(changes: [], changeToken: token, clientChangeTokenData: nil, moreComing: true))
            })
            var iterator = database.recordZoneChangePages(inZoneWith: notes, since: token).makeAsyncIterator()
            do throws(ChangeFeedError) {
                _ = try await iterator.next()
                XCTFail("a page from a server that is stuck")
            } catch {
                XCTAssertEqual(error.detail, .noProgress)
            }
            let after = try await iterator.next()
            XCTAssertNil(after)
        }
    }

    func testTheDatabasesErrorsComeThrough() async throws {
        try await overEveryStore {
            let (one, _) = try await twoZoneTokens()
            let database = ScriptedDatabase(zone: { _, number in
                number == 1
                    ? .success(ZoneChanges(changes: [], changeToken: one, clientChangeTokenData: nil, moreComing: true))
                    : .failure(ChangeFeedError(.zoneBusy, "Later.", retryAfter: .seconds(5)))
            })
            var pages = 0
            do throws(ChangeFeedError) {
                for try await _ in database.recordZoneChangePages(inZoneWith: notes, since: nil) { pages += 1 }
                XCTFail("the error was lost")
            } catch {
                XCTAssertEqual(error.code, .zoneBusy)
                XCTAssertEqual(error.retryAfter, .seconds(5))
            }
            XCTAssertEqual(pages, 1)
        }
    }

    func testCancellationBetweenTwoPagesIsOperationCancelled() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 4)
            let database = feed.database
            let task = Task {
                var pages = 0
                do throws(ChangeFeedError) {
                    for try await _ in database.recordZoneChangePages(inZoneWith: zone, since: nil, resultsLimit: 1) {
                        pages += 1
                        if pages == 2 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                    return (pages, nil as ChangeFeedError?)
                } catch {
                    return (pages, error)
                }
            }
            let (pages, error) = await task.value
            XCTAssertEqual(pages, 2)
            XCTAssertEqual(error?.code, .operationCancelled)
        }
    }

    func testCancellationEndsASequenceOverADatabaseThatDoesNotLook() async throws {
        try await overEveryStore {
            let (one, two) = try await twoDatabaseTokens()
            let database = ScriptedDatabase(database: { _, number in
                .success(
                    DatabaseChanges(
                        changes: [.modified(RecordZone.ID(zoneName: "Z"))], changeToken: number % 2 == 1 ? one : two,
                        moreComing: number < 100))
            })
            let task = Task {
                var pages = 0
                do throws(ChangeFeedError) {
                    for try await _ in database.databaseChangePages(since: nil) {
                        pages += 1
                        if pages == 3 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                    return (pages, nil as ChangeFeedError?)
                } catch {
                    return (pages, error)
                }
            }
            let (pages, error) = await task.value
            XCTAssertEqual(pages, 3)
            XCTAssertEqual(error?.code, .operationCancelled)
        }
    }

    /// Two tokens of one zone, the second behind the first.
    private func twoZoneTokens() async throws -> (ZoneChangeToken, ZoneChangeToken) {
        let feed = FeedFixture()
        let zone = try await feed.makeZone()
        let first = try await feed.token(of: zone)
        try await feed.save("a", in: zone)
        return (first, try await feed.token(of: zone))
    }

    /// Two tokens of one database, the second behind the first.
    private func twoDatabaseTokens() async throws -> (DatabaseChangeToken, DatabaseChangeToken) {
        let feed = FeedFixture()
        let first = try await feed.databaseToken()
        try await feed.makeZone()
        return (first, try await feed.databaseToken())
    }
}
