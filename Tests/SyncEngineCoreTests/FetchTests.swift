import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// Fetching: what is asked, what is delivered in which order, and what is kept.
final class FetchTests: XCTestCase {
    func testEO3_eventsOfAnEmptyAOneZoneAndAManyZoneFetch() async throws {
        let world = World()
        let device = try world.device()
        try await device.engine.fetchChanges()
        XCTAssertEqual(
            device.recorder.events(except: "stateUpdate"),
            ["accountChange signIn alice", "willFetchChanges", "didFetchChanges"])

        try await world.makeZone(.notes, ["a", "b"])
        device.recorder.reset()
        try await device.engine.fetchChanges()
        XCTAssertEqual(
            device.recorder.events(except: "stateUpdate"),
            [
                "willFetchChanges", "fetchedDatabaseChanges +notes", "willFetchRecordZoneChanges notes",
                "fetchedRecordZoneChanges notes 2+0-", "didFetchRecordZoneChanges notes", "didFetchChanges",
            ])

        try await world.makeZone(.other, ["c"])
        try await world.erase(["a"])
        device.recorder.reset()
        try await device.engine.fetchChanges()
        XCTAssertEqual(
            device.recorder.events(except: "stateUpdate"),
            [
                "willFetchChanges", "fetchedDatabaseChanges +other +notes", "willFetchRecordZoneChanges notes",
                "fetchedRecordZoneChanges notes 0+1-", "didFetchRecordZoneChanges notes",
                "willFetchRecordZoneChanges other", "fetchedRecordZoneChanges other 1+0-",
                "didFetchRecordZoneChanges other", "didFetchChanges",
            ])
    }

    func testB01_anEngineRestoredFromSavedStateAsksTheServerOnce() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let before = try world.device()
        try await before.engine.fetchChanges()
        try await world.makeZone(.other, ["x"])

