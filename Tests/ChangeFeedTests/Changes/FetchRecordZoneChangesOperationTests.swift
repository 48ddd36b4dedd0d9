import ChangeFeed
import XCTest

/// Rules FZ1 to FZ16: the operation that fetches several zones.
final class FetchRecordZoneChangesOperationTests: XCTestCase {
    private typealias Operation = FetchRecordZoneChangesOperation

    private func story(_ events: [Operation.Event]) -> [String] {
        events.map { event in
            switch event {
            case .recordChanged(let id, .success): "\(id.zoneID.zoneName) +\(id.recordName)"
            case .recordChanged(let id, .failure): "\(id.zoneID.zoneName) !\(id.recordName)"
            case .recordDeleted(let deletion):
                "\(deletion.recordID.zoneID.zoneName) -\(deletion.recordID.recordName) \(deletion.recordType)"
            case .changeTokenUpdated(let zone, _, _): "\(zone.zoneName) token"
            case .zoneCompleted(let zone, .success(let end)): "\(zone.zoneName) done\(end.moreComing ? ", more" : "")"
            case .zoneCompleted(let zone, .failure(let error)): "\(zone.zoneName) failed: \(error.code)"
            case .completed(.success): "done"
            case .completed(.failure(let error)): "failed: \(error.code)"
            }
        }
    }

    private func run(_ operation: Operation, on database: any RecordDatabase) async -> [Operation.Event] {
        var events: [Operation.Event] = []
        for await event in operation.events(from: database) { events.append(event) }
        return events
    }

    private func limits(_ limit: Int, for zones: RecordZone.ID...) -> [RecordZone.ID: Operation.ZoneConfiguration] {
        Dictionary(uniqueKeysWithValues: zones.map { ($0, .init(resultsLimit: limit)) })
    }

    func testFZ5_zonesComeOneAfterTheOtherWithTokensBetweenTheirBatches() async throws {
        try await forEachStore { feed in
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            try await feed.fill(a, count: 3)
            try await feed.fill(b, count: 2)

            let events = await run(
                Operation(recordZoneIDs: [b, a], configurationsByRecordZoneID: limits(2, for: a, b)),
                on: feed.database)

            XCTAssertEqual(
                story(events),
                ["B +r1", "B +r2", "B done", "A +r1", "A +r2", "A token", "A +r3", "A done", "done"])
        }
    }

    func testFZ8_tokensComeBetweenBatchesOnlyAndTheCompletionCarriesTheLast() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("A")
            try await feed.fill(zone, count: 6)
            let pages = try await feed.pages(of: zone, limit: 2)

            let events = await run(
                Operation(recordZoneIDs: [zone], configurationsByRecordZoneID: limits(2, for: zone)), on: feed.database)

