import ChangeFeed
import ChangeFeedTesting
import SyncEngineCore
import XCTest

/// The kit: hints on their way, and the example of the landing page.
final class KitTests: XCTestCase {
    private let zoneID = RecordZone.ID(zoneName: "notes")

    private func hint(_ name: String) -> ChangeNotification {
        ChangeNotification(
            notificationID: name, subscriptionID: "all", databaseScope: .private, zoneID: zoneID, kind: .database,
            isPruned: false)
    }

    func testHintsAreLostDoubledDelayedAndReordered() {
        let channel = PushChannel()
        XCTAssertFalse(channel.drop())
        for name in ["a", "b", "c"] { channel.push(hint(name)) }
        func names() -> [String] { channel.waiting.map(\.notificationID) }
        channel.duplicate()
        XCTAssertEqual(names(), ["a", "a", "b", "c"])
        XCTAssertTrue(channel.drop())
        channel.delay(behind: 1)
        XCTAssertEqual(names(), ["b", "a", "c"])
        channel.delay(behind: 9)
        XCTAssertEqual(names(), ["a", "c", "b"])
        channel.reverse()
        XCTAssertEqual(names(), ["b", "c", "a"])
    }

    func testHintsOfASubscriptionReachAnEngineWhenTheTestSaysSo() async throws {
        let clock = ManualClock()
        let container = Container(identifier: "test", configuration: .init(now: { clock.date }))
        let session = container.device("phone")
        session.signIn("ada")
        let database = session.database(.private)
        _ = try await database.modifySubscriptions(
            SubscriptionModifyRequest(saving: [Subscription(subscriptionID: "all", kind: .database)]))
        let phone = try TestDevice("phone", database: database, clock: clock, policy: .automatic)
        try await phone.engine.fetchChanges()
        let channel = PushChannel(database.notifications(for: "all"))
        let server = container.database(.private, for: "ada")
        try await server.save(RecordZone(zoneID: zoneID))
        try await server.save(Record(recordType: "Note", recordID: Record.ID(recordName: "n", zoneID: zoneID)))
        XCTAssertFalse(channel.waiting.isEmpty)
        XCTAssertEqual(phone.records.count, 0)
        XCTAssertEqual(channel.deliver(to: phone.engine), .starts)
        while channel.drop() {}
        XCTAssertNil(channel.deliver(to: phone.engine))
        clock.advance(by: .seconds(1))
        try await phone.engine.fetchChanges()
        XCTAssertEqual(phone.records.count, 1)
        XCTAssertTrue(channel.deliverAll(to: phone.engine).isEmpty)
    }

    func testTheExampleOfTheLandingPage() async throws {
        let zoneID = zoneID
        let clock = ManualClock()
        let container = Container(identifier: "test", configuration: .init(now: { clock.date }))
        let session = container.device("phone")
        session.signIn("ada")
        let phone = try TestDevice("phone", database: session.database(.private), clock: clock)
        phone.database.plan.fail(
            .modifyRecords, number: 1, with: .lostAnswer(ChangeFeedError(.serverResponseLost, "gone")))
        phone.saveZone(zoneID)
        phone.save(Record.ID(recordName: "note", zoneID: zoneID)) { $0["title"] = "Sketch" }
        try await phone.engine.sendChanges()
        XCTAssertEqual(phone.engine.state.pendingRecordZoneChanges, [])
    }
}
