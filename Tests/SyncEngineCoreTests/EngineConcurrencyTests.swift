import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// An engine that is used from many tasks at once.
final class EngineConcurrencyTests: XCTestCase {
    /// Fetches, sends, triggers, additions, cancellations and looks at the state, all at the same time; afterwards
    /// two devices and the server agree, and the journal has every number once.
    func testManyTasksUseOneEngine() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<60))
        let device = try world.device("A", policy: .automatic)
        let other = try world.device("B", policy: .automatic)
        device.intercept { _, context in
            // Handlers look at the engine and change what is pending while others do.
            _ = context.state.pendingRecordZoneChanges
            await Task.yield()
        }

        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for step in 0..<12 {
                        device.save(Record.ID("w\(worker)-\(step)")) { $0["title"] = "from A" }
                        other.save(Record.ID("r\(worker * 12 + step)")) { $0["title"] = "from B" }
                        if step % 3 == 0 { _ = try? await device.engine.fetchChanges() }
                        if step % 4 == 1 { _ = try? await other.engine.sendChanges() }
                        await Task.yield()
                    }
                }
                group.addTask {
                    for _ in 0..<12 {
                        _ = try? await device.engine.sendChanges()
                        device.engine.receive(.enteredForeground)
                        other.engine.receive(.launch)
                        _ = device.engine.state.serialization
                        _ = (device.engine.situation, device.engine.nextWakeUp, device.engine.journal.entries.count)
                    }
                }
            }
            group.addTask {
                for _ in 0..<5 {
                    let call = Task { try await device.engine.fetchChanges() }
                    await Task.yield()
                    call.cancel()
                    _ = try? await call.value
                    try? await other.engine.cancelOperations()
                }
            }
        }

        for device in [device, other, device] {
            device.engine.receive(.enteredForeground)
            await world.advance(by: .seconds(1), device)
            try await device.engine.sendChanges()
            try await device.engine.fetchChanges()
        }
        let titles = try await world.titles()
        XCTAssertEqual(titles.count, 60 + 48)
        XCTAssertEqual(device.titles(), titles)
        try await other.engine.fetchChanges()
        XCTAssertEqual(other.titles(), titles)
        XCTAssertEqual(device.engine.state.pendingRecordZoneChanges, [])
        let numbers = device.engine.journal.entries.map(\.number)
        XCTAssertEqual(numbers, Array(numbers[0]..<(numbers[0] + numbers.count)))
    }

    /// An engine that is stopped, and one that is released, while it is used: every caller gets an answer.
    func testEveryCallerIsAnsweredWhenAnEngineIsStopped() async throws {
        for round in 0..<10 {
            let world = World()
            try await world.makeZone(.notes, numbered("r", 0..<30))
            let device = try world.device(policy: .automatic)
            let engine = device.engine
            await withTaskGroup(of: Void.self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        device.save(Record.ID("w\(worker)"))
                        _ = try? await engine.fetchChanges()
                        _ = try? await engine.sendChanges()
                    }
                }
                group.addTask {
                    for _ in 0..<round { await Task.yield() }
                    try? await engine.stop()
                }
            }
            XCTAssertEqual(engine.situation, .stopped)
        }
    }

    /// Additions that are made durable by many tasks at once are all in the store.
    func testDurableAdditionsOfManyTasksAreAllStored() async throws {
        let world = World()
        let store = InMemoryStateStore()
        let device = try world.device { $0.stateStore = store }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<20 {
                        try await device.engine.addDurably(
                            pendingRecordZoneChanges: [.saveRecord(Record.ID("w\(worker)-\(step)"))])
                    }
                }
            }
            try await group.waitForAll()
        }
        let restored = try world.device("B") { $0.stateSerialization = try? store.load() }
        XCTAssertEqual(restored.engine.state.pendingRecordZoneChangeCount, 160)
    }
}