            var tokens: [ZoneChangeToken] = []
            for event in events {
                if case .changeTokenUpdated(_, let token, _) = event { tokens.append(token) }
                if case .zoneCompleted(_, .success(let end)) = event { tokens.append(end.changeToken) }
            }
            XCTAssertEqual(story(events).filter { $0 == "A token" }.count, 2)
            XCTAssertEqual(tokens, pages.map(\.changeToken))
        }
    }

    func testFZ7_oneRequestAZoneAndNoTokenBetweenIfNotAllIsFetched() async throws {
        try await forEachStore { feed in
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            try await feed.fill(a, count: 3)
            try await feed.fill(b, count: 2)

            let events = await run(
                Operation(
                    recordZoneIDs: [a, b], configurationsByRecordZoneID: limits(2, for: a, b), fetchAllChanges: false),
                on: feed.database)

            XCTAssertEqual(
                story(events), ["A +r1", "A +r2", "A done, more", "B +r1", "B +r2", "B done", "done"])
            // And the token goes on where it stopped
            guard case .zoneCompleted(_, .success(let end)) = events[2] else { return XCTFail("\(events[2])") }
            let rest = try await feed.database.recordZoneChanges(inZoneWith: a, since: end.changeToken)
            XCTAssertEqual(rest.story, ["+r3"])
        }
    }

    func testFZ6_moreComingIsNeverSetIfAllIsFetched() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("A")
            try await feed.fill(zone, count: 7)
            for limit in 1...8 {
                let events = await run(
                    Operation(recordZoneIDs: [zone], configurationsByRecordZoneID: limits(limit, for: zone)),
                    on: feed.database)
                XCTAssertEqual(story(events).filter { $0.hasPrefix("A done") }, ["A done"], "limit \(limit)")
            }
        }
    }

    func testFZ2_aZoneWithoutConfigurationIsFetchedFromTheBeginning() async throws {
        try await forEachStore { feed in
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            for zone in [a, b] { try await feed.save("old", in: zone) }
            let token = try await feed.token(of: a)
            for zone in [a, b] { try await feed.save("new", in: zone) }

            let events = await run(
                Operation(
                    recordZoneIDs: [a, b],
                    configurationsByRecordZoneID: [a: .init(previousServerChangeToken: token)]),
                on: feed.database)

            XCTAssertEqual(story(events), ["A +new", "A done", "B +old", "B +new", "B done", "done"])
        }
    }

    func testFZ3_desiredKeysAreAZonesOwn() async throws {
        try await forEachStore { feed in
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            for zone in [a, b] { try await feed.save("r", title: "text", in: zone) }

            let events = await run(
                Operation(recordZoneIDs: [a, b], configurationsByRecordZoneID: [a: .init(desiredKeys: [])]),
                on: feed.database)

            var keys: [String: [String]] = [:]
            for case .recordChanged(let id, .success(let record)) in events {
                keys[id.zoneID.zoneName] = record.allKeys
            }
            XCTAssertEqual(keys, ["A": [], "B": ["title"]])
        }
    }

    func testFZ9_aDeletionCarriesTheRecordsType() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("A")
            try await feed.save("r", type: "Letter", in: zone)
            let token = try await feed.token(of: zone)
            try await feed.delete("r", in: zone)
            let events = await run(
                Operation(
                    recordZoneIDs: [zone],
                    configurationsByRecordZoneID: [zone: .init(previousServerChangeToken: token)]),
                on: feed.database)
            XCTAssertEqual(story(events), ["A -r Letter", "A done", "done"])
        }
    }

    func testFZ12_theCompletionCarriesTheMarker() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("A")
            var request = RecordModifyRequest(
                saving: [Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))])
            request.clientChangeTokenData = Data([1, 2])
            _ = try await feed.database.modifyRecords(request)

            let events = await run(Operation(recordZoneIDs: [zone]), on: feed.database)

            guard case .zoneCompleted(_, .success(let end)) = events[1] else { return XCTFail("\(events)") }
            XCTAssertEqual(end.clientChangeTokenData, Data([1, 2]))
        }
    }

    func testFZ13_oneZonesFailureHidesNoOther() async throws {
        try await forEachStore { feed in
            let (a, c) = (try await feed.makeZone("A"), try await feed.makeZone("C"))
            let (missing, purged) = (RecordZone.ID(zoneName: "Missing"), try await feed.makeZone("Purged"))
            try await feed.container.purgeZone(purged, for: FeedFixture.userID)
            for zone in [a, c] { try await feed.save("r", in: zone) }

            let events = await run(Operation(recordZoneIDs: [a, missing, purged, c]), on: feed.database)

            XCTAssertEqual(
                story(events),
                [
                    "A +r", "A done", "Missing failed: zoneNotFound", "Purged failed: userDeletedZone", "C +r",
                    "C done", "failed: partialFailure",
                ])
            guard case .completed(.failure(let error)) = events.last else { return XCTFail("no error") }
            XCTAssertEqual(error.partialErrors.count, 2)
            XCTAssertEqual(error.partialErrors[.zone(missing)]?.code, .zoneNotFound)
            XCTAssertEqual(error.partialErrors[.zone(purged)]?.code, .userDeletedZone)
        }
    }

    func testFZ13_aZoneNamedTwiceIsFetchedOnce() async throws {
        try await forEachStore { feed in
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            for zone in [a, b] { try await feed.save("r", in: zone) }
            let events = await run(Operation(recordZoneIDs: [a, b, a, b, a]), on: feed.database)
            XCTAssertEqual(story(events), ["A +r", "A done", "B +r", "B done", "done"])
        }
    }

    func testB14_aZoneThatFailsMidwayKeepsTheTokenOfItsLastBatch() async throws {
        try await overEveryStore {
            // Given a server that fails zone B after its first batch
            let feed = FeedFixture()
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            for zone in [a, b] { try await feed.fill(zone, count: 3) }
            let whole = try await feed.pages(of: a)[0]
            let batch = try await feed.database.recordZoneChanges(inZoneWith: b, since: nil, resultsLimit: 1)
            let database = ScriptedDatabase(zone: { request, number in
                switch (request.zoneID, number) {
                case (b, 1): .success(batch)
                case (b, _): .failure(ChangeFeedError(.serviceUnavailable, "Busy.", retryAfter: .seconds(3)))
                default: .success(whole)
                }
            })

            let events = await run(Operation(recordZoneIDs: [b, a]), on: database)

            // Then B's first batch stands with its token, A is whole, and nothing says that B is complete
            XCTAssertEqual(
                story(events),
                [
                    "B +r1", "B token", "B failed: serviceUnavailable", "A +r1", "A +r2", "A +r3", "A done",
                    "failed: partialFailure",
                ])
            guard case .changeTokenUpdated(_, let token, _) = events[1] else { return XCTFail("\(events[1])") }
            let rest = try await feed.database.recordZoneChanges(inZoneWith: b, since: token)
            XCTAssertEqual(rest.story, ["+r2", "+r3"])
            guard case .completed(.failure(let error)) = events.last else { return XCTFail("no error") }
            XCTAssertEqual(error.partialErrors[.zone(b)]?.retryAfter, .seconds(3))
        }
    }

    func testB17_aZoneThatDoesNotMoveFailsAndTheNextIsFetched() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            let (stuck, whole) = (try await feed.token(of: a), try await feed.pages(of: b)[0])
            let database = ScriptedDatabase(zone: { request, _ in
                guard request.zoneID == a else { return .success(whole) }
                return .success(
                    ZoneChanges(changes: [], changeToken: stuck, clientChangeTokenData: nil, moreComing: true))
            })

            let events = await run(Operation(recordZoneIDs: [a, b]), on: database)

            let ends = story(events).filter { $0 != "A token" }
            XCTAssertEqual(ends, ["A failed: internalError", "B done", "failed: partialFailure"])
            let requests = await database.zoneRequests.filter { $0.zoneID == a }.count
            XCTAssertLessThanOrEqual(requests, 3)
            guard case .completed(.failure(let error)) = events.last else { return XCTFail("no error") }
            XCTAssertEqual(error.partialErrors[.zone(a)]?.detail, .noProgress)
        }
    }

    func testFZ1_thePublicDatabaseIsRefused() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: FeedFixture.userID)
            let events = await run(Operation(recordZoneIDs: [.default]), on: database)
            XCTAssertEqual(story(events), ["_defaultZone failed: badDatabase", "failed: partialFailure"])
        }
    }

    func testNoZonesAreDoneAtOnce() async throws {
        try await overEveryStore {
            let database = ScriptedDatabase()
            let events = await run(Operation(recordZoneIDs: []), on: database)
            XCTAssertEqual(story(events), ["done"])
            let requests = await database.zoneRequests.count
            XCTAssertEqual(requests, 0)
        }
    }

    func testFZ9_anOperationIsAValueThatRunsAgain() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone("A")
            try await feed.save("r", in: zone)
            let operation = Operation(recordZoneIDs: [zone])
            let (first, second) = (
                await run(operation, on: feed.database), await run(operation, on: feed.database)
            )
            XCTAssertEqual(story(first), ["A +r", "A done", "done"])
            XCTAssertEqual(story(second), story(first))
        }
    }

    func testACancelledOperationEndsWithOperationCancelledAndAsksNoMore() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (a, b) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            try await feed.fill(a, count: 4)
            let page = try await feed.database.recordZoneChanges(inZoneWith: a, since: nil, resultsLimit: 2)
            let database = ScriptedDatabase(zone: { _, _ in .success(page) })

            let task = Task {
                var events: [Operation.Event] = []
                for await event in Operation(recordZoneIDs: [a, b]).events(from: database) {
                    events.append(event)
                    if events.count == 1 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return events
            }
            let events = await task.value

            // What had arrived is handed over with its token; then both zones are cancelled, and nothing hangs
            XCTAssertEqual(
                story(events),
                [
                    "A +r1", "A +r2", "A token", "A failed: operationCancelled", "B failed: operationCancelled",
                    "failed: operationCancelled",
                ])
            let requests = await database.zoneRequests.count
            XCTAssertEqual(requests, 1)
        }
    }
}
