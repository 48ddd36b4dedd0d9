import ChangeFeed
import XCTest

/// Waiting for changes.
final class LongPollTests: XCTestCase {
    func test6_13_4_whatIsThereAlreadyIsAnsweredAtOnce() async throws {
        let feed = ListeningFixture()
        let database = feed.database()
        let nothing = try await database.waitForChanges(since: nil, timeout: .zero)
        XCTAssertFalse(nothing)
        let zoneID = try await feed.makeZone()
        let first = try await database.waitForChanges(since: nil, timeout: .seconds(30))
        XCTAssertTrue(first)
        let token = try await database.latestToken()
        let rest = try await database.waitForChanges(since: token, timeout: .seconds(-1))
        XCTAssertFalse(rest)
        try await database.write("r", in: zoneID)
        let change = try await database.waitForChanges(since: token, timeout: .seconds(30))
        XCTAssertTrue(change)
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_13_4_aWaitWithoutEndIsNoTrap() async throws {
        // Given the system's clock, which cannot count as far
        let container = Container(identifier: "endless")
        let database = container.database(.private, for: "anna")
        for (index, timeout) in [Duration.seconds(Int64.max), .seconds(1 << 60)].enumerated() {
            let token = try await database.databaseChanges(since: nil).changeToken
            async let answer = database.waitForChanges(since: token, timeout: timeout)
            while container.hub.listenerCount == 0 { await Task.yield() }
            for _ in 0..<100 { await Task.yield() }
            try await database.save(RecordZone(zoneName: "Z\(index)"))
            let isChanged = try await answer
            XCTAssertTrue(isChanged)
        }
    }

    func test6_13_4_aChangeEndsTheWait() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        let token = try await feed.database().latestToken()
        async let answer = feed.database().waitForChanges(since: token, timeout: .seconds(30))
        await feed.clock.sleepers(1)
        try await feed.database().write("r", in: zoneID)
        let isChanged = try await answer
        XCTAssertTrue(isChanged)
        XCTAssertEqual(feed.clock.sleeperCount, 0)
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_13_4_atTheTimeoutThereIsNothing() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        try await feed.makeZone(of: "bert")
        let token = try await feed.database().latestToken()
        async let answer = feed.database().waitForChanges(since: token, timeout: .seconds(30))
        await feed.clock.sleepers(1)
        try await feed.database(of: "bert").write("r", in: zoneID)
        feed.clock.advance(by: .seconds(29))
        XCTAssertEqual(feed.clock.sleeperCount, 1)
        feed.clock.advance(by: .seconds(1))
        let isChanged = try await answer
        XCTAssertFalse(isChanged, "another user's change is none")
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_13_4_aServersOwnActEndsTheWait() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        let token = try await feed.database().latestToken()
        async let answer = feed.database().waitForChanges(since: token, timeout: .seconds(30))
        await feed.clock.sleepers(1)
        try await feed.container.purgeZone(zoneID, for: "anna")
        let isChanged = try await answer
        XCTAssertTrue(isChanged)
    }

    func test6_13_4_cancellingEndsTheWait() async throws {
        let feed = ListeningFixture()
        try await feed.makeZone()
        let token = try await feed.database().latestToken()
        let poll = Task { try await feed.database().waitForChanges(since: token, timeout: .seconds(30)) }
        await feed.clock.sleepers(1)
        poll.cancel()
        await expectError(.operationCancelled) { try await poll.value }
        XCTAssertEqual(feed.clock.sleeperCount, 0)
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_13_4_aTokenIsCheckedAsForAnyFetch() async throws {
        let feed = ListeningFixture()
        try await feed.makeZone()
        try await feed.makeZone(of: "bert")
        let foreign = try await feed.database(of: "bert").latestToken()
        await expectError(.invalidArguments, detail: .foreign, rule: "6.2") {
            try await feed.database().waitForChanges(since: foreign, timeout: .seconds(30))
        }
        await expectError(.badDatabase, rule: "FZ1") {
            try await feed.container.database(.public, for: "anna").waitForChanges(since: nil, timeout: .seconds(30))
        }
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_13_4_aTokenThatExpiresDuringTheWaitSaysSo() async throws {
        let store = InMemoryStore()
        let feed = ListeningFixture(store: store)
        try await feed.makeZone()
        try await feed.database().save(Subscription(subscriptionID: "all", kind: .database))
        let snapshot = store.snapshot()
        try await feed.makeZone("Later")
        let token = try await feed.database().latestToken()
        let hints = feed.database().notifications(for: "all")
        let poll = Task { try await feed.database().waitForChanges(since: token, timeout: .seconds(30)) }
        await feed.clock.sleepers(1)
        try await feed.container.restoreFromSnapshot(snapshot)
        await expectError(.changeTokenExpired, detail: .historyReset) { try await poll.value }
        XCTAssertEqual(hints.takeWaiting().map(\.story), ["*"])
    }

    func test6_13_4_aDeviceWaitsAsItsUser() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        let device = feed.device("phone")
        let token = try await device.database(.private).latestToken()
        async let answer = device.database(.private).waitForChanges(since: token, timeout: .seconds(30))
        await feed.clock.sleepers(1)
        try await feed.database().write("r", in: zoneID)
        let isChanged = try await answer
        XCTAssertTrue(isChanged)
    }

    func test6_9a_anAccountChangeEndsTheWait() async throws {
        let feed = ListeningFixture()
        try await feed.makeZone()
        let device = feed.device("phone")
        let token = try await device.database(.private).latestToken()
        let poll = Task {
            try await device.database(.private).waitForChanges(since: token, timeout: .seconds(30))
        }
        await feed.clock.sleepers(1)
        device.signIn("bert")
        await expectError(.notAuthenticated, rule: "6.9a") { try await poll.value }
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
        XCTAssertEqual(feed.clock.sleeperCount, 0)
    }
}
