import ChangeFeed
import XCTest

/// Rules FD1 to FD9: the operation that fetches which zones have changed.
final class FetchDatabaseChangesOperationTests: XCTestCase {
    private typealias Operation = FetchDatabaseChangesOperation

    private func story(_ events: [Operation.Event]) -> [String] {
        events.map { event in
            switch event {
            case .recordZoneChanged(let zone): "+\(zone.zoneName)"
            case .recordZoneDeleted(let deletion): "-\(deletion.zoneID.zoneName) \(deletion.reason)"
            case .changeTokenUpdated: "token"
            case .completed(.success(let end)): end.moreComing ? "done, more" : "done"
            case .completed(.failure(let error)): "failed: \(error.code)"
            }
        }
    }

    private func run(_ operation: Operation, on database: any RecordDatabase) async -> [Operation.Event] {
        var events: [Operation.Event] = []
        for await event in operation.events(from: database) { events.append(event) }
        return events
    }

    func testFD5_aTokenAfterEachRequestAndTheLastInTheCompletion() async throws {
        try await forEachStore { feed in
            for name in ["A", "B", "C"] { try await feed.makeZone(name) }
            let pages = try await feed.databasePages(limit: 2)

            let events = await run(Operation(resultsLimit: 2), on: feed.database)

            XCTAssertEqual(story(events), ["+A", "+B", "token", "+C", "token", "done"])
            var tokens: [DatabaseChangeToken] = []
            for case .changeTokenUpdated(let token) in events { tokens.append(token) }
            XCTAssertEqual(tokens, pages.map(\.changeToken))
            guard case .completed(.success(let end)) = events.last else { return XCTFail("not completed") }
            XCTAssertEqual(end.changeToken, tokens.last)
        }
    }

    func testFD3_eachDeletedZoneComesOnceWithItsReason() async throws {
        try await forEachStore { feed in
            for name in ["A", "B", "C", "D"] { try await feed.makeZone(name) }
            let token = try await feed.databaseToken()
            try await feed.deleteZone(RecordZone.ID(zoneName: "A"))
            try await feed.container.purgeZone(RecordZone.ID(zoneName: "B"), for: FeedFixture.userID)
            try await feed.container.resetEncryptedData(
                inZoneWith: RecordZone.ID(zoneName: "C"), for: FeedFixture.userID)
            try await feed.save("r", in: RecordZone.ID(zoneName: "D"))

            let events = await run(Operation(previousServerChangeToken: token), on: feed.database)

            XCTAssertEqual(
                story(events), ["-A deleted", "-B purged", "-C encryptedDataReset", "+D", "token", "done"])
        }
    }

    func testFD6_oneRequestIfNotAllIsFetched() async throws {
        try await forEachStore { feed in
            for name in ["A", "B", "C"] { try await feed.makeZone(name) }

            let events = await run(Operation(resultsLimit: 2, fetchAllChanges: false), on: feed.database)

            XCTAssertEqual(story(events).filter { $0 != "token" }, ["+A", "+B", "done, more"])
            guard case .completed(.success(let end)) = events.last else { return XCTFail("not completed") }
            let rest = await run(
                Operation(previousServerChangeToken: end.changeToken, fetchAllChanges: false), on: feed.database)
            XCTAssertEqual(story(rest).filter { $0 != "token" }, ["+C", "done"])
        }
    }

    func test6_5_aZoneThatWasReplacedIsADeletionAndThenAChange() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("A")
            let token = try await feed.databaseToken()
            try await feed.deleteZone(zone)
            try await feed.makeZone("A")
            let events = await run(Operation(previousServerChangeToken: token, resultsLimit: 1), on: feed.database)
            XCTAssertEqual(story(events), ["-A deleted", "+A", "token", "done"])
        }
    }

    func testFD5_anErrorCarriesNoTokenAndWhatCameBeforeStaysValid() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            for name in ["A", "B"] { try await feed.makeZone(name) }
            let page = try await feed.database.databaseChanges(since: nil, resultsLimit: 1)
            let database = ScriptedDatabase(database: { _, number in
                number == 1 ? .success(page) : .failure(ChangeFeedError(.networkFailure, "Gone."))
            })

            let events = await run(Operation(), on: database)

            XCTAssertEqual(story(events), ["+A", "token", "failed: networkFailure"])
            guard case .changeTokenUpdated(let token) = events[1] else { return XCTFail("\(events[1])") }
            let rest = try await feed.database.databaseChanges(since: token)
            XCTAssertEqual(rest.story, ["+B"])
        }
    }

    func testB22_aForeignTokenIsTheOperationsError() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            let other = FeedFixture(randomness: Locked(FeedFixture.Random(seed: 5)))
            let events = await run(
                Operation(previousServerChangeToken: try await other.databaseToken()), on: feed.database)
            XCTAssertEqual(story(events), ["failed: invalidArguments"])
        }
    }

    func testFD1_thePublicDatabaseIsRefused() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: FeedFixture.userID)
            let events = await run(Operation(), on: database)
            XCTAssertEqual(story(events), ["failed: badDatabase"])
        }
    }

    func testB17_aServerThatDoesNotMoveIsAnError() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let token = try await feed.databaseToken()
            let database = ScriptedDatabase(database: { _, _ in
                .success(DatabaseChanges(changes: [], changeToken: token, moreComing: true))
            })

            let events = await run(Operation(), on: database)

            guard case .completed(.failure(let error)) = events.last else { return XCTFail("not failed") }
            XCTAssertEqual(error.detail, .noProgress)
            let requests = await database.databaseRequests.count
            XCTAssertLessThanOrEqual(requests, 3)
        }
    }

    func testACancelledOperationEndsWithOperationCancelled() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            for name in ["A", "B", "C"] { try await feed.makeZone(name) }
            let page = try await feed.database.databaseChanges(since: nil, resultsLimit: 1)
            let database = ScriptedDatabase(database: { _, _ in .success(page) })

            let task = Task {
                var events: [Operation.Event] = []
                for await event in Operation().events(from: database) {
                    events.append(event)
                    if events.count == 1 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return events
            }
            let events = await task.value

            XCTAssertEqual(story(events), ["+A", "token", "failed: operationCancelled"])
        }
    }
}
