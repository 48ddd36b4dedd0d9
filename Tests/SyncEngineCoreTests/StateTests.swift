import ChangeFeed
import ChangeFeedTesting
import XCTest

@testable import SyncEngineCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is stored, what a crash loses, and what is refused.
final class StateTests: XCTestCase {
    func testB40_anAdditionIsVolatileUnlessItIsMadeDurable() async throws {
        let world = World()
        let store = InMemoryStateStore()
        let device = try world.device { $0.stateStore = store }
        device.engine.state.add(pendingRecordZoneChanges: [.saveRecord(Record.ID("lost"))])
        XCTAssertNil(store.serialization)
        try await device.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID("kept"))])
        await device.crash()
        let restarted = try world.device { $0.stateSerialization = store.serialization }
        XCTAssertEqual(
            restarted.engine.state.pendingRecordZoneChanges,
            [.saveRecord(Record.ID("lost")), .saveRecord(Record.ID("kept"))])
    }

    func testB40_withoutAStoreTheDelegateGetsAStateUpdate() async throws {
        let world = World()
        let device = try world.device()
        try await device.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID("kept"))])
        XCTAssertEqual(device.recorder.events, ["stateUpdate"])
        let restarted = try world.device(disk: device.disk)
        XCTAssertEqual(restarted.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("kept"))])
    }

    func testST3_underTheAutomaticPolicyAdditionsAreHandedOverAfterAShortWhile() async throws {
        let world = World()
        let device = try world.device(policy: .automatic) { $0.policy[.pendingChangesAdded] = .ignore }
        device.engine.state.add(pendingRecordZoneChanges: [.saveRecord(Record.ID("a"))])
        device.engine.state.add(pendingRecordZoneChanges: [.saveRecord(Record.ID("b"))])
        XCTAssertEqual(device.recorder.events, [])
        await world.advance(by: .milliseconds(100), device)
        XCTAssertEqual(device.recorder.events, ["stateUpdate"])
    }

    func test6_10_anAdditionIsPartOfTheCheckpointOfItsEvent() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        device.intercept { event, context in
            if case .fetchedRecordZoneChanges = event {
                context.state.add(pendingRecordZoneChanges: [.saveRecord(Record.ID("added"))])
            }
        }
        try await device.engine.fetchChanges()
        let restarted = try world.device(disk: device.disk)
        XCTAssertEqual(restarted.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("added"))])
    }

    func testIncrementsLeadToTheSameStateAsSerializations() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<20))
        let device = try world.device { $0.limits.resultsPerPage = 7 }
        let stored = Locked<SyncEngine.State.Serialization?>(nil)
        let problems = EventRecorderOfNames()
        @Sendable func store(_ checkpoint: SyncEngine.Checkpoint) {
            let increment = checkpoint.increment
            stored.withLock { stored in
                var next = stored ?? .empty
                do { try next.apply(increment) } catch { problems.note("\(error)") }
                stored = next
            }
        }
        device.intercept { event, context in
            switch event {
            case .accountChange: stored.withLock { $0 = context.state.serialization }
            case .fetchedDatabaseChanges(let changes): store(changes.checkpoint)
            case .fetchedRecordZoneChanges(let changes): store(changes.checkpoint)
            case .sentRecordZoneChanges(let sent): store(sent.checkpoint)
            case .sentDatabaseChanges(let sent): store(sent.checkpoint)
            case .stateUpdate(let update): store(update.checkpoint)
            default: break
            }
        }
        try await device.engine.fetchChanges()
        device.save(Record.ID("new")) { $0["title"] = "n" }
        try await device.engine.sendChanges()
        device.save(Record.ID("later"))
        try await device.engine.addDurably()
        XCTAssertEqual(problems.names, [])
        let fromIncrements = try XCTUnwrap(stored.withLock { $0 }).durableState().steps
        XCTAssertEqual(fromIncrements, try device.engine.state.serialization.durableState().steps)
    }

    func testB15_twoEnginesFromOneStateDoNotOverwriteEachOther() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let store = InMemoryStateStore()
        let first = try world.device { $0.stateStore = store }
        try await first.engine.fetchChanges()
        await first.crash()
        let (one, two) = (
            try world.device("one") {
                $0.stateStore = store; $0.stateSerialization = store.serialization
            },
            try world.device("two") {
                $0.stateStore = store; $0.stateSerialization = store.serialization
            }
        )
        try await one.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID("one"))])
        do {
            try await two.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID("two"))])
            XCTFail("no error")
        } catch {
            XCTAssertEqual(error.code, .staleState)
        }
        // What an app stores itself is checked the same way.
        let (a, b) = (one.engine.state.serialization, two.engine.state.serialization)
        XCTAssertFalse(a.stamp.supersedes(b.stamp))
        XCTAssertFalse(b.stamp.supersedes(a.stamp))
        XCTAssertTrue(one.engine.state.serialization.stamp.supersedes(a.stamp))
    }

    func test6_10_theDecoderIsTotal() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.save(Record.ID("pending"))
        let data = device.engine.state.serialization.data
        XCTAssertEqual(try SyncEngine.State.Serialization(data: data).data, data)
        for length in 0..<data.count {
            XCTAssertThrowsError(try SyncEngine.State.Serialization(data: data.prefix(length)))
        }
        let numbers = SeededNumbers(seed: 1)
        for _ in 0..<2_000 {
            var damaged = [UInt8](data)
            damaged[Int(numbers.next() % UInt64(damaged.count))] ^= 1 << (numbers.next() % 8)
            XCTAssertThrowsError(try SyncEngine.State.Serialization(data: Data(damaged))) { error in
                XCTAssertEqual((error as? SyncEngineError)?.code, .damagedState)
            }
        }
        // Also with a check value that is right: no bytes trap.
        for _ in 0..<20_000 {
            var steps = Array([UInt8](data)[45..<data.count - 8])
            for _ in 0...(numbers.next() % 4) {
                steps[Int(numbers.next() % UInt64(steps.count))] = UInt8(truncatingIfNeeded: numbers.next())
            }
            let forged = StateArchive.encode(
                .full, stamp: device.engine.state.serialization.stamp, base: 0, steps: steps)
            _ = try? SyncEngine.State.Serialization(data: forged)
        }
    }

    func testAnyCoderTakesASerialization() async throws {
        let world = World()
        let device = try world.device()
        device.save(Record.ID("pending"))
        let serialization = device.engine.state.serialization
        let json = try JSONEncoder().encode([serialization])
        XCTAssertEqual(try JSONDecoder().decode([SyncEngine.State.Serialization].self, from: json), [serialization])
    }

    func testB84_aStateOfAnotherStoreKeepsWhatIsPendingAndReadsEverythingAnew() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a", "b"])
        let device = try world.device { $0.storeIdentifier = "one" }
        try await device.engine.fetchChanges()
        device.save(Record.ID("pending"))
        let state = device.engine.state.serialization
        let other = World()
        try await other.makeZone(.notes, ["a"])
        var disk = device.disk
        disk.serialization = state
        let moved = try other.device(disk: disk) { $0.storeIdentifier = "two" }
        try await moved.engine.fetchChanges()
        XCTAssertEqual(moved.titles().keys.sorted(), ["a", "pending"])
        XCTAssertEqual(moved.engine.state.pendingRecordZoneChanges, [.saveRecord(Record.ID("pending"))])
    }

    func testB75_aFeedThatWasReplacedByAnEmptyOneDeliversNoDeletionsButAResync() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        let empty = World()
        try await empty.makeZone(.notes, [])
        let moved = try empty.device(disk: device.disk)
        try await moved.engine.fetchChanges()
        XCTAssertFalse(moved.recorder.events.contains { $0.contains("+1-") })
        XCTAssertTrue(moved.recorder.events.contains("didFetchRecordZoneChanges notes resync"))
        XCTAssertEqual(moved.titles(), [:])
    }

    // MARK: The file

    private func temporaryPath() -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "state-\(UInt64.random(in: 0...UInt64.max))")
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
        return folder.appendingPathComponent("engine").path
    }

    func testFileStateStoreKeepsWhatItWasGivenAndIsOneEngines() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<10))
        let path = temporaryPath()
        do {
            let store = try FileStateStore(path: path)
            XCTAssertThrowsError(try FileStateStore(path: path)) { error in
                XCTAssertEqual((error as? SyncEngineError)?.code, .stateInUse)
            }
            let device = try world.device { $0.stateStore = store }
            try await device.engine.fetchChanges()
            for name in numbered("p", 0..<100) {
                try await device.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID(name))])
            }
            await device.crash()
            store.close()
        }
        let store = try FileStateStore(path: path)
        let loaded = try store.load()
        let restarted = try world.device {
            $0.stateStore = store; $0.stateSerialization = loaded
        }
        XCTAssertEqual(restarted.engine.state.pendingRecordZoneChangeCount, 100)
        let summary = try await restarted.engine.fetchChanges().summary
        XCTAssertEqual(summary?.recordCount, 0)
    }

    func testFileStateStoreReadsAJournalThatWasCutAnywhereUpToTheCut() async throws {
        let world = World()
        let path = temporaryPath()
        var counts: [Int] = []
        var sizes: [Int] = []
        do {
            let store = try FileStateStore(path: path)
            let device = try world.device { $0.stateStore = store }
            for number in 0..<12 {
                try await device.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID("p\(number)"))])
                counts.append(number + 1)
                sizes.append((try? Data(contentsOf: URL(fileURLWithPath: path + "-journal")).count) ?? 0)
            }
            await device.crash()
            store.close()
        }
        let (file, journal) = (
            try Data(contentsOf: URL(fileURLWithPath: path)),
            try Data(contentsOf: URL(fileURLWithPath: path + "-journal"))
        )
        for cut in 0...journal.count {
            let copy = temporaryPath()
            try file.write(to: URL(fileURLWithPath: copy))
            try journal.prefix(cut).write(to: URL(fileURLWithPath: copy + "-journal"))
            let expected = Array(zip(counts, sizes)).last { $0.1 <= cut }?.0 ?? 1
            let state = try XCTUnwrap(try FileStateStore(path: copy).load()).durableState()
            XCTAssertEqual(state.session.records.count, expected, "cut at \(cut)")
        }
    }

    func testFileStateStoreRefusesWhatIsNoState() throws {
        let path = temporaryPath()
        try Data("something else".utf8).write(to: URL(fileURLWithPath: path))
        XCTAssertThrowsError(try FileStateStore(path: path)) { error in
            XCTAssertEqual((error as? SyncEngineError)?.code, .damagedState)
        }
        XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: path)), Data("something else".utf8))
    }

    func testST5_oneAdditionIsStoredInTheSameBytesHoweverManyArePending() async throws {
        let world = World()
        var sizes: [Int] = []
        for count in [10, 10_000] {
            let store = InMemoryStateStore()
            let device = try world.device { $0.stateStore = store }
            try await device.engine.addDurably(
                pendingRecordZoneChanges: numbered("r", 0..<count).map { .saveRecord(Record.ID($0)) })
            let before = store.byteCount
            try await device.engine.addDurably(pendingRecordZoneChanges: [.saveRecord(Record.ID("one more"))])
            sizes.append(store.byteCount - before)
        }
        XCTAssertLessThanOrEqual(abs(sizes[1] - sizes[0]), 4, "\(sizes)")
        XCTAssertLessThan(sizes[1], 200)
    }

    func testAStoppedEngineLetsItsDelegateGo() async throws {
        final class Delegate: SyncEngineDelegate {
            func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async {}
            func nextRecordZoneChangeBatch(
                _ context: SyncEngine.SendChangesContext
            ) async -> SyncEngine.RecordZoneChangeBatch? { nil }
        }
        let world = World()
        weak var weakDelegate: Delegate?
        let engine: SyncEngine
        do {
            let delegate = Delegate()
            weakDelegate = delegate
            engine = try SyncEngine(
                SyncEngine.Configuration(database: world.server, stateSerialization: nil, delegate: delegate))
        }
        try await engine.fetchChanges()
        XCTAssertNotNil(weakDelegate)
        try await engine.stop()
        for _ in 0..<1_000 where weakDelegate != nil { await Task.yield() }
        XCTAssertNil(weakDelegate)
    }

    // MARK: Crashes

    func test46_aCrashAtEveryEventAndPageLosesNothing() async throws {
        for seed in UInt64(1)...4 {
            var crashAt = 1
            while true {
                let world = World()
                try await world.makeZone(.notes, numbered("r", 0..<9))
                try await world.makeZone(.other, numbered("o", 0..<3))
                let script = SeededNumbers(seed: seed)
                let countdown = Countdown(from: crashAt)
                struct Crash: Error {}
                func configure(_ configuration: inout SyncEngine.Configuration) {
                    configuration.limits.resultsPerPage = 2
                    configuration.limits.items = 2
                }
                var device = try world.device(configure: configure)
                var expected: [String: String] = [:]
                for name in numbered("new", 0..<5) {
                    let title = "\(script.next() % 100)"
                    expected[name] = title
                    device.save(Record.ID(name)) { $0["title"] = title }
                }
                try await device.engine.addDurably()
                // From the countdown's end on no handler stores anything any more, as if the process had ended.
                device.intercept { _, _ in
                    if countdown.next() == nil { throw Crash() }
                }
                _ = try? await device.engine.fetchChanges()
                _ = try? await device.engine.sendChanges()
                let hasCrashed = countdown.next() == nil
                await device.crash()
                device = try world.device(disk: device.disk, configure: configure)
                try await device.engine.fetchChanges()
                try await device.engine.sendChanges()
                try await device.engine.fetchChanges()
                let titles = try await world.titles()
                for (name, title) in expected {
                    XCTAssertEqual(titles[name], title, "crash at \(crashAt), seed \(seed)")
                }
                XCTAssertEqual(device.titles(), titles, "crash at event \(crashAt), seed \(seed)")
                XCTAssertEqual(device.titles(in: .other).count, 3)
                XCTAssertFalse(device.engine.state.needsSend)
                await device.crash()
                if !hasCrashed { break }
                crashAt += 1
            }
            XCTAssertGreaterThan(crashAt, 15)
        }
    }
}

extension DurableState {
    /// The steps that make the state, to be compared.
    var steps: [StateChange] {
        var steps: [StateChange] = []
        forEachStep { steps.append($0) }
        return steps
    }
}
