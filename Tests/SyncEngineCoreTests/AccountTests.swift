import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// Accounts: nothing of one is ever sent or shown under another (section 6.9a).
final class AccountTests: XCTestCase {
    /// A server, and one device whose user changes.
    private struct Scene {
        let world = World()
        let session: Device
        let device: TestDevice

        init(policy: SyncEngine.TriggerPolicy = .manual, user: String? = "X") throws {
            session = world.container.device("phone")
            if let user { session.signIn(user) }
            device = try TestDevice("phone", database: session.database(.private), clock: world.clock, policy: policy)
        }

        func names(of user: String) async throws -> [String] {
            var names: [String] = []
            let database = world.container.database(.private, for: user)
            do {
                for try await page in database.recordZoneChangePages(inZoneWith: .notes, since: nil) {
                    names += page.modifications.map(\.recordID.recordName)
                }
            } catch {}
            return names.sorted()
        }
    }

    func testI2_aSignInIsToldAtNilStateAndNotAgain() async throws {
        let scene = try Scene()
        try await scene.device.engine.fetchChanges()
        XCTAssertEqual(scene.device.recorder.events.first, "accountChange signIn X")
        let restarted = try TestDevice(
            "phone", database: scene.session.database(.private), disk: scene.device.disk, clock: scene.world.clock)
        try await restarted.engine.fetchChanges()
        XCTAssertFalse(restarted.recorder.events.contains { $0.hasPrefix("accountChange") })
        XCTAssertEqual(restarted.engine.state.accountUserID, "X")
    }

    func testI1_anEngineWithoutAnAccountIsDormantAndStartsWhenThereIsOne() async throws {
        let scene = try Scene(policy: .automatic, user: nil)
        XCTAssertEqual(scene.device.engine.receive(.launch), .starts)
        await scene.device.engine.waitUntilIdle()
        XCTAssertEqual(scene.device.engine.situation, .noAccount)
        XCTAssertEqual(scene.device.engine.receive(.networkBecameAvailable), .ignored(.noAccount))
        scene.device.saveZone(.notes)
        scene.device.save(Record.ID("before"))
        await scene.device.engine.waitUntilIdle()
        XCTAssertEqual(scene.device.database.requests, [])
        scene.session.signIn("X")
        XCTAssertEqual(scene.device.engine.receive(.accountChanged), .starts)
        await scene.device.engine.waitUntilIdle()
        let names = try await scene.names(of: "X")
        XCTAssertEqual(names, ["before"])
    }

    func testB83_aSwitchSendsNothingOfTheOldUserAndGivesItBackWithHim() async throws {
        let scene = try Scene(policy: .automatic)
        scene.device.saveZone(.notes)
        await scene.device.engine.waitUntilIdle()
        // The network is away while X edits.
        var plan = FaultPlan()
        plan.fail(.modifyRecords, with: .error(ChangeFeedError(.networkUnavailable, "no network")))
        scene.device.database.plan = plan
        for name in numbered("x", 0..<5) { scene.device.save(Record.ID(name)) }
        await scene.device.engine.waitUntilIdle()

        scene.session.signIn("Y")
        plan = FaultPlan()
        plan.fail(.account, number: 1, with: .error(ChangeFeedError(.networkFailure, "who knows")))
        scene.device.database.plan = plan
        scene.device.engine.receive(.accountChanged)
        for trigger in [SyncEngine.Trigger.enteredForeground, .networkBecameAvailable, .launch] {
            scene.device.engine.receive(trigger)
        }
        await scene.device.engine.waitUntilIdle()
        await scene.world.advance(by: .seconds(60), scene.device)
        XCTAssertTrue(scene.device.recorder.events.contains("accountChange switchAccounts X Y"))
        XCTAssertEqual(scene.device.engine.state.accountUserID, "Y")
        XCTAssertEqual(scene.device.engine.state.pendingRecordZoneChanges, [])
        var names = try await scene.names(of: "Y")
        XCTAssertEqual(names, [])

        scene.session.signIn("X")
        scene.device.engine.receive(.accountChanged)
        await scene.device.engine.waitUntilIdle()
        names = try await scene.names(of: "X")
        XCTAssertEqual(names, numbered("x", 0..<5))
        names = try await scene.names(of: "Y")
        XCTAssertEqual(names, [])
    }

