import ChangeFeed
import ChangeFeedTesting
@testable import SyncEngineCore
import XCTest

/// Triggers, policies and waits; and the story of an engine that did not fetch, paragraph by paragraph.
final class TriggerTests: XCTestCase {
    private func hint(_ number: Int = 1) -> SyncEngine.Trigger {
        .push(
            ChangeNotification(
                notificationID: "n\(number)", subscriptionID: "all", databaseScope: .private, zoneID: .notes,
                kind: .database, isPruned: false))
    }

    /// A device that was synchronised, closed, and missed a change; as it is after a launch.
    private func relaunched(
        _ world: World, _ policy: SyncEngine.TriggerPolicy, change: () async throws -> Void
    ) async throws -> TestDevice {
        try await world.makeZone(.notes, numbered("r", 0..<246))
        let before = try world.device(policy: .manual)
        try await before.engine.fetchChanges()
        try await change()
        return try world.device(disk: before.disk, policy: policy)
    }

    // MARK: The story

    func testS3_restoredStateAndNoPush() async throws {
        for (policy, sees) in [(SyncEngine.TriggerPolicy.automatic, true), (.manual, true), (.cloudKit, false)] {
            let world = World()
            let device = try await relaunched(world, policy) { try await world.write(["r1"], title: "page 12") }
            let outcome = try await device.engine.fetchChanges()
            XCTAssertEqual(device.titles()["r1"] == "page 12", sees)
            if sees {
                XCTAssertEqual(outcome.summary?.recordCount, 1, "1 record and not 246")
            } else {
                guard case .skipped(.notDirty) = outcome else { return XCTFail("\(outcome)") }
                XCTAssertEqual(device.database.requests, [], "the original asks nothing")
                XCTAssertEqual(
                    device.recorder.events(except: "stateUpdate"), ["willFetchChanges", "didFetchChanges"],
                    "and says that it has fetched")
            }
        }
    }

    func testS3_aScopedFetchOfAKnownZone() async throws {
        for (policy, sees) in [(SyncEngine.TriggerPolicy.automatic, true), (.cloudKit, false)] {
            let world = World()
            let device = try await relaunched(world, policy) { try await world.write(["r1"], title: "page 12") }
            try await device.engine.fetchChanges(.init(scope: .zoneIDs([.notes])))
            XCTAssertEqual(device.titles()["r1"] == "page 12", sees)
        }
    }

    func testS3_fourLaunchesInARow() async throws {
        for (policy, count) in [(SyncEngine.TriggerPolicy.automatic, 4), (.cloudKit, 0)] {
            let world = World()
            var device = try await relaunched(world, policy) {}
            var seen = 0
            for launch in 0..<4 {
                try await world.write(["r\(launch)"], title: "launch \(launch)")
                device = try world.device(disk: device.disk, policy: policy)
                try await device.engine.fetchChanges()
                if device.titles()["r\(launch)"] == "launch \(launch)" { seen += 1 }
                await device.crash()
            }
            XCTAssertEqual(seen, count)
        }
    }