        let device = try world.device(disk: before.disk)
        let outcome = try await device.engine.fetchChanges()
        XCTAssertEqual(device.database.count(of: .databaseChanges), 1)
        XCTAssertFalse(device.database.requests[0].hasSuffix("nil"), "the saved token was not sent")
        XCTAssertEqual(outcome.summary?.zones.map(\.zoneID), [.other], "a zone without changes was fetched again")
        XCTAssertEqual(device.titles(in: .other), ["x": "from elsewhere"])
    }

    func testB03_upToDateNoAccountAndJoinedCanBeToldApart() async throws {
        let world = World()
        let device = try world.device()
        guard case .fetched(let summary) = try await device.engine.fetchChanges() else { return XCTFail() }
        XCTAssertTrue(summary.isEmpty)

        let nobody = try world.device("B", database: world.container.device("B").database(.private))
        guard case .skipped(.noAccount) = try await nobody.engine.fetchChanges() else { return XCTFail() }
        XCTAssertEqual(nobody.database.count(of: .databaseChanges), 0)
        XCTAssertEqual(nobody.recorder.events, [])
    }

    func testB04_oneEditAfterALaunchIsOneRecordAndNot246() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<246))
        let before = try world.device()
        try await before.engine.fetchChanges()
        XCTAssertEqual(before.deliveredCount, 246)
        try await world.write(["r17"], title: "page 12")

        let device = try world.device(disk: before.disk)
        let outcome = try await device.engine.fetchChanges()
        XCTAssertEqual(outcome.summary?.recordCount, 1)
        XCTAssertEqual(device.deliveredCount, 1)
        XCTAssertEqual(device.titles()["r17"], "page 12")
    }

    func testB09_aPageWhoseHandlerThrewComesAgain() async throws {
        struct DiskFull: Error {}
        let world = World()
        try await world.makeZone(.notes, ["a", "b", "c"])
        let device = try world.device()
        device.intercept { event, _ in
            if case .fetchedRecordZoneChanges = event { throw DiskFull() }
        }
        let outcome = try await device.engine.fetchChanges()
        XCTAssertEqual(outcome.summary?.zones.first?.error?.code, .internalError)
        XCTAssertEqual(outcome.summary?.unfinishedZoneIDs, [.notes])

        // The engine goes on, and so does one that is started from what was stored.
        for next in [device, try world.device("A2", disk: device.disk)] {
            next.intercept(nil)
            let outcome = try await next.engine.fetchChanges()
            XCTAssertEqual(outcome.summary?.recordCount, 3, next.name)
            XCTAssertEqual(next.titles().count, 3)
        }
    }

    func testB11_aDeletionThatFailedComesAgainWithItsPage() async throws {
        struct NotDeleted: Error {}
        let world = World()
        try await world.makeZone(.notes, ["a", "b"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.erase(["a", "b"])
        device.intercept { event, _ in
            if case .fetchedRecordZoneChanges = event { throw NotDeleted() }
        }
        try await device.engine.fetchChanges()
        device.intercept(nil)
        let outcome = try await device.engine.fetchChanges()
        XCTAssertEqual(outcome.summary?.zones.first?.deletionCount, 2)
        XCTAssertEqual(device.titles(), [:])
    }

    func testB13_aRecordThatCannotBeAppliedIsSetAsideAndDoesNotStopTheZone() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a", "b", "c"])
        let device = try world.device()
        device.intercept { event, context in
            guard case .fetchedRecordZoneChanges(let changes) = event else { return }
            for record in changes.modifications where record.recordID.recordName == "b" {
                context.quarantine(record, reason: "unknown format")
            }
        }
        try await device.engine.fetchChanges()
        for _ in 0..<2 {
            let outcome = try await device.engine.fetchChanges()
            XCTAssertEqual(outcome.summary?.recordCount, 0)
        }
        let restarted = try world.device(disk: device.disk)
        let quarantined = restarted.engine.state.quarantinedRecords
        XCTAssertEqual(quarantined.map(\.recordID.recordName), ["b"])
        XCTAssertEqual(quarantined.map(\.reason), ["unknown format"])
        XCTAssertNotNil(quarantined[0].recordChangeTag)

        try await restarted.engine.fetchQuarantinedRecords()
        XCTAssertEqual(restarted.deliveredCount, 1)
        XCTAssertEqual(restarted.engine.state.quarantinedRecords, [])
    }

    func testFZ10_aRecordThatTheServerCannotGiveIsInQuarantineUntilItComes() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a", "b"])
        let device = try world.device()
        var plan = FaultPlan()
        plan.fail(
            .recordZoneChanges, number: 1,
            with: .unreadableRecords([Record.ID("b")], ChangeFeedError(.assetNotAvailable, "not now")))
        device.database.plan = plan
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.engine.state.quarantinedRecords.map(\.recordID.recordName), ["b"])
        try await world.write(["b"], title: "again")
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.engine.state.quarantinedRecords, [])
        XCTAssertEqual(device.titles()["b"], "again")
    }

    func testB14_theErrorOfOneZoneIsItsOwnAndNothingFollowsFromAbsence() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        try await world.makeZone(.other, ["x", "y"])
        let device = try world.device { $0.limits.resultsPerPage = 1 }
        var plan = FaultPlan()
        plan.fail(
            .recordZoneChanges, numbers: 2...2, inZoneWith: .other,
            with: .error(ChangeFeedError(.internalError, "broken")))
        device.database.plan = plan
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.zones.map(\.zoneID), [.notes, .other])
        XCTAssertEqual(summary?.zones.map { $0.error?.code }, [nil, .internalError])
        XCTAssertEqual(device.titles(in: .other), ["x": "from elsewhere"])
        XCTAssertEqual(device.engine.state.zoneIDsWithUnfetchedServerChanges, [.other])
        device.resetDelivered()
        try await device.engine.fetchKnownDirtyZones()
        XCTAssertEqual(device.deliveredCount, 1, "the zone was not read on from its last acknowledged page")
    }

    func testB17_aServerThatMakesNoProgressIsAskedThreeTimesAtMost() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["b"])
        var plan = FaultPlan()
        plan.fail(.recordZoneChanges, with: .stuckToken)
        device.database.plan = plan
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.zones.first?.error?.detail, .noProgress)
        XCTAssertLessThanOrEqual(device.database.count(of: .recordZoneChanges), 3)
        device.database.plan = FaultPlan()
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(), ["a": "from elsewhere", "b": "from elsewhere"])

        plan = FaultPlan()
        plan.fail(.databaseChanges, with: .stuckToken)
        device.database.plan = plan
        do {
            try await device.engine.fetchChanges()
            XCTFail("no error")
        } catch {
            XCTAssertEqual(error.underlying?.detail, .noProgress)
        }
        XCTAssertLessThanOrEqual(device.database.count(of: .databaseChanges), 3)
    }

    func testB20_oneFetchGoesOnToTheEnd() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<500))
        let device = try world.device { $0.limits.resultsPerPage = 100 }
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.zones.first?.pageCount, 5)
        XCTAssertEqual(device.titles().count, 500)
    }

    func testB23_B24_anExpiredTokenIsAResyncOfThatZoneAloneAndSparesWhatIsPending() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 1..<6))
        try await world.makeZone(.other, ["x"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.save(Record.ID("r5")) { $0["title"] = "edited here" }
        device.save(Record.ID("r6")) { $0["title"] = "new here" }
        try await world.erase(["r2", "r3"])
        var plan = FaultPlan()
        plan.fail(
            .recordZoneChanges, numbers: 1...1, inZoneWith: .notes,
            with: .error(ChangeFeedError(.changeTokenExpired, "too old", detail: .expired)))
        device.database.plan = plan
        device.recorder.reset()
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.isComplete, true)
        XCTAssertEqual(
            device.recorder.events(except: "stateUpdate"),
            [
                "willFetchChanges", "fetchedDatabaseChanges +notes", "willFetchRecordZoneChanges notes",
                "didFetchRecordZoneChanges notes changeTokenExpired", "willFetchRecordZoneChanges notes resync",
                "fetchedRecordZoneChanges notes 3+0-", "didFetchRecordZoneChanges notes resync", "didFetchChanges",
            ])
        XCTAssertEqual(
            device.titles(), ["r1": "from elsewhere", "r4": "from elsewhere", "r5": "edited here", "r6": "new here"])
        XCTAssertEqual(
            device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("r5")), .saveRecord(Record.ID("r6"))])
    }

    func test6_7_anInterruptedResyncSweepsNothingAndGoesOnAfterARestart() async throws {
        for crashPage in 1...5 {
            let world = World()
            try await world.makeZone(.notes, numbered("r", 0..<10))
            let device = try world.device { $0.limits.resultsPerPage = 2 }
            try await device.engine.fetchChanges()
            try await world.erase(["r3"])
            var plan = FaultPlan()
            plan.fail(.recordZoneChanges, number: 1, with: .error(ChangeFeedError(.changeTokenExpired, "too old")))
            plan.fail(
                .recordZoneChanges, numbers: 1 + crashPage...99,
                with: .error(ChangeFeedError(.serviceUnavailable, "no")))
            device.database.plan = plan
            try await device.engine.fetchChanges()
            XCTAssertFalse(device.recorder.events.contains("didFetchRecordZoneChanges notes resync"))
            XCTAssertEqual(device.titles().count, 10, "swept after page \(crashPage)")
            await device.crash()

            let restarted = try world.device(disk: device.disk) { $0.limits.resultsPerPage = 2 }
            let summary = try await restarted.engine.fetchChanges().summary
            XCTAssertTrue(restarted.recorder.events.contains("willFetchRecordZoneChanges notes resync"))
            XCTAssertTrue(restarted.recorder.events.contains("didFetchRecordZoneChanges notes resync"))
            XCTAssertEqual(summary?.isComplete, true)
            XCTAssertEqual(restarted.titles().keys.sorted(), numbered("r", 0..<10).filter { $0 != "r3" }.sorted())
        }
    }

    func test6_7_anExpiredDatabaseTokenTellsAllZonesThatThereAre() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        try await world.makeZone(.other, ["x"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        _ = try await world.server.modifyRecordZones(RecordZoneModifyRequest(deleting: [.other]))
        var plan = FaultPlan()
        plan.fail(.databaseChanges, number: 1, with: .error(ChangeFeedError(.changeTokenExpired, "too old")))
        device.database.plan = plan
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(in: .other), [:])
        XCTAssertEqual(device.titles(), ["a": "from elsewhere"])
        XCTAssertEqual(device.engine.state.zoneIDsWithUnfetchedServerChanges, [])
    }

    func testB34_aZoneThatWasCreatedAgainIsToldOfAsGoneAndNew() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("old", 0..<40))
        let device = try world.device()
        try await device.engine.fetchChanges()
        _ = try await world.server.modifyRecordZones(RecordZoneModifyRequest(deleting: [.notes]))
        try await world.makeZone(.notes, numbered("new", 0..<5))
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles().keys.sorted(), numbered("new", 0..<5))
    }

    func testB58_recordsThatWereSetAsideAreAskedForInBatches() async throws {
        let world = World()
        let names = numbered("r", 0..<1360)
        try await world.makeZone(.notes, names)
        let device = try world.device()
        device.database.plan.fail(
            .recordZoneChanges,
            with: .unreadableRecords(Set(names.map { Record.ID($0) }), ChangeFeedError(.internalError, "damaged")))
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.engine.state.quarantinedRecords.count, 1360)
        try await device.engine.fetchQuarantinedRecords()
        XCTAssertEqual(device.database.count(of: .records), 4)
        XCTAssertEqual(device.records.count, 1360)
        XCTAssertEqual(device.engine.state.quarantinedRecords.count, 0)
    }

    func test6_4_aZoneThatWasAskedForByNameAndIsGoneBeforeTheDatabaseIsReadGoes() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges(.init(scope: .zoneIDs([.notes])))
        XCTAssertEqual(device.records.count, 1)
        try await world.container.purgeZone(.notes, for: world.user)
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.records.count, 0)
    }

    func test6_7_whatASweepSparesIsSentThoughNothingInItHasChanged() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        // Pending, and without a change in it: an app that adds whatever it has touched.
        device.save(Record.ID("a")) { $0["title"] = "from elsewhere" }
        _ = try await world.server.modifyRecordZones(RecordZoneModifyRequest(deleting: [.notes]))
        _ = try await world.server.modifyRecordZones(RecordZoneModifyRequest(saving: [RecordZone(zoneID: .notes)]))
        // Only of the zone: the database would tell that it was deleted.
        try await device.engine.fetchChanges(.init(scope: .zoneIDs([.notes])))
        XCTAssertEqual(device.records.count, 1)
        await device.sendExpectingFailure()
        XCTAssertEqual(device.records.count, 0, "it was told that the server does not have the record")
    }

    func test6_4_whatWasWrittenBeforeTheFirstReadAndDeletedSinceGoes() async throws {
        let world = World()
        let device = try world.device()
        device.saveZone(.notes)
        device.saveZone(.other)
        device.save(["a", "b"].map { Record.ID($0) })
        device.save(Record.ID("c", .other))
        try await device.engine.sendChanges()
        // Gone before the device has read anything: no list of changes since the beginning names them.
        try await world.erase(["a"])
        try await world.container.purgeZone(.other, for: world.user)
        let restarted = try world.device(disk: device.disk)
        try await restarted.engine.fetchChanges()
        XCTAssertEqual(restarted.records.keys.map(\.recordName), ["b"])
        restarted.recorder.reset()
        try await world.write(["b"])
        try await restarted.engine.fetchChanges()
        XCTAssertFalse(restarted.recorder.events.contains { $0.hasSuffix("resync") }, "\(restarted.recorder.events)")
    }

    func testB70_B71_theReasonOfADeletionComesFirstAndPendingChangesAreParked() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.save(Record.ID("a")) { $0["title"] = "edited" }
        try await world.container.purgeZone(.notes, for: "alice")
        device.recorder.reset()
        try await device.engine.fetchChanges()
        XCTAssertTrue(device.recorder.events.contains("fetchedDatabaseChanges -notes(purged)"))
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
        XCTAssertEqual(device.engine.state.parkedChanges(inZoneWith: .notes), [.saveRecord(Record.ID("a"))])
        // Nothing is uploaded again without the app's word.
        try await device.engine.sendChanges()
        XCTAssertEqual(device.database.count(of: .modifyRecords), 0)

        device.save(Record.ID("b")) { $0["title"] = "after" }
        device.saveZone(.notes)
        device.engine.state.dropParkedChanges(inZoneWith: .notes)
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["b": "after"])
    }

    func testB74_aZoneThatGoesWhileItIsReadFailsAloneAndNothingIsWiped() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<6))
        let device = try world.device {
            $0.limits.resultsPerPage = 2
            $0.limits.looksAhead = false
        }
        let server = world.server
        device.intercept { event, _ in
            if case .fetchedRecordZoneChanges = event {
                _ = try? await server.modifyRecordZones(RecordZoneModifyRequest(deleting: [.notes]))
            }
        }
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.zones.first?.error?.code, .zoneNotFound)
        XCTAssertEqual(device.titles().count, 2)
        device.intercept(nil)
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(), [:])
        XCTAssertTrue(device.recorder.events.contains("fetchedDatabaseChanges -notes(deleted)"))
    }

    func test6_3_aPageOfAnotherZoneIsRefused() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        try await world.makeZone(.other, ["x"])
        let device = try world.device()
        var plan = FaultPlan()
        plan.fail(.recordZoneChanges, numbers: 1...1, inZoneWith: .notes, with: .wrongZone(.other))
        device.database.plan = plan
        let summary = try await device.engine.fetchChanges().summary
        XCTAssertEqual(summary?.zones.first?.error?.detail, .foreign)
        XCTAssertEqual(device.titles(), [:])
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(), ["a": "from elsewhere"])

        // Also one with nothing in it: its token would be of another zone.
        try await world.write(["b"])
        try await world.makeZone(RecordZone.ID(zoneName: "empty"))
        plan = FaultPlan()
        plan.fail(
            .recordZoneChanges, numbers: 1...1, inZoneWith: .notes, with: .wrongZone(RecordZone.ID(zoneName: "empty")))
        device.database.plan = plan
        let again = try await device.engine.fetchChanges().summary
        XCTAssertEqual(again?.zones.first { $0.zoneID == .notes }?.error?.detail, .foreign)
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(), ["a": "from elsewhere", "b": "from elsewhere"])
    }

    func testEO12_prioritizedZonesComeFirstAndPrioritiesChangeBetweenRequests() async throws {
        let world = World()
        let zones = ["z1", "z2", "z3", "z4"].map { RecordZone.ID(zoneName: $0) }
        for zoneID in zones { try await world.makeZone(zoneID, ["a"]) }
        let device = try world.device()
        device.chooseOptions { [recorder = device.recorder] context in
            var options = context.options
            if recorder.events.contains("didFetchRecordZoneChanges z3") { options.prioritizedZoneIDs = [zones[3]] }
            return options
        }
        let summary = try await device.engine.fetchChanges(.init(prioritizedZoneIDs: [zones[2]])).summary
        XCTAssertEqual(summary?.zones.map(\.zoneID.zoneName), ["z3", "z4", "z1", "z2"])
    }

    func test6_8_aScopeOfZonesAsksThoseZonesWhetherTheyAreDirtyOrNot() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        try await world.makeZone(.other, ["x"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["b"])
        let restarted = try world.device(disk: device.disk)
        let summary = try await restarted.engine.fetchChanges(.init(scope: .zoneIDs([.notes]))).summary
        XCTAssertEqual(summary?.recordCount, 1)
        XCTAssertEqual(restarted.database.requests.count, 1)
        XCTAssertEqual(restarted.titles().count, 2)
    }

    func test6_8_aFetchWaitsForItsTurnAndSeesWhatWasThereBeforeTheCall() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        let gate = FaultGate()
        var plan = FaultPlan()
        plan.fail(.recordZoneChanges, number: 1, with: .held(gate))
        device.database.plan = plan
        async let first = device.engine.fetchChanges()
        await gate.arrival()
        try await world.write(["b"])
        async let second = device.engine.fetchChanges()
        async let third = device.engine.fetchChanges()
        // Both calls stand in the line before the first may end.
        while device.engine.journal.entries.filter({ if case .called = $0.event { true } else { false } }).count < 3 {
            await Task.yield()
        }
        gate.open()
        _ = try await first
        let outcomes = [try await second, try await third]
        XCTAssertEqual(device.titles().count, 2)
        XCTAssertEqual(device.recorder.events.filter { $0 == "willFetchChanges" }.count, 2)
        XCTAssertEqual(outcomes.filter { if case .joined = $0 { true } else { false } }.count, 1)
    }

    func testB89_aCallThatIsNeverAnsweredEndsWhenItIsCancelled() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        let gate = FaultGate()
        var plan = FaultPlan()
        plan.fail(.recordZoneChanges, number: 1, with: .held(gate))
        device.database.plan = plan
        let fetch = Task { try await device.engine.fetchChanges() }
        await gate.arrival()
        fetch.cancel()
        do {
            _ = try await fetch.value
            XCTFail("the fetch did not throw")
        } catch {
            XCTAssertEqual((error as? SyncEngineError)?.code, .cancelled)
        }
        await device.engine.waitUntilIdle()
        XCTAssertEqual(
            device.recorder.events.suffix(2), ["didFetchRecordZoneChanges notes operationCancelled", "didFetchChanges"])
        gate.open()
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(), ["a": "from elsewhere"])
        try await device.engine.stop()
    }

    func testB91_B97_pagesComeOneAtATimeAndBoundedAhead() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<1000))
        let device = try world.device { $0.limits.resultsPerPage = 100 }
        let database = device.database
        device.intercept { [recorder = device.recorder] event, _ in
            guard case .fetchedRecordZoneChanges = event else { return }
            let handled = recorder.events.filter { $0.hasPrefix("fetchedRecordZoneChanges") }.count
            XCTAssertLessThanOrEqual(database.count(of: .recordZoneChanges), handled + 1)
        }
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.recorder.events.filter { $0.hasPrefix("fetchedRecordZoneChanges") }.count, 10)
    }
}
