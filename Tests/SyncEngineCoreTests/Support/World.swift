import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// A server and devices of one user, under a clock that the test moves.
final class World {
    let clock = ManualClock()
    let container: Container
    let user: String

    init(user: String = "alice", limits: Limits = .cloudKit) {
        self.user = user
        let clock = clock
        let numbers = SeededNumbers(seed: 7)
        container = Container(
            identifier: "test",
            configuration: .init(limits: limits, now: { clock.date }, randomness: { numbers.next() }))
    }

    /// The database, as another device of the user sees it.
    var server: Database { container.database(.private, for: user) }

    func device(
        _ name: String = "A", disk: TestDevice.Disk = .init(), policy: SyncEngine.TriggerPolicy = .manual,
        database: (any RecordDatabase)? = nil, configure: (inout SyncEngine.Configuration) -> Void = { _ in }
    ) throws -> TestDevice {
        let session = container.device(name)
        session.signIn(user)
        return try TestDevice(
            name, database: database ?? session.database(.private), disk: disk, clock: clock, policy: policy,
            configure: configure)
    }

    /// Moves the clock and waits until the devices have done what they do by themselves.
    func advance(by duration: Duration, _ devices: TestDevice...) async {
        clock.advance(by: duration)
        for device in devices { await device.engine.waitUntilIdle() }
    }

    func makeZone(_ zoneID: RecordZone.ID = .notes, _ names: [String] = []) async throws {
        _ = try await server.modifyRecordZones(RecordZoneModifyRequest(saving: [RecordZone(zoneID: zoneID)]))
        try await write(names, in: zoneID)
    }

    /// Saves records as another device does, whatever the server has.
    @discardableResult
    func write(
        _ names: [String], in zoneID: RecordZone.ID = .notes, title: String = "from elsewhere"
    ) async throws -> [Record] {
        var saved: [Record] = []
        for start in stride(from: 0, to: names.count, by: 400) {
            let records = names[start..<min(start + 400, names.count)].map { name in
                var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
                record["title"] = title
                return record
            }
            let results = try await server.modifyRecords(RecordModifyRequest(saving: records, savePolicy: .allKeys))
            saved += try results.saves.map { try $0.result.get() }
        }
        return saved
    }

    func erase(_ names: [String], in zoneID: RecordZone.ID = .notes) async throws {
        let results = try await server.modifyRecords(
            RecordModifyRequest(deleting: names.map { .init(recordID: Record.ID(recordName: $0, zoneID: zoneID)) }))
        XCTAssertTrue(results.errors.isEmpty, "\(results.errors)")
    }

    /// What the server has in a zone, by name: the titles.
    func titles(in zoneID: RecordZone.ID = .notes) async throws -> [String: String] {
        var titles: [String: String] = [:]
        for try await page in server.recordZoneChangePages(inZoneWith: zoneID, since: nil) {
            for record in page.modifications { titles[record.recordID.recordName] = record["title"] ?? "" }
        }
        return titles
    }
}

extension RecordZone.ID {
    static let notes = RecordZone.ID(zoneName: "notes")
    static let other = RecordZone.ID(zoneName: "other")
}

extension Record.ID {
    init(_ name: String, _ zoneID: RecordZone.ID = .notes) {
        self.init(recordName: name, zoneID: zoneID)
    }
}

extension TestDevice {
    /// The titles of the records that the device has, by name.
    func titles(in zoneID: RecordZone.ID = .notes) -> [String: String] {
        var titles: [String: String] = [:]
        for (recordID, record) in records where recordID.zoneID == zoneID {
            titles[recordID.recordName] = record["title"] ?? ""
        }
        return titles
    }

    /// Calls that are expected to throw.
    @discardableResult
    func sendExpectingFailure(
        file: StaticString = #filePath, line: UInt = #line
    ) async -> SyncEngineError? {
        do {
            let outcome = try await engine.sendChanges()
            XCTFail("the send did not throw: \(outcome)", file: file, line: line)
            return nil
        } catch {
            return error
        }
    }
}

extension XCTestCase {
    func numbered(_ prefix: String, _ range: Range<Int>) -> [String] { range.map { "\(prefix)\($0)" } }
}
