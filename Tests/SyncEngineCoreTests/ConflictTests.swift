import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// Conflicts, records and zones that are missing, in both orders of sending and fetching.
final class ConflictTests: XCTestCase {
    func testSAMPLE_conflictInBothOrdersEndsAlike() async throws {
        for fetchesFirst in [true, false] {
            let world = World()
            try await world.makeZone(.notes, ["r"])
            let (a, b) = (try world.device("A"), try world.device("B"))
            for device in [a, b] { try await device.engine.fetchChanges() }
            a.save(Record.ID("r")) { $0["title"] = "from A" }
            b.save(Record.ID("r")) { $0["body"] = "from B" }
            try await b.engine.sendChanges()
            if fetchesFirst {
                try await a.engine.fetchChanges()
                try await a.engine.sendChanges()
            } else {
                let error = await a.sendExpectingFailure()
                let failure = error?.outcome?.failedRecords[Record.ID("r")]
                XCTAssertEqual(failure?.code, .serverRecordChanged)
                let server: String? = failure?.serverRecord?["body"]
                let client: String? = failure?.clientRecord?["title"]
                let base: String? = failure?.ancestorRecord?["title"]
                XCTAssertEqual([server, client, base], ["from B", "from A", "from elsewhere"])
                XCTAssertEqual(a.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("r"))])
                try await a.engine.sendChanges()
            }
            for device in [a, b] { try await device.engine.fetchChanges() }
            for device in [a, b] {
                let title: String? = device.records[Record.ID("r")]?["title"]
                let body: String? = device.records[Record.ID("r")]?["body"]
                XCTAssertEqual([title, body], ["from A", "from B"], "\(device.name), fetches first: \(fetchesFirst)")
                XCTAssertFalse(device.engine.state.needsSend)
            }
        }
    }

    func testSAMPLE_zoneNotFoundThrowsAndTheNextSendCreatesAnew() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        let created = device.records[Record.ID("r")]?.creationDate
        world.clock.advance(by: .seconds(60))
        _ = try await world.server.modifyRecordZones(RecordZoneModifyRequest(deleting: [.notes]))
        device.save(Record.ID("r")) { $0["title"] = "still here" }
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(error?.outcome?.failedRecords.mapValues(\.code), [Record.ID("r"): .zoneNotFound])
        XCTAssertEqual(device.engine.state.pendingDatabaseChanges.map(\.zoneID), [.notes])
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["r": "still here"])
        XCTAssertNotEqual(device.records[Record.ID("r")]?.creationDate, created)
    }

    func testB73_aMissingZoneIsOneResultAndTheRecordsStayPending() async throws {
        let world = World()
        let device = try world.device(policy: .automatic)
        device.recreatesZones = false
        await device.engine.waitUntilIdle()
        device.save(["a", "b", "c"].map { Record.ID($0) })
        await device.engine.waitUntilIdle()
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges.count, 3)
        XCTAssertEqual(device.database.count(of: .modifyRecords), 1, "it was tried again by itself")
        await world.advance(by: .seconds(30), device)
        XCTAssertEqual(device.database.count(of: .modifyRecords), 1)
        // Another device creates the zone, and a hint comes.
        try await world.makeZone()
        device.engine.receive(.enteredForeground)
        await device.engine.waitUntilIdle()
        let titles = try await world.titles()
        XCTAssertEqual(titles.count, 3)
        // Saving a zone that exists keeps what is in it.
        device.saveZone(.notes)
        await device.engine.waitUntilIdle()
        let after = try await world.titles()
        XCTAssertEqual(after.count, 3)
    }

    func testB61_aConflictThatIsNotResolvedIsTriedTwiceAndNoMore() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r1", "r2"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["r1"], title: "theirs")
        device.conflictRule = .ignored
        device.save(Record.ID("r1")) { $0["title"] = "mine" }
        let first = await device.sendExpectingFailure()
        XCTAssertEqual(first?.code, .sendFailed)
        let second = await device.sendExpectingFailure()
        XCTAssertEqual(second?.code, .conflictNotResolved)
        device.save(Record.ID("r2")) { $0["title"] = "mine too" }
        let third = await device.sendExpectingFailure()
        XCTAssertEqual(third?.code, .conflictNotResolved)
        XCTAssertEqual(third?.recordID, Record.ID("r1"))
        XCTAssertEqual(device.database.requests.filter { $0.contains("+r1") }.count, 2)
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["r1": "theirs", "r2": "mine too"])
        XCTAssertFalse(device.engine.state.needsSend)
        guard case .conflictNotResolved? = device.engine.state.unresolvedPendingChanges.first?.reason else {
            return XCTFail("\(device.engine.state.unresolvedPendingChanges)")
        }

        // The server's version changes: with a rule that resolves, it goes through.
        device.conflictRule = .clientWins
        try await world.write(["r1"], title: "theirs again")
        try await device.engine.fetchChanges()
        try await device.engine.sendChanges()
        let after = try await world.titles()
        XCTAssertEqual(after["r1"], "mine")
    }

    func testB61_underTheAutomaticPolicyTheLoopEndsByItself() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r1"])
        let device = try world.device(policy: .automatic)
        try await device.engine.fetchChanges()
        try await world.write(["r1"], title: "theirs")
        device.conflictRule = .ignored
        device.save(Record.ID("r1")) { $0["title"] = "mine" }
        await device.engine.waitUntilIdle()
        for _ in 0..<20 { await world.advance(by: .seconds(30), device) }
        XCTAssertEqual(device.database.count(of: .modifyRecords), 2)
    }

    func testB66_deletionAgainstEditIsTheAppsDecisionInBothOrders() async throws {
        for (rule, fetchesFirst) in [
            (TestDevice.DeletionRule.drop, true), (.drop, false), (.keep, true), (.keep, false),
        ] {
            let world = World()
            try await world.makeZone(.notes, ["r1"])
            let device = try world.device()
            device.deletionRule = rule
            try await device.engine.fetchChanges()
            try await world.erase(["r1"])
            device.save(Record.ID("r1")) { $0["title"] = "edited" }
            if fetchesFirst {
                try await device.engine.fetchChanges()
            } else {
                let error = await device.sendExpectingFailure()
                XCTAssertEqual(error?.outcome?.failedRecords.mapValues(\.code), [Record.ID("r1"): .unknownItem])
            }
            try await device.engine.sendChanges()
            try await device.engine.fetchChanges()
            let titles = try await world.titles()
            switch rule {
            case .drop: XCTAssertEqual(titles, [:], "fetches first: \(fetchesFirst)")
            case .keep: XCTAssertEqual(titles, ["r1": "edited"], "fetches first: \(fetchesFirst)")
            }
            XCTAssertEqual(device.titles(), titles)
        }
    }

    func testB62_theAncestorIsWhatTheServerGaveLast() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        for title in ["one", "two"] { device.save(Record.ID("r")) { $0["title"] = title } }
        try await world.write(["r"], title: "fooB")
        let error = await device.sendExpectingFailure()
        let base: String? = error?.outcome?.failedRecords[Record.ID("r")]?.ancestorRecord?["title"]
        XCTAssertEqual(base, "from elsewhere")
    }

    func test6_9_theEngineFetchesTheServersRecordWhereTheErrorHasNone() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["r"], title: "theirs")
        device.save(Record.ID("r")) { $0["title"] = "mine" }
        var plan = FaultPlan()
        plan.fail(
            .modifyRecords, number: 1, with: .items([Record.ID("r")], ChangeFeedError(.serverRecordChanged, "changed")))
        device.database.plan = plan
        let error = await device.sendExpectingFailure()
        let server: String? = error?.outcome?.failedRecords[Record.ID("r")]?.serverRecord?["title"]
        XCTAssertEqual(server, "theirs")
        XCTAssertEqual(device.database.count(of: .records), 1)
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["r": "mine"])
    }

    func testB47_severalEditsOfOneRecordGoTogether() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.save(Record.ID("r")) { $0["date"] = "today" }
        device.save(Record.ID("r")) { $0["name"] = "Ada" }
        try await device.engine.sendChanges()
        let record = try await world.server.record(for: Record.ID("r"))
        let (date, name): (String?, String?) = (record["date"], record["name"])
        XCTAssertEqual([date, name], ["today", "Ada"])
    }

    func testB49_whatIsPendingIsKnownBeforeTheFirstEvent() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r1"])
        let before = try world.device()
        try await before.engine.fetchChanges()
        before.save(Record.ID("r1")) { $0["title"] = "mine" }
        try await before.engine.addDurably()
        try await world.write(["r1"], title: "v2")
        let device = try world.device(disk: before.disk)
        let wasPending = EventRecorderOfNames()
        device.intercept { event, context in
            if case .fetchedRecordZoneChanges = event {
                wasPending.note("\(context.state.pendingRecordZoneChanges.contains(.saveRecord(Record.ID("r1"))))")
            }
        }
        try await device.engine.fetchChanges()
        XCTAssertEqual(wasPending.names, ["true"])
    }
}