    func testS3_discardingTheStateDownloadsEverything() async throws {
        let world = World()
        _ = try await relaunched(world, .cloudKit) { try await world.write(["r1"], title: "page 12") }
        let device = try world.device("fresh", policy: .cloudKit)
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.deliveredCount, 246, "the work-around of the original's users")
    }

    func testS3_hintsAndForegroundInAnyOrderRelativeToCreation() async throws {
        for policy in [SyncEngine.TriggerPolicy.automatic, .cloudKit] {
            for trigger in [hint(), .enteredForeground] {
                for isBefore in [true, false] {
                    let world = World()
                    let device = try await relaunched(world, policy) { try await world.write(["r1"], title: "page 12") }
                    // Before the engine is there nobody hears it.
                    if !isBefore { device.engine.receive(trigger) }
                    await device.engine.waitUntilIdle()
                    try await device.engine.fetchChanges()
                    let sees = device.titles()["r1"] == "page 12"
                    XCTAssertEqual(sees, policy == .automatic || !isBefore, "\(trigger.kind), before: \(isBefore)")
                }
            }
        }
    }

    func testI5_theOriginalAsksAgainAfterItHasSentSomething() async throws {
        let world = World()
        let device = try await relaunched(world, .cloudKit) { try await world.write(["r1"], title: "page 12") }
        device.save(Record.ID("new"))
        await device.engine.waitUntilIdle()
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles()["r1"], "page 12")
    }

    // MARK: Triggers and waits

    func testB05_aWriteOutsideOfTheEngineIsFetchedLikeAnyOther() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["share"])
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.recordCount, 1)
    }

    func testB07_automaticTriggersWaitAsTheServerAsksAndOneRepetitionIsArmed() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device(policy: .automatic)
        var plan = FaultPlan()
        plan.fail(
            .databaseChanges, with: .error(ChangeFeedError(.requestRateLimited, "slower", retryAfter: .seconds(23))))
        device.database.plan = plan
        device.engine.receive(.enteredForeground)
        await device.engine.waitUntilIdle()
        XCTAssertEqual(device.database.count(of: .databaseChanges), 1)
        for number in 0..<8 {
            let decision = device.engine.receive(number < 5 ? .enteredForeground : hint(number))
            guard case .deferred(let wait, .coolingDown) = decision else { return XCTFail("\(decision)") }
            XCTAssertEqual(wait, .seconds(23 - 2 * number))
            await world.advance(by: .seconds(2), device)
        }
        XCTAssertEqual(device.database.count(of: .databaseChanges), 1, "asked during the wait")
        await world.advance(by: .seconds(7), device)
        XCTAssertEqual(device.database.count(of: .databaseChanges), 2, "no repetition, or more than one")
        var times: [Int] = []
        for second in 0..<3600 {
            let before = device.database.count(of: .databaseChanges)
            await world.advance(by: .seconds(1), device)
            if device.database.count(of: .databaseChanges) > before { times.append(second) }
        }
        let waits = zip(times.dropFirst(), times).map { $0.0 - $0.1 }
        XCTAssertTrue(waits.allSatisfy { $0 >= 23 }, "\(waits)")
        XCTAssertTrue(zip(waits.dropFirst(), waits).allSatisfy { $0.0 >= $0.1 }, "the waits got shorter: \(waits)")
        // An explicit fetch asks all the same (invariant 10).
        let before = device.database.count(of: .databaseChanges)
        do {
            try await device.engine.fetchChanges()
            XCTFail("no error")
        } catch {
            XCTAssertEqual(error.underlying?.code, .requestRateLimited)
        }
        XCTAssertEqual(device.database.count(of: .databaseChanges), before + 1)
        device.database.plan = FaultPlan()
        await world.advance(by: .seconds(900), device)
        XCTAssertEqual(device.titles(), ["a": "from elsewhere"])
    }

    func testI6_theManualPolicyDoesNothingByItself() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device(policy: .manual)
        for kind in [
            SyncEngine.Trigger.launch, .enteredForeground, .networkBecameAvailable, .periodic, .retryDue, hint(),
        ] {
            XCTAssertEqual(device.engine.receive(kind), .ignored(.policy))
        }
        device.save(Record.ID("b"))
        await world.advance(by: .seconds(100_000), device)
        XCTAssertNil(device.engine.nextWakeUp)
        XCTAssertEqual(device.database.requests, [])
        XCTAssertEqual(device.recorder.events, [])
    }

    func test6_8_hintsAreFollowedOnceAndOnlyThoseOfThisSubscription() async throws {
        let world = World()
        let device = try world.device(policy: .automatic) { $0.subscriptionID = "all" }
        XCTAssertEqual(device.engine.receive(hint(1)), .starts)
        await device.engine.waitUntilIdle()
        XCTAssertEqual(device.engine.receive(hint(1)), .ignored(.notForThisEngine))
        let foreign = ChangeNotification(
            notificationID: "x", subscriptionID: "another", databaseScope: .private, zoneID: nil, kind: .database,
            isPruned: false)
        XCTAssertEqual(device.engine.receive(.push(foreign)), .ignored(.notForThisEngine))
        XCTAssertEqual(device.database.count(of: .subscriptions), 1)
        let subscriptions = try await world.server.subscriptions(SubscriptionsRequest())
        XCTAssertEqual(Array(subscriptions.keys), ["all"])
    }

    func test6_8_silenceIsEndedByAPeriodicFetch() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device(policy: .automatic)
        device.engine.receive(.launch)
        await device.engine.waitUntilIdle()
        try await world.write(["lost hint"])
        await world.advance(by: .seconds(899), device)
        XCTAssertEqual(device.titles().count, 1)
        await world.advance(by: .seconds(1), device)
        XCTAssertEqual(device.titles().count, 2)
    }

    func test6_8_additionsAreSentByThemselvesAndReAddedOnesToo() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r"])
        let device = try world.device(policy: .automatic)
        try await device.engine.fetchChanges()
        try await world.write(["r"], title: "theirs")
        device.save(Record.ID("r")) { $0["title"] = "mine" }
        await device.engine.waitUntilIdle()
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["r": "mine"])
        XCTAssertFalse(device.engine.state.needsSend)
    }

    func testB87_callsFromWithinAHandlerAreRefusedAndAdditionsAreNot() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        let codes = EventRecorderOfNames()
        device.intercept { [device] event, context in
            guard case .fetchedRecordZoneChanges = event else { return }
            context.state.add(pendingRecordZoneChanges: [.saveRecord(Record.ID("added"))])
            let engine = device.engine
            do { try await engine.fetchChanges() } catch {
                codes.note("fetch \((error as? SyncEngineError)?.code.description ?? "?")")
            }
            do { try await engine.sendChanges() } catch {
                codes.note("send \((error as? SyncEngineError)?.code.description ?? "?")")
            }
            do { try await engine.stop() } catch {
                codes.note("stop \((error as? SyncEngineError)?.code.description ?? "?")")
            }
            do { try await engine.cancelOperations() } catch {
                codes.note("cancel \((error as? SyncEngineError)?.code.description ?? "?")")
            }
            // Also through a child task.
            async let child: Void = { do { try await engine.fetchChanges() } catch { codes.note("child \(error)") } }()
            await child
        }
        try await device.engine.fetchChanges()
        XCTAssertEqual(
            codes.names.prefix(4),
            ["fetch reentrantCall", "send reentrantCall", "stop reentrantCall", "cancel reentrantCall"])
        XCTAssertEqual(codes.names.count, 5)
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("added"))])
        XCTAssertEqual(device.titles(), ["a": "from elsewhere"])
    }

    func test6_11_aTaskThatAHandlerStartedMayCallOnceTheHandlerHasReturned() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        let gate = FaultGate()
        let later = Locked<Task<Int, any Error>?>(nil)
        device.intercept { [device] event, _ in
            guard case .fetchedRecordZoneChanges = event else { return }
            let task = Task {
                await gate.pass()
                return try await device.engine.fetchChanges().summary?.recordCount ?? -1
            }
            later.withLock { $0 = task }
        }
        try await device.engine.fetchChanges()
        gate.open()
        let count = try await later.withLock { $0 }?.value
        XCTAssertEqual(count, 0)
    }

    func testStoppedEngineRefusesAndAReleasedOneGoesSilent() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device(policy: .automatic)
        try await device.engine.stop()
        XCTAssertEqual(device.engine.receive(.launch), .ignored(.stopped))
        do {
            try await device.engine.fetchChanges()
            XCTFail("no error")
        } catch {
            XCTAssertEqual(error.code, .stopped)
        }
        XCTAssertEqual(device.recorder.events, [])
        let other = try world.device("B", policy: .automatic)
        await other.crash()
        world.clock.advance(by: .seconds(10_000))
        XCTAssertEqual(world.clock.sleeperCount, 0)
        XCTAssertEqual(other.database.requests, [])
    }
}