    func testB84_AC2_changesWhileTheAppWasNotRunningAreOneAndComeBeforeAnyRequest() async throws {
        let scene = try Scene()
        scene.device.saveZone(.notes)
        scene.device.save(Record.ID("mine"))
        try await scene.device.engine.sendChanges()
        try await scene.device.engine.fetchChanges()
        scene.device.save(Record.ID("unsent"))
        try await scene.device.engine.addDurably()
        await scene.device.crash()
        scene.session.signIn("W")
        scene.session.signOut()
        scene.session.signIn("Y")

        let later = try TestDevice(
            "phone", database: scene.session.database(.private), disk: scene.device.disk, clock: scene.world.clock)
        let requestsAtChange = Locked<Int?>(nil)
        later.intercept { [database = later.database] event, _ in
            if case .accountChange = event { requestsAtChange.withLock { $0 = database.requests.count } }
        }
        try await later.engine.fetchChanges()
        try await later.engine.sendChanges()
        XCTAssertEqual(
            later.recorder.events.filter { $0.hasPrefix("accountChange") }, ["accountChange switchAccounts X Y"])
        XCTAssertEqual(requestsAtChange.withLock { $0 }, 0)
        XCTAssertTrue(later.database.requests[0].hasSuffix("since nil"), "X's token was sent under Y")
        let names = try await scene.names(of: "Y")
        XCTAssertEqual(names, [])
        await later.crash()

        scene.session.signIn("X")
        let last = try TestDevice(
            "phone", database: scene.session.database(.private), disk: later.disk, clock: scene.world.clock)
        try await last.engine.fetchChanges()
        XCTAssertFalse(last.database.requests[0].hasSuffix("since nil"), "X's state was not taken up again")
        XCTAssertEqual(last.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("unsent"))])
    }

    func testB86_aSignOutDeletesNothingAndSaysWhatIsUnsent() async throws {
        let scene = try Scene()
        scene.device.saveZone(.notes)
        try await scene.device.engine.sendChanges()
        for name in ["a", "b", "c"] { scene.device.save(Record.ID(name)) }
        scene.session.signOut()
        let unsent = Locked<Int?>(nil)
        scene.device.intercept { event, _ in
            if case .accountChange(.signOut(_, let changes)) = event {
                unsent.withLock { $0 = changes.recordZoneChanges.count }
            }
        }
        scene.device.engine.receive(.accountChanged)
        guard case .skipped(.noAccount) = try await scene.device.engine.fetchChanges() else { return XCTFail() }
        XCTAssertEqual(unsent.withLock { $0 }, 3)
        XCTAssertEqual(scene.device.userID, nil)
        XCTAssertEqual(scene.device.engine.state.pendingRecordZoneChanges, [])
        scene.session.signIn("X")
        try await scene.device.engine.sendChanges()
        XCTAssertEqual(scene.device.records.count, 3)
        let names = try await scene.names(of: "X")
        XCTAssertEqual(names, ["a", "b", "c"])
    }

    func testB86_anAccountThatIsNotReadyIsNoSignOut() async throws {
        let scene = try Scene()
        try await scene.device.engine.fetchChanges()
        scene.device.save(Record.ID("a"))
        scene.device.recorder.reset()
        for condition in [Device.Condition.temporarilyUnavailable, .restricted] {
            scene.session.setCondition(condition)
            scene.device.engine.receive(.accountChanged)
            guard case .skipped(.noAccount) = try await scene.device.engine.fetchChanges() else { return XCTFail() }
        }
        XCTAssertEqual(scene.device.recorder.events(except: "stateUpdate"), [])
        XCTAssertEqual(scene.device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("a"))])
    }

    func testAC_whatIsAddedWhileTheAppHearsOfASwitchIsTheNewUsers() async throws {
        let scene = try Scene()
        try await scene.device.engine.fetchChanges()
        scene.device.save(Record.ID("X's"))
        scene.session.signIn("Y")
        scene.device.intercept { event, context in
            guard case .accountChange(.switchAccounts(_, "Y", _)) = event else { return }
            context.state.add(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: .notes))])
            context.state.add(pendingRecordZoneChanges: [.saveRecord(Record.ID("Y's"))])
        }
        scene.device.provide { recordID in .record(Record(recordType: "Note", recordID: recordID)) }
        try await scene.device.engine.sendChanges()
        var names = try await scene.names(of: "Y")
        XCTAssertEqual(names, ["Y's"])
        scene.session.signIn("X")
        scene.device.saveZone(.notes)
        XCTAssertEqual(scene.device.engine.state.accountUserID, "Y")
        scene.device.engine.state.remove(pendingDatabaseChanges: [.saveZone(RecordZone(zoneID: .notes))])
        try await scene.device.engine.fetchChanges()
        XCTAssertEqual(scene.device.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("X's"))])
        names = try await scene.names(of: "Y")
        XCTAssertEqual(names, ["Y's"])
    }

    func testAC_aHandlerThatRefusesAChangeKeepsTheGateClosed() async throws {
        struct NotNow: Error {}
        let scene = try Scene()
        try await scene.device.engine.fetchChanges()
        scene.session.signIn("Y")
        scene.device.intercept { event, _ in if case .accountChange = event { throw NotNow() } }
        scene.device.database.reset()
        for _ in 0..<2 {
            do {
                try await scene.device.engine.fetchChanges()
                XCTFail("no error")
            } catch {
                XCTAssertEqual(error.code, .handlerFailed)
            }
        }
        XCTAssertEqual(scene.device.database.requests, [])
        scene.device.intercept(nil)
        try await scene.device.engine.fetchChanges()
        XCTAssertEqual(scene.device.recorder.events.filter { $0.hasPrefix("accountChange switch") }.count, 3)
    }

    func testAC_dataAndStateAreOfOneUserAlsoAfterACrashWithinAChange() async throws {
        let scene = try Scene(user: "X")
        try await scene.device.engine.fetchChanges()
        let device = scene.device
        device.complete { event, _ in
            if case .accountChange = event { await device.crash() }
        }
        scene.session.signIn("Y")
        _ = try? await device.engine.fetchChanges()
        // The old user is back before the app is.
        scene.session.signIn("X")
        let restarted = try TestDevice(
            "phone", database: scene.session.database(.private), disk: device.disk, clock: scene.world.clock)
        try await restarted.engine.fetchChanges()
        XCTAssertEqual(restarted.userID, "X")
        XCTAssertEqual(restarted.engine.state.accountUserID, "X")
    }

    func testB83_aRequestThatIsOvertakenByASwitchNobodyToldOfIsRefused() async throws {
        for kind in [FaultPlan.Request.modifyRecords, .modifyRecordZones, .databaseChanges, .recordZoneChanges] {
            let scene = try Scene(user: "X")
            scene.device.saveZone(.notes)
            scene.device.save(Record.ID("a"))
            try await scene.device.engine.sendChanges()
            let gate = FaultGate()
            scene.device.database.plan.fail(kind, number: 1, with: .held(gate))
            scene.device.saveZone(.other)
            scene.device.save(Record.ID("b"))
            let engine = scene.device.engine
            let call = Task {
                if kind == .modifyRecords || kind == .modifyRecordZones {
                    _ = try? await engine.sendChanges()
                } else {
                    _ = try? await engine.fetchChanges()
                }
            }
            await gate.arrival()
            scene.session.signIn("Y")
            gate.open()
            await call.value
            let names = try? await scene.names(of: "Y")
            XCTAssertEqual(names ?? [], [], "\(kind)")
            XCTAssertEqual(scene.device.userID, "X")
            try await engine.fetchChanges()
            XCTAssertEqual(scene.device.userID, "Y")
            XCTAssertEqual(scene.device.records.count, 0)
        }
    }

    func testB83_anAnswerOfTheOldUserIsDropped() async throws {
        let scene = try Scene()
        scene.device.saveZone(.notes)
        try await scene.device.engine.sendChanges()
        let gate = FaultGate()
        var plan = FaultPlan()
        plan.fail(.modifyRecords, number: 1, with: .held(gate))
        scene.device.database.plan = plan
        scene.device.save(Record.ID("a"))
        let engine = scene.device.engine
        let send = Task { try await engine.sendChanges() }
        await gate.arrival()
        scene.session.signIn("Y")
        scene.device.engine.receive(.accountChanged)
        gate.open()
        do {
            _ = try await send.value
            XCTFail("no error")
        } catch {
            XCTAssertEqual((error as? SyncEngineError)?.code, .cancelled)
        }
        try await scene.device.engine.fetchChanges()
        XCTAssertFalse(scene.device.recorder.events.contains { $0.hasPrefix("sentRecordZoneChanges") })
        XCTAssertEqual(scene.device.engine.state.accountUserID, "Y")
    }
}
