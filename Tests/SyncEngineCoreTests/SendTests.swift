import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// Sending: order, batches, what stays pending and what does not.
final class SendTests: XCTestCase {
    func testEO7_zonesComeBeforeRecordsAndEachRequestIsOneEvent() async throws {
        let world = World()
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.recorder.reset()
        device.database.reset()
        device.save(Record.ID("a"))
        device.save(Record.ID("b"))
        device.saveZone(.notes)
        try await device.engine.sendChanges()
        XCTAssertEqual(
            device.recorder.events(except: "stateUpdate"),
            ["willSendChanges", "sentDatabaseChanges +notes", "sentRecordZoneChanges 2+0-0!", "didSendChanges"])
        XCTAssertEqual(device.database.requests, ["modifyRecordZones +notes", "modifyRecords +a +b"])
        XCTAssertFalse(device.engine.state.needsSend)
    }

    func testEO7_aZoneThatIsAddedDuringASendGoesBeforeTheNextBatch() async throws {
        let world = World()
        try await world.makeZone(.notes)
        let device = try world.device { $0.limits.items = 1 }
        device.save(Record.ID("a"))
        device.save(Record.ID("b", .other))
        device.intercept { event, context in
            if case .sentRecordZoneChanges(let sent) = event, sent.savedRecords.first?.recordID.recordName == "a" {
                context.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: .other))])
            }
        }
        try await device.engine.sendChanges()
        XCTAssertEqual(device.database.requests, ["modifyRecords +a", "modifyRecordZones +other", "modifyRecords +b"])
    }

    func testP2_theLatestKindWinsAndTheFirstPlaceIsKept() throws {
        let world = World()
        let (a, b) = (Record.ID("a"), Record.ID("b"))
        typealias Change = SyncEngine.PendingRecordZoneChange
        let table: [([Change], [Change])] = [
            ([.saveRecord(a), .saveRecord(b), .saveRecord(a)], [.saveRecord(a), .saveRecord(b)]),
            ([.saveRecord(a), .deleteRecord(a)], [.deleteRecord(a)]),
            ([.deleteRecord(a), .saveRecord(a)], [.saveRecord(a)]),
            ([.saveRecord(a), .saveRecord(b), .deleteRecord(a)], [.deleteRecord(a), .saveRecord(b)]),
        ]
        for (added, expected) in table {
            let device = try world.device()
            for change in added { device.engine.state.add(pendingRecordZoneChanges: [change]) }
            XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, expected, "\(added)")
            let together = try world.device()
            together.engine.state.add(pendingRecordZoneChanges: added)
            XCTAssertEqual(together.engine.state.pendingRecordZoneChanges, expected, "\(added)")
        }
        let device = try world.device()
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: .notes)), .deleteZone(.notes)])
        XCTAssertEqual(device.engine.state.pendingDatabaseChanges, [.deleteZone(.notes)])
        device.engine.state.remove(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: .notes))])
        XCTAssertEqual(device.engine.state.pendingDatabaseChanges, [.deleteZone(.notes)])
        device.engine.state.remove(pendingDatabaseChanges: [.deleteZone(.notes)])
        XCTAssertEqual(device.engine.state.pendingDatabaseChanges, [])
    }

    func testB39_anEditMadeInFlightIsSentNextOnTheNewTag() async throws {
        let world = World()
        try await world.makeZone()
        for followUp in ["edit", "delete"] {
            let device = try world.device(followUp)
            let recordID = Record.ID("r-\(followUp)")
            device.save(recordID) { $0["title"] = "X" }
            let gate = FaultGate()
            var plan = FaultPlan()
            plan.fail(.modifyRecords, number: 1, with: .held(gate))
            device.database.plan = plan
            async let send = device.engine.sendChanges()
            await gate.arrival()
            XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
            XCTAssertEqual(device.engine.state.inFlightRecordZoneChanges, [.saveRecord(recordID)])
            if followUp == "edit" {
                device.save(recordID) { $0["title"] = "Y" }
            } else {
                // The tag of the version in flight is not known yet.
                device.engine.state.add(pendingRecordZoneChanges: [.deleteRecord(recordID)])
            }
            gate.open()
            _ = try await send
            let titles = try await world.titles()
            XCTAssertEqual(titles[recordID.recordName], followUp == "edit" ? "Y" : nil)
            XCTAssertEqual(device.recorder.events.filter { $0.hasPrefix("sentRecordZoneChanges") }.count, 2)
            XCTAssertFalse(device.engine.state.needsSend)
        }
    }

    func testP6_B42_goneLeavesPendingSkippedAndFailedStayAndAreNotAskedForAgain() async throws {
        struct Locked: Error {}
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        for name in ["ok", "gone", "skip", "failed"] { device.save(Record.ID(name)) }
        let asked = EventRecorderOfNames()
        device.provide { [device] recordID in
            asked.note(recordID.recordName)
            switch recordID.recordName {
            case "gone": return .gone
            case "skip": return .skip
            case "failed": return .failed(Locked())
            default: return device.records[recordID].map { .record($0) } ?? .gone
            }
        }
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(error?.outcome?.failedRecords.keys.map(\.recordName), ["failed"])
        XCTAssertEqual(error?.outcome?.skippedRecordIDs.map(\.recordName), ["skip"])
        XCTAssertEqual(asked.names, ["ok", "gone", "skip", "failed"])
        XCTAssertEqual(
            device.engine.state.pendingRecordZoneChanges,
            [.saveRecord(Record.ID("skip")), .saveRecord(Record.ID("failed"))])
        XCTAssertEqual(device.engine.state.unresolvedPendingChanges.count, 2)
        device.provide(nil)
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles.keys.sorted(), ["failed", "ok", "skip"])
    }

    func testSAMPLE_444RecordsInOneCallGoInBatchesOfTheLimit() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        for name in numbered("r", 0..<444) { device.save(Record.ID(name)) }
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual(outcome.savedCount, 444)
        XCTAssertEqual(
            device.recorder.events.filter { $0.hasPrefix("sentRecordZoneChanges") },
            ["sentRecordZoneChanges 250+0-0!", "sentRecordZoneChanges 194+0-0!"])
    }

    func testB52_savesAndDeletionsCountTogether() async throws {
        let world = World()
        for (saves, deletions, requests) in [(380, 120, 2), (400, 0, 1), (401, 0, 2), (0, 401, 2)] {
            try await world.makeZone(.notes, numbered("d", 0..<deletions))
            let device = try world.device { $0.limits.items = 400 }
            try await device.engine.fetchChanges()
            device.database.reset()
            for name in numbered("s\(deletions)-\(saves)-", 0..<saves) { device.save(Record.ID(name)) }
            for name in numbered("d", 0..<deletions) { device.delete(Record.ID(name)) }
            let outcome = try await device.engine.sendChanges()
            XCTAssertEqual(outcome.savedCount + outcome.deletedCount, saves + deletions)
            XCTAssertEqual(device.database.count(of: .modifyRecords), requests, "\(saves) + \(deletions)")
        }
    }

    func testB54_anUnknownLimitOfBytesIsFoundByHalvingAndRemembered() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device { $0.limits.bytes = .max }
        for name in numbered("r", 0..<100) {
            device.save(Record.ID(name)) { $0["title"] = String(repeating: "x", count: 30_000) }
        }
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual(outcome.savedCount, 100)
        XCTAssertEqual(device.database.count(of: .modifyRecords), 3)
        device.database.reset()
        for name in numbered("s", 0..<100) {
            device.save(Record.ID(name)) { $0["title"] = String(repeating: "x", count: 30_000) }
        }
        try await device.engine.sendChanges()
        XCTAssertEqual(device.database.count(of: .modifyRecords), 2, "what was learned was forgotten")
    }

    func testB54_limitsThatAreNestedInPartialFailuresAreFound() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        for name in numbered("r", 0..<8) { device.save(Record.ID(name)) }
        let limit = ChangeFeedError(.limitExceeded, "too much")
        var inner: [ChangeFeedError.ItemID: ChangeFeedError] = [:]
        for name in numbered("r", 0..<8) {
            inner[.record(Record.ID(name))] = ChangeFeedError(
                .partialFailure, "", partialErrors: [.record(Record.ID(name)): limit])
        }
        var plan = FaultPlan()
        plan.fail(.modifyRecords, number: 1, with: .error(ChangeFeedError(.partialFailure, "", partialErrors: inner)))
        device.database.plan = plan
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual(outcome.savedCount, 8)
        XCTAssertEqual(device.database.count(of: .modifyRecords), 3)
    }

    func testB55_aRecordThatIsTooLargeFailsAloneAndTeachesNothing() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device { $0.limits.bytes = .max }
        for name in numbered("r", 0..<20) { device.save(Record.ID(name)) { $0["title"] = "small" } }
        device.save(Record.ID("r7")) { $0["title"] = String(repeating: "x", count: 3_000_000) }
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(error?.outcome?.failedRecords.keys.map(\.recordName), ["r7"])
        XCTAssertEqual(error?.outcome?.savedCount, 19)
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
        XCTAssertEqual(device.engine.state.failedRecordChanges.keys.map(\.recordName), ["r7"])
        device.database.reset()
        for name in numbered("s", 0..<20) { device.save(Record.ID(name)) { $0["title"] = "small" } }
        try await device.engine.sendChanges()
        XCTAssertEqual(device.database.count(of: .modifyRecords), 1)
    }

    func testB56_parentsComeBeforeChildrenAndCirclesStayTogether() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device { $0.limits.items = 100 }
        // Children first: r0 is the deepest.
        for index in 0..<600 {
            device.save(Record.ID("r\(index)")) { record in
                if index < 599 { record.setParent(Record.ID("r\(min(599, index * 2 + 1 < 599 ? index + 1 : 599))")) }
            }
        }
        device.save(Record.ID("left")) {
            $0["other"] = Record.Reference(recordID: Record.ID("right"), action: .validate)
        }
        device.save(Record.ID("right")) {
            $0["other"] = Record.Reference(recordID: Record.ID("left"), action: .validate)
        }
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual(outcome.savedCount, 602)
        XCTAssertFalse(device.engine.state.needsSend)
    }

    func testB51_siblingsOfAnAtomicConflictStayPendingAndGoWithIt() async throws {
        let world = World()
        try await world.makeZone(.notes, ["p"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["p"], title: "changed elsewhere")
        device.makeBatches { [device] context in
            await SyncEngine.RecordZoneChangeBatch(context, atomicByZone: true) { recordID in
                device.records[recordID].map { .record($0) } ?? .gone
            }
        }
        device.save(Record.ID("p")) { $0["title"] = "changed here" }
        device.save(Record.ID("c")) { $0.setParent(Record.ID("p")) }
        device.save(Record.ID("free")) { $0["title"] = "has nothing to do with it" }
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(error?.outcome?.failedRecords.mapValues(\.code), [Record.ID("p"): .serverRecordChanged])
        // What is not connected went up at once, by itself.
        let titles = try await world.titles()
        XCTAssertEqual(titles.keys.sorted(), ["free", "p"])
        XCTAssertEqual(
            Set(device.engine.state.pendingRecordZoneChanges),
            [.saveRecord(Record.ID("p")), .saveRecord(Record.ID("c"))])
        try await device.engine.sendChanges()
        let after = try await world.titles()
        XCTAssertEqual(after, ["c": "", "free": "has nothing to do with it", "p": "changed here"])
    }

    func testB59_everyItemHasItsResult() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r1", "r2", "r3", "r4", "r5"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["r2"], title: "theirs")
        device.conflictRule = .serverWins
        for name in numbered("r", 1..<6) { device.save(Record.ID(name)) { $0["title"] = "mine" } }
        var plan = FaultPlan()
        plan.fail(
            .modifyRecords, number: 1,
            with: .items([Record.ID("r4")], ChangeFeedError(.invalidArguments, "malformed", recordID: Record.ID("r4"))))
        device.database.plan = plan
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(
            error?.outcome?.failedRecords.mapValues(\.code),
            [Record.ID("r2"): .serverRecordChanged, Record.ID("r4"): .invalidArguments])
        XCTAssertEqual(error?.outcome?.savedCount, 3)
        XCTAssertEqual(device.engine.state.failedRecordChanges.keys.map(\.recordName), ["r4"])
        device.engine.state.clearFailure(of: Record.ID("r4"))
        XCTAssertEqual(device.engine.state.failedRecordChanges.count, 0)
    }

    func testP9_aBatchOutsideOfTheScopeIsRefused() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.save(Record.ID("a"))
        device.save(Record.ID("b"))
        device.makeBatches { _ in
            .init(recordsToSave: [Record(recordType: "Note", recordID: Record.ID("b"))])
        }
        do {
            try await device.engine.sendChanges(.init(scope: .recordIDs([Record.ID("a")])))
            XCTFail("no error")
        } catch {
            XCTAssertEqual(error.outcome?.failedRecords.mapValues(\.code), [Record.ID("b"): .invalidArguments])
        }
        XCTAssertEqual(device.database.count(of: .modifyRecords), 0)
    }

    func testP13_anEmptyScopeSendsNothing() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.save(Record.ID("a"))
        device.saveZone(.other)
        for scope in [SyncEngine.SendChangesOptions.Scope.recordIDs([]), .zoneIDs([])] {
            let outcome = try await device.engine.sendChanges(.init(scope: scope))
            XCTAssertEqual(outcome.requestCount, 0)
        }
        try await device.engine.sendChanges(.init(scope: .zoneIDs([.notes])))
        XCTAssertEqual(device.engine.state.pendingDatabaseChanges.map(\.zoneID), [.other])
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
    }

    func testP11_untrackedChangesAreAskedForUntilThereAreNone() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        let batches = Countdown(from: 2)
        device.makeBatches { _ in
            guard let number = batches.next() else { return nil }
            var record = Record(recordType: "Note", recordID: Record.ID("own\(number)"))
            record["title"] = "from an outbox of the app's"
            return .init(recordsToSave: [record])
        }
        device.engine.state.hasPendingUntrackedChanges = true
        XCTAssertTrue(device.engine.state.needsSend)
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual(outcome.savedCount, 2)
        XCTAssertFalse(device.engine.state.hasPendingUntrackedChanges)
    }

    func test2_7_eachCodeIsInOneClassAndKeepsOrDropsWhatIsPending() async throws {
        for code in ChangeFeedError.Code.allCases {
            let world = World()
            try await world.makeZone(.notes, ["a"])
            let device = try world.device()
            device.recreatesZones = false
            device.conflictRule = .serverWins
            try await device.engine.fetchChanges()
            device.save(Record.ID("a")) { $0["title"] = "mine" }
            var plan = FaultPlan()
            plan.fail(.modifyRecords, with: .items([Record.ID("a")], ChangeFeedError(code, "planned")))
            device.database.plan = plan
            let error = await device.sendExpectingFailure()
            XCTAssertNotNil(error, "\(code)")
            let stays: Bool =
                switch code {
                case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
                    .zoneBusy, .accountTemporarilyUnavailable, .assetNotAvailable, .serverResponseLost,
                    .operationCancelled, .quotaExceeded, .referenceViolation, .zoneNotFound, .userDeletedZone,
                    .batchRequestFailed:
                    true
                default: false
                }
            XCTAssertEqual(!device.engine.state.pendingRecordZoneChanges.isEmpty, stays, "\(code)")
        }
    }

    func testB43_transientErrorsOfItemsAreRepeatedOnceTheWaitIsOver() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device(policy: .automatic)
        await device.engine.waitUntilIdle()
        var plan = FaultPlan()
        plan.fail(
            .modifyRecords, number: 1, with: .items([Record.ID("r3")], ChangeFeedError(.serviceUnavailable, "busy")))
        device.database.plan = plan
        // In one step, so that they are one request.
        device.save(numbered("r", 1..<11).map { Record.ID($0) })
        await device.engine.waitUntilIdle()
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("r3"))])
        let before = device.database.count(of: .modifyRecords)
        await world.advance(by: .seconds(13), device)
        XCTAssertEqual(device.database.count(of: .modifyRecords), before + 1)
        let titles = try await world.titles()
        XCTAssertEqual(titles.count, 10)
    }

    func testB07_anItemThatIsRefusedAgainAndAgainWaitsLongerEachTime() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device(policy: .automatic)
        await device.engine.waitUntilIdle()
        device.database.plan.fail(
            .modifyRecords, with: .items([Record.ID("a")], ChangeFeedError(.assetNotAvailable, "not now")))
        device.save(Record.ID("a"))
        await device.engine.waitUntilIdle()
        for _ in 0..<3600 { await world.advance(by: .seconds(1), device) }
        let count = device.database.count(of: .modifyRecords)
        XCTAssertGreaterThan(count, 5)
        XCTAssertLessThan(count, 16, "an hour of doubled waits")
    }

    func testB44_aQuotaErrorBlocksAndDeletesNothing() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.save(Record.ID("p")) { $0["title"] = "parent" }
        device.save(Record.ID("c")) { $0.setParent(Record.ID("p")) }
        var plan = FaultPlan()
        plan.fail(
            .modifyRecords, numbers: 1...1, with: .items([Record.ID("p")], ChangeFeedError(.quotaExceeded, "full")))
        device.database.plan = plan
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(
            error?.outcome?.failedRecords.mapValues(\.code),
            [Record.ID("p"): .quotaExceeded, Record.ID("c"): .referenceViolation])
        XCTAssertEqual(device.records.count, 2)
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges.count, 2)
        XCTAssertFalse(device.engine.state.needsSend, "what is blocked is not sent by itself")
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles.keys.sorted(), ["c", "p"])
    }

    func testB45_theLastIntentWins() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r1", "r2", "r3"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        // Delete, then save: one save on the known tag.
        let kept = device.records[Record.ID("r1")]
        device.delete(Record.ID("r1"))
        device.save(Record.ID("r1")) { record in
            record = kept ?? record
            record["title"] = "back"
        }
        // Save, then delete: one deletion.
        device.save(Record.ID("r3")) { $0["title"] = "never seen" }
        device.delete(Record.ID("r3"))
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual([outcome.savedCount, outcome.deletedCount], [1, 1])

        // The deletion is in flight when the save is added.
        let gate = FaultGate()
        var plan = FaultPlan()
        plan.fail(.modifyRecords, number: 1, with: .held(gate))
        device.database.plan = plan
        device.delete(Record.ID("r2"))
        async let send = device.engine.sendChanges()
        await gate.arrival()
        device.save(Record.ID("r2")) { $0["title"] = "created again" }
        gate.open()
        _ = try await send
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["r1": "back", "r2": "created again"])
        XCTAssertFalse(device.engine.state.needsSend)
    }

    func testB68_aSaveWithNothingInItIsNotSent() async throws {
        let world = World()
        try await world.makeZone(.notes, ["r1"])
        let device = try world.device()
        device.intercept { event, context in
            // An app that adds every write of its store, also that of a fetched record.
            guard case .fetchedRecordZoneChanges(let changes) = event else { return }
            context.state.add(pendingRecordZoneChanges: changes.modifications.map { .saveRecord($0.recordID) })
        }
        for _ in 0..<10 {
            try await device.engine.fetchChanges()
            try await device.engine.sendChanges()
        }
        XCTAssertEqual(device.database.count(of: .modifyRecords), 0)
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
    }

    func testB08_aRecordOfTheDefaultZoneIsRefusedAtOnce() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.save(Record.ID("a", .default))
        device.save(Record.ID("b"))
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(error?.outcome?.failedRecords.mapValues(\.rule), [Record.ID("a", .default): "Z2"])
        XCTAssertEqual(device.database.requests, ["modifyRecords +b"])
    }

    func test6_13_6_aLostAnswerIsAskedForAgainAndNothingIsDoneTwice() async throws {
        let world = World()
        try await world.makeZone()
        for code in [ChangeFeedError.Code.serverResponseLost, .networkFailure] {
            let device = try world.device("\(code)")
            try await device.engine.fetchChanges()
            let name = "r-\(code)"
            device.save(Record.ID(name)) { $0["title"] = "once" }
            var plan = FaultPlan()
            plan.fail(.modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(code, "lost")))
            device.database.plan = plan
            if code == .networkFailure {
                await device.sendExpectingFailure()
                XCTAssertTrue(device.engine.state.needsSend)
                // An edit made meanwhile goes on top of what was carried out.
                device.save(Record.ID(name)) { $0["title"] = "twice" }
            }
            try await device.engine.sendChanges()
            XCTAssertEqual(device.recorder.events.filter { $0.hasSuffix("1!") }, [], "a conflict with itself")
            let titles = try await world.titles()
            XCTAssertEqual(titles[name], code == .networkFailure ? "twice" : "once")
        }
    }

    func test6_13_6_aLostAnswerIsAskedForAgainAfterAnAccountChangeThatWasNone() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.database.plan.fail(
            .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.serverResponseLost, "gone")))
        device.save(Record.ID("a"))
        _ = try? await device.engine.sendChanges()
        // Somebody deletes what the device does not know to be there.
        try await world.erase(["a"])
        device.engine.receive(.accountChanged)
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles, [:], "what was deleted is there again")
    }

    func test6_13_6_theAnswerToARepetitionIsNoOlderThanWhatWasFetchedSince() async throws {
        for isDeleted in [false, true] {
            let world = World()
            try await world.makeZone()
            let device = try world.device()
            try await device.engine.fetchChanges()
            device.database.plan.fail(
                .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.networkFailure, "gone")))
            device.save(Record.ID("a")) { $0["title"] = "mine" }
            _ = try? await device.engine.sendChanges()
            if isDeleted { try await world.erase(["a"]) } else { try await world.write(["a"], title: "theirs") }
            device.conflictRule = .serverWins
            try await device.engine.fetchChanges()
            _ = try? await device.engine.sendChanges()
            try await device.engine.fetchChanges()
            let titles = try await world.titles()
            XCTAssertEqual(titles, isDeleted ? [:] : ["a": "theirs"])
            XCTAssertEqual(device.titles(), titles)
            XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
            XCTAssertEqual(device.engine.state.inFlightRecordZoneChanges, [])
        }
    }

    func test6_13_6_aRepetitionTellsOfNoRecordThatWasDeletedBeforeTheFirstRead() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.database.plan.fail(
            .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.networkFailure, "gone")))
        device.save(Record.ID("a"))
        _ = try? await device.engine.sendChanges()
        try await world.erase(["a"])
        // The first read of the zone shows nothing of a record that came and went before it.
        try await device.engine.fetchChanges()
        await device.sendExpectingFailure()
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.titles(), [:])
    }

    func test6_13_6_resultsThatAHandlerRefusedComeAgainAndNothingIsDoneTwice() async throws {
        struct DiskIsFull: Error {}
        let world = World()
        try await world.makeZone()
        let device = try world.device(policy: .automatic)
        device.intercept { event, _ in
            if case .sentRecordZoneChanges = event { throw DiskIsFull() }
        }
        await device.engine.waitUntilIdle()
        device.save(Record.ID("a"))
        await device.engine.waitUntilIdle()
        for _ in 0..<60 { await world.advance(by: .seconds(1), device) }
        let count = device.database.count(of: .modifyRecords)
        XCTAssertGreaterThan(count, 2, "it is tried again")
        XCTAssertLessThan(count, 12, "and waits in between")
        // Somebody deletes it meanwhile.
        try await world.erase(["a"])
        device.intercept(nil)
        for _ in 0..<100 { await world.advance(by: .seconds(1), device) }
        try await device.engine.fetchChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles, [:])
        XCTAssertEqual(device.titles(), [:])
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
    }

    func test6_13_6_aRepetitionThatIsTurnedAwayStaysTheSameRequest() async throws {
        for isOfItems in [false, true] {
            let world = World()
            try await world.makeZone()
            let device = try world.device()
            let busy = ChangeFeedError(.zoneBusy, "not now")
            device.database.plan.fail(
                .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.networkFailure, "gone")))
            device.database.plan.fail(
                .modifyRecords, number: 2, with: isOfItems ? .items([Record.ID("a")], busy) : .error(busy))
            device.save(Record.ID("a"))
            _ = try? await device.engine.sendChanges()
            try await world.erase(["a"])
            _ = try? await device.engine.sendChanges()
            _ = try? await device.engine.sendChanges()
            let titles = try await world.titles()
            XCTAssertEqual(titles, [:], "what was deleted is there again")
        }
    }

    func test6_13_6_aRepetitionWithMoreItemsThanALookUpIsToldWhole() async throws {
        for isOneUnreadable in [false, true] {
            let world = World()
            try await world.makeZone()
            let device = try world.device { $0.limits.itemsPerLookup = 2 }
            device.database.plan.fail(
                .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.networkFailure, "gone")))
            device.save(numbered("r", 0..<5).map { Record.ID($0) })
            _ = try? await device.engine.sendChanges()
            try await device.engine.fetchChanges()
            if isOneUnreadable {
                // The second look-up fails: nothing is told, nothing is dropped, and it is tried again.
                device.database.plan.fail(
                    .records, number: 2, with: .error(ChangeFeedError(.serviceUnavailable, "busy")))
                _ = try? await device.engine.sendChanges()
                XCTAssertEqual(device.engine.state.inFlightRecordZoneChanges.count, 5)
                device.database.plan = FaultPlan()
            }
            let outcome = try await device.engine.sendChanges()
            XCTAssertEqual(outcome.failedRecords.count, 0)
            XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
            XCTAssertEqual(device.engine.state.inFlightRecordZoneChanges, [])
            XCTAssertEqual(device.records.values.filter { $0.recordChangeTag == nil }.count, 0)
        }
    }

    func test6_13_6_aRefusalThatIsOlderThanWhatWasFetchedSinceIsNotTold() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.database.plan.fail(
            .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.networkFailure, "gone")))
        try await world.erase(["a"])
        device.save(Record.ID("a")) { $0["title"] = "mine" }
        // Refused, for the record is gone; but that answer is lost, and the record is there again when it is repeated.
        _ = try? await device.engine.sendChanges()
        try await world.write(["a"], title: "theirs")
        try await device.engine.fetchChanges()
        try await device.engine.sendChanges()
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["a": "mine"])
        XCTAssertEqual(device.titles(), titles)
    }

    func test6_13_6_aLostAnswerBeforeACrashIsNoConflict() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device()
        device.save(Record.ID("a")) { $0["title"] = "once" }
        var plan = FaultPlan()
        plan.fail(.modifyRecords, with: .lostAnswer(ChangeFeedError(.networkFailure, "lost")))
        device.database.plan = plan
        await device.sendExpectingFailure()
        await device.crash()
        let restarted = try world.device(disk: device.disk)
        try await restarted.engine.sendChanges()
        XCTAssertEqual(restarted.recorder.events.filter { $0.hasPrefix("sent") }, ["sentRecordZoneChanges 1+0-0!"])
        XCTAssertFalse(restarted.engine.state.needsSend)
    }

    func testI10_aRequestInFlightIsReportedAfterACancellation() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device { $0.limits.items = 1 }
        device.save(Record.ID("a"))
        device.save(Record.ID("b"))
        let gate = FaultGate()
        var plan = FaultPlan()
        plan.fail(.modifyRecords, number: 1, with: .held(gate))
        device.database.plan = plan
        let send = Task { try await device.engine.sendChanges() }
        await gate.arrival()
        try await device.engine.cancelOperations()
        do {
            _ = try await send.value
            XCTFail("the send did not throw")
        } catch {
            XCTAssertEqual((error as? SyncEngineError)?.code, .cancelled)
        }
        gate.open()
        await device.engine.waitUntilIdle()
        XCTAssertTrue(device.recorder.events.contains("sentRecordZoneChanges 1+0-0!"))
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("b"))])
    }

    func testP4_whoIsToldThatAChangeIsStillPendingMayTakeItBackThereAndThen() async throws {
        let world = World()
        let device = try world.device()
        device.recreatesZones = false
        device.engine.state.add(pendingRecordZoneChanges: [.deleteRecord(Record.ID("a")), .saveRecord(Record.ID("b"))])
        device.save(Record.ID("b"))
        device.intercept { event, context in
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            XCTAssertEqual(Array(sent.failedRecordDeletes.keys), [Record.ID("a")])
            context.state.remove(pendingRecordZoneChanges: [.deleteRecord(Record.ID("a"))])
        }
        await device.sendExpectingFailure()
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("b"))])
        let restarted = try world.device("B", disk: device.disk)
        XCTAssertEqual(restarted.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("b"))])
    }

    func testR14_deletionsThatWaitForOthersAreTriedAgain() async throws {
        let world = World()
        try await world.makeZone()
        let device = try world.device { $0.limits.items = 1 }
        device.save(Record.ID("p"))
        device.save(Record.ID("c")) { $0.setParent(Record.ID("p")) }
        try await device.engine.sendChanges()
        device.delete(Record.ID("p"))
        device.delete(Record.ID("c"))
        let outcome = try await device.engine.sendChanges()
        XCTAssertEqual(outcome.deletedCount, 2)
        let titles = try await world.titles()
        XCTAssertEqual(titles, [:])
    }

    func test6_9_aDeletionOfAVersionThatSomebodyChangedIsAConflict() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        try await world.write(["a"], title: "changed")
        device.delete(Record.ID("a"))
        let error = await device.sendExpectingFailure()
        XCTAssertEqual(error?.outcome?.failedRecords.mapValues(\.code), [Record.ID("a"): .serverRecordChanged])
        let titles = try await world.titles()
        XCTAssertEqual(titles, ["a": "changed"])
    }

    func testB80_aRefusedWriteCarriesTheServersVersion() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.save(Record.ID("a")) { $0["title"] = "mine" }
        var plan = FaultPlan()
        plan.fail(.modifyRecords, number: 1, with: .items([Record.ID("a")], ChangeFeedError(.permissionFailure, "no")))
        device.database.plan = plan
        let error = await device.sendExpectingFailure()
        let server: String? = error?.outcome?.failedRecords[Record.ID("a")]?.serverRecord?["title"]
        XCTAssertEqual(server, "from elsewhere")
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
    }
}

/// Names in the order in which they were noted.
final class EventRecorderOfNames: Sendable {
    private let content = Locked<[String]>([])
    var names: [String] { content.withLock { $0 } }
    func note(_ name: String) { content.withLock { $0.append(name) } }
}

/// Counts down to nothing.
final class Countdown: Sendable {
    private let rest: Locked<Int>
    init(from start: Int) { rest = Locked(start) }
    func next() -> Int? {
        rest.withLock { rest in
            guard rest > 0 else { return nil }
            rest -= 1
            return rest
        }
    }
}
