import ChangeFeed
import XCTest

/// A device's session: its account, and databases that follow.
final class DeviceTests: XCTestCase {
    private typealias Request = @Sendable (DeviceDatabase) async throws -> Void

    private let zoneID = RecordZone.ID(zoneName: "Notes")

    private var readings: [(name: String, request: Request)] {
        let zoneID = zoneID
        return [
            ("databaseChanges", { _ = try await $0.databaseChanges(since: nil) }),
            ("recordZoneChanges", { _ = try await $0.recordZoneChanges(inZoneWith: zoneID, since: nil) }),
            ("records", { _ = try await $0.records(for: [Record.ID(recordName: "r", zoneID: zoneID)]) }),
            ("recordZones", { _ = try await $0.allRecordZones() }),
            ("subscriptions", { _ = try await $0.allSubscriptions() }),
            ("waitForChanges", { _ = try await $0.waitForChanges(since: nil, timeout: .zero) }),
        ]
    }

    private var writings: [(name: String, request: Request)] {
        let zoneID = zoneID
        return [
            ("modifyRecords", { try await $0.write("r", in: zoneID) }),
            ("modifyRecordZones", { try await $0.save(RecordZone(zoneID: zoneID)) }),
            ("modifySubscriptions", { try await $0.save(Subscription(subscriptionID: "s", kind: .database)) }),
        ]
    }

    func test6_9a_aDeviceWithoutAUserGetsATypedError() async throws {
        let device = ListeningFixture().container.device("phone")
        for (name, request) in readings + writings {
            await expectError(.notAuthenticated, rule: "6.9a", name) { try await request(device.database(.private)) }
        }
        let account = try await device.database(.private).account()
        XCTAssertEqual(account, .none)
    }

    func test6_9a_eachStateOfTheAccountHasItsError() async throws {
        let feed = ListeningFixture()
        let device = feed.device("phone")
        let database = device.database(.private)
        try await feed.makeZone()
        let states: [(Device.Condition, Account, ChangeFeedError.Code, String)] = [
            (.temporarilyUnavailable, .temporarilyUnavailable, .accountTemporarilyUnavailable, "E4"),
            (.restricted, .restricted, .permissionFailure, "6.9a"),
        ]
        for (condition, state, code, rule) in states {
            device.setCondition(condition)
            let account = try await database.account()
            XCTAssertEqual(account, state)
            for (name, request) in readings + writings {
                await expectError(code, rule: rule, "\(condition), \(name)") { try await request(database) }
            }
            device.setCondition(.normal)
            let back = try await database.account()
            XCTAssertEqual(back, .available(userID: "anna"), "it is the same user's again")
            for (_, request) in readings + writings { try await request(database) }
        }
    }

    func test6_9a_conditionsAndUsersDoNotGetInEachOthersWay() {
        let device = ListeningFixture().container.device("phone")
        device.setCondition(.temporarilyUnavailable)
        XCTAssertEqual(device.account, .none, "an account that is not there cannot be late")
        device.signIn("anna")
        XCTAssertEqual(device.account, .temporarilyUnavailable)
        device.setCondition(.restricted)
        XCTAssertEqual(device.account, .restricted)
        device.signOut()
        XCTAssertEqual(device.account, .restricted)
        device.signIn("bert")
        device.setCondition(.normal)
        XCTAssertEqual(device.account, .available(userID: "bert"))
        XCTAssertEqual(device.account.userID, "bert")
    }

    func test6_9a_readingThePublicDatabaseNeedsNoAccount() async throws {
        let feed = ListeningFixture()
        let (author, stranger) = (feed.device("phone"), feed.container.device("kiosk"))
        let recordID = Record.ID(recordName: "r")
        try await author.database(.public).write("r", title: "for all", in: .default)
        for condition in Device.Condition.allCases {
            stranger.setCondition(condition)
            let record = try await stranger.database(.public).record(for: recordID)
            XCTAssertEqual(record["title"], "for all")
            let zones = try await stranger.database(.public).allRecordZones()
            XCTAssertEqual(zones.map(\.zoneID), [.default])
        }
        stranger.setCondition(.normal)
        await expectError(.notAuthenticated, rule: "6.9a") {
            try await stranger.database(.public).write("s", in: .default)
        }
        stranger.setCondition(.restricted)
        await expectError(.permissionFailure, rule: "6.9a") {
            try await stranger.database(.public).deleteRecord(withID: recordID)
        }
        author.setCondition(.temporarilyUnavailable)
        await expectError(.accountTemporarilyUnavailable, rule: "E4") {
            try await author.database(.public).write("r", in: .default)
        }
    }

