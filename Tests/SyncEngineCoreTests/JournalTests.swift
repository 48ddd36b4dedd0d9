import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// The journal: why did a device not see a change?
final class JournalTests: XCTestCase {
    private final class Lines: JournalSink {
        private let lines = LockedLines()
        var text: [String] { lines.all }
        func write(_ entry: SyncEngine.JournalEntry) { lines.append("\(entry)") }
    }

    private final class LockedLines: @unchecked Sendable {
        private let lock = NSLock()
        private var lines: [String] = []
        var all: [String] { lock.withLock { lines } }
        func append(_ line: String) { lock.withLock { lines.append(line) } }
    }

    private func events(_ device: TestDevice) -> [String] { device.engine.journal.entries.map { "\($0.event)" } }

    func testReadingTheJournal_nobodyGaveAReason() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        let before = device.engine.journal.entries.count
        try await world.write(["b"])
        XCTAssertEqual(device.engine.journal.entries.count, before, "no trigger, no entry")
    }

    func testReadingTheJournal_theTriggerWasIgnoredByThePolicy() async throws {
        let world = World()
        let device = try world.device()
        device.engine.receive(.launch)
        XCTAssertEqual(events(device).last, "trigger launch while idle: ignored, policy")
    }

    func testReadingTheJournal_theServerWantedToBeLeftAlone() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device(policy: .automatic)
        device.database.plan.fail(
            .databaseChanges, number: 1,
            with: .error(ChangeFeedError(.requestRateLimited, "Slow down.", retryAfter: .seconds(30))))
        device.engine.receive(.launch)
        await device.engine.waitUntilIdle()
        device.engine.receive(.enteredForeground)
        let events = events(device)
        XCTAssertTrue(
            events.contains { $0.hasPrefix("failed: database") && $0.contains("requestRateLimited") }, "\(events)")
        XCTAssertTrue(
            try XCTUnwrap(events.last).hasPrefix("trigger enteredForeground while coolingDown: deferred for 30"),
            "\(events)")
    }

    func testReadingTheJournal_theAppRefusedThePage() async throws {
        struct DiskIsFull: Error {}
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        device.intercept { event, _ in
            if case .fetchedRecordZoneChanges = event { throw DiskIsFull() }
        }
        try await device.engine.fetchChanges()
        XCTAssertTrue(
            events(device).contains {
                $0.hasPrefix("not acknowledged fetchedRecordZoneChanges") && $0.contains("DiskIsFull")
            })
    }

    func testSinksGetEveryEntryAlsoWhatIsNoLongerKept() async throws {
        let world = World()
        try await world.makeZone(.notes, numbered("r", 0..<10))
        let lines = Lines()
        let device = try world.device { configuration in
            configuration.journalLimit = 3
            configuration.journalSinks = [lines, StandardErrorJournalSink(name: "a device of a test")]
        }
        try await device.engine.fetchChanges()
        XCTAssertEqual(device.engine.journal.entries.count, 3)
        XCTAssertGreaterThan(lines.text.count, 10)
        for (index, line) in lines.text.enumerated() {
            XCTAssertTrue(line.hasPrefix("2001-09-09T01:46:40.000Z #\(index + 1) "), line)
        }
    }

    func testWhatBelongsToAPassHasItsNumberAndWhatMerelyHappensThenHasNone() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        try await device.engine.fetchChanges()
        device.save(Record.ID("b"))
        try await device.engine.sendChanges()
        var running: Int?
        for entry in device.engine.journal.entries {
            switch entry.event {
            case .began:
                XCTAssertNil(running)
                running = try XCTUnwrap(entry.pass)
            case .created, .stopped, .triggered, .called, .dropped, .pending, .persisted, .notPersisted:
                XCTAssertNil(entry.pass, "\(entry)")
            case .ended:
                XCTAssertEqual(entry.pass, running)
                running = nil
            default: XCTAssertEqual(entry.pass, running, "\(entry)")
            }
        }
        XCTAssertNil(running)
    }

    func testB88_aHandlerThatWaitsForItsEngineInADetachedTaskIsNamedByTheJournal() async throws {
        let world = World()
        try await world.makeZone(.notes, ["a"])
        let device = try world.device()
        let gate = FaultGate()
        device.intercept { event, _ in
            if case .fetchedRecordZoneChanges = event { await gate.pass() }
        }
        let engine = device.engine
        let call = Task { try await engine.fetchChanges() }
        await gate.arrival()
        let last = try XCTUnwrap(engine.journal.entries.last)
        guard case .delivered("fetchedRecordZoneChanges", _) = last.event else { return XCTFail("\(last)") }
        gate.open()
        _ = try await call.value
    }
}
