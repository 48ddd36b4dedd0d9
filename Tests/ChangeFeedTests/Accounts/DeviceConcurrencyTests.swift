import ChangeFeed
import XCTest

/// Accounts that change while requests are under way.
final class DeviceConcurrencyTests: XCTestCase {
    private let zoneID = RecordZone.ID(zoneName: "Notes")

    func testB83_noRequestOfOneUserActsOnAnothersData() async throws {
        let feed = ListeningFixture()
        let users = ["anna", "bert"]
        for user in users { try await feed.makeZone(of: user) }
        let device = feed.device("phone")
        let database = device.database(.private)
        let zoneID = zoneID
        let writersLeft = Locked(3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var round = 0
                while writersLeft.withLock({ $0 }) > 0 {
                    round += 1
                    device.signIn(users[round % 2])
                    if round.isMultiple(of: 7) { device.signOut() }
                    await Task.yield()
                }
            }
            for writer in 0..<3 {
                group.addTask {
                    var written = 0
                    while written < 100 {
                        // Who wrote a record is in its system fields; the database that it is in must be theirs.
                        if (try? await database.write("w\(writer)", in: zoneID)) != nil { written += 1 }
                        await Task.yield()
                    }
                    writersLeft.withLock { $0 -= 1 }
                }
            }
            try await group.waitForAll()
        }
        var found = 0
        for user in users {
            for writer in 0..<3 {
                let recordID = Record.ID(recordName: "w\(writer)", zoneID: zoneID)
                guard let record = try? await feed.database(of: user).record(for: recordID) else { continue }
                found += 1
                XCTAssertEqual(record.creatorUserRecordID?.recordName, user)
                XCTAssertEqual(record.lastModifiedUserRecordID?.recordName, user)
            }
        }
        XCTAssertGreaterThan(found, 0)
    }

    func test6_9a_everyObserverEndsUpAtTheLastState() async throws {
        let device = ListeningFixture().container.device("phone")
        let observers = (0..<4).map { _ in device.accountChanges }
        await withTaskGroup(of: Void.self) { group in
            for changes in observers {
                group.addTask {
                    for await account in changes where account == .available(userID: "last") { break }
                }
            }
            group.addTask {
                await withTaskGroup(of: Void.self) { changers in
                    for changer in 0..<4 {
                        changers.addTask { for round in 0..<100 { device.signIn("\(changer) \(round)") } }
                    }
                }
                device.signIn("last")
            }
        }
        XCTAssertEqual(device.account, .available(userID: "last"))
    }

    func test6_9a_noHintOfOneUserIsHeardAfterTheNextHasSignedIn() async throws {
        let feed = ListeningFixture()
        for user in ["anna", "bert"] {
            try await feed.makeZone(of: user)
            try await feed.makeZone("Of-\(user)", of: user)
            try await feed.database(of: user).save(Subscription(subscriptionID: "all", kind: .database))
        }
        let device = feed.device("phone")
        let done = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in ["anna", "bert"] {
                group.addTask {
                    let own = RecordZone.ID(zoneName: "Of-\(user)")
                    while !done.withLock({ $0 }) {
                        try await feed.database(of: user).write("r", in: own)
                        await Task.yield()
                    }
                }
            }
            for round in 0..<200 {
                let user = round.isMultiple(of: 2) ? "anna" : "bert"
                device.signIn(user)
                let hints = device.database(.private).notifications(for: "all")
                try await feed.database(of: user).write("r", in: RecordZone.ID(zoneName: "Of-\(user)"))
                XCTAssertEqual(Set(hints.takeWaiting().map(\.story)), ["Of-\(user)"])
            }
            done.withLock { $0 = true }
            try await group.waitForAll()
        }
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }
}