    func test6_9a_theDatabaseFollowsTheAccountAtEachRequest() async throws {
        let feed = ListeningFixture()
        let device = feed.container.device("phone")
        let database = device.database(.private)
        for user in ["anna", "bert"] {
            device.signIn(user)
            try await feed.makeZone(of: user)
            try await database.write("r", title: user, in: zoneID)
        }
        for user in ["anna", "bert"] {
            device.signIn(user)
            let record = try await database.record(for: Record.ID(recordName: "r", zoneID: zoneID))
            XCTAssertEqual(record["title"], user)
            XCTAssertEqual(record.lastModifiedUserRecordID?.recordName, user)
        }
        device.signOut()
        await expectError(.notAuthenticated, rule: "6.9a") { try await database.allRecordZones() }
        let left = try await feed.database(of: "anna").record(for: Record.ID(recordName: "r", zoneID: zoneID))
        XCTAssertEqual(left["title"], "anna", "signing out deletes nothing")
    }

    func test6_9a_aSessionIsAnObjectOfItsOwn() {
        let container = ListeningFixture().container
        let (first, second) = (container.device("phone"), container.device("phone"))
        first.signIn("anna")
        XCTAssertEqual(first.account, .available(userID: "anna"))
        XCTAssertEqual(second.account, .none)
        XCTAssertEqual(second.deviceID, "phone")
    }

    func test6_9a_usersAreComparedByBytes() {
        let device = ListeningFixture().container.device("phone")
        device.signIn("\u{E9}")
        let changes = device.accountChanges
        device.signIn("e\u{301}")
        XCTAssertNotEqual(device.account, .available(userID: "\u{E9}"))
        XCTAssertEqual(device.account, .available(userID: "e\u{301}"))
        XCTAssertEqual(device.observerCount, 1)
        withExtendedLifetime(changes) {}
    }

    // MARK: Observing the account

    func testAC2_aSlowObserverFindsTheLatestState() async {
        let device = ListeningFixture().container.device("phone")
        let changes = device.accountChanges
        var iterator = changes.makeAsyncIterator()
        device.signIn("anna")
        let first = await iterator.next()
        XCTAssertEqual(first, .available(userID: "anna"))
        device.signOut()
        device.signIn("bert")
        device.setCondition(.restricted)
        device.setCondition(.normal)
        let second = await iterator.next()
        XCTAssertEqual(second, .available(userID: "bert"))
    }

    func test6_9a_whatChangesNothingIsNotToldOf() async {
        let device = ListeningFixture().container.device("phone")
        device.signIn("anna")
        let changes = device.accountChanges
        device.signIn("anna")
        device.setCondition(.normal)
        device.signOut()
        var iterator = changes.makeAsyncIterator()
        let first = await iterator.next()
        XCTAssertEqual(first, Account.none)
    }

    func test6_9a_severalObserveAndWhoHasGoneLeavesNothingBehind() async {
        let device = ListeningFixture().container.device("phone")
        do {
            let (first, second) = (device.accountChanges, device.accountChanges)
            XCTAssertEqual(device.observerCount, 2)
            device.signIn("anna")
            for changes in [first, second] {
                for await account in changes {
                    XCTAssertEqual(account, .available(userID: "anna"))
                    break
                }
            }
        }
        XCTAssertEqual(device.observerCount, 0)
        device.signOut()
    }

    func test6_9a_observingEndsWithTheSession() async {
        var device: Device? = ListeningFixture().container.device("phone")
        let changes = device?.accountChanges
        device = nil
        var iterator = changes?.makeAsyncIterator()
        let next = await iterator?.next()
        XCTAssertNil(next ?? nil)
    }

    // MARK: Hints

    func test6_9a_anAccountChangeEndsTheHintsAndDropsThoseThatWait() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        try await feed.database().save(Subscription(subscriptionID: "all", kind: .database))
        let changes: [(Device) -> Void] = [
            { $0.signIn("bert") }, { $0.signOut() }, { $0.setCondition(.restricted) },
            { $0.setCondition(.temporarilyUnavailable) },
        ]
        for change in changes {
            let device = feed.device("phone")
            let other = feed.device("laptop").database(.private)
            let hints = device.database(.private).notifications(for: "all")
            try await feed.database().write("r", in: zoneID)
            change(device)
            var heard: [ChangeNotification] = []
            for await hint in hints { heard.append(hint) }
            XCTAssertEqual(heard, [])
            XCTAssertEqual(feed.container.hub.listenerCount, 0)
            withExtendedLifetime(other) {}
        }
    }

    func test6_9a_withoutAUserTheHintsEndAtOnce() async {
        let feed = ListeningFixture()
        let device = feed.container.device("phone")
        var heard: [ChangeNotification] = []
        for await hint in device.database(.private).notifications(for: "all") { heard.append(hint) }
        XCTAssertEqual(heard, [])
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_9a_anotherDevicesAccountChangeIsNoConcernOfOurs() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        try await feed.database().save(Subscription(subscriptionID: "all", kind: .database))
        let (phone, laptop) = (feed.device("phone"), feed.device("laptop"))
        let hints = laptop.database(.private).notifications(for: "all")
        phone.signOut()
        try await feed.database().write("r", in: zoneID)
        XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
        withExtendedLifetime(laptop) {}
    }
}
