import ChangeFeed
import XCTest

/// Many who write, listen and leave at the same time.
final class ListeningConcurrencyTests: XCTestCase {
    func testSB3_everyConsumerHearsOfTheLastWriteOfManyWriters() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        try await feed.database().save(Subscription(subscriptionID: "all", kind: .database))
        let end = try await feed.makeZone("End")
        let consumers = (0..<8).map { _ in feed.database().notifications(for: "all", bufferingLimit: 4) }
        let heard = try await withThrowingTaskGroup(of: [String].self) { group in
            for hints in consumers {
                group.addTask {
                    var heard: [String] = []
                    for await hint in hints {
                        heard.append(hint.story)
                        if hint.zoneID == end { break }
                    }
                    return heard
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { writers in
                for writer in 0..<4 {
                    writers.addTask {
                        for number in 0..<50 {
                            try await feed.database().write("w\(writer)", title: "\(number)", in: zoneID)
                        }
                    }
                }
                try await writers.waitForAll()
            }
            try await feed.database().write("end", in: end)
            return try await group.reduce(into: [[String]]()) { $0.append($1) }
        }
        XCTAssertEqual(heard.count, 8)
        for stories in heard {
            XCTAssertEqual(stories.last, "End")
            XCTAssertTrue(stories.dropLast().contains("Notes"))
        }
    }

    func testSB3_consumersComeAndGoWhileOthersWrite() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        try await feed.database().save(Subscription(subscriptionID: "all", kind: .database))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { for _ in 0..<200 { try await feed.database().write("r", in: zoneID) } }
            }
            group.addTask {
                for number in 0..<50 {
                    try await feed.database().save(
                        Subscription(
                            subscriptionID: "all", kind: .database,
                            recordType: number.isMultiple(of: 2) ? "Note" : nil))
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<50 {
                        let hints = feed.database().notifications(for: "all")
                        if number.isMultiple(of: 2) {
                            try await feed.database().write("r", in: zoneID)
                            for await _ in hints { break }
                        } else {
                            let consumer = Task { for await _ in hints { break } }
                            consumer.cancel()
                            await consumer.value
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func testSB3_aModifiedSubscriptionIsHeededByTheNextWriteHoweverManyRead() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        let noise = try await feed.makeZone("Noise")
        let done = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    // Each new listener after none is left makes the hub read the subscriptions again.
                    while !done.withLock({ $0 }) {
                        let hints = feed.database().notifications(for: "noise")
                        try await feed.database().write("n", in: noise)
                        _ = hints.takeWaiting()
                        await Task.yield()
                    }
                }
            }
            let hints = feed.database().notifications(for: "mine")
            for round in 0..<100 {
                try await feed.database().save(Subscription(subscriptionID: "mine", kind: .recordZone(zoneID)))
                try await feed.database().write("r", in: zoneID)
                XCTAssertEqual(hints.takeWaiting().count, 1, "round \(round)")
                try await feed.database().deleteSubscription(withID: "mine")
                try await feed.database().write("r", in: zoneID)
                XCTAssertEqual(hints.takeWaiting().count, 0, "round \(round)")
            }
            done.withLock { $0 = true }
            try await group.waitForAll()
        }
    }

    func test6_13_4_noWakeUpIsLostBetweenLookAndWait() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        var token = try await feed.database().latestToken()
        for round in 0..<300 {
            let since = token
            // The clock stands still: a wake-up that is lost would keep the test for ever.
            async let answer = feed.database().waitForChanges(since: since, timeout: .seconds(1))
            async let written = feed.database().write("r", title: "\(round)", in: zoneID)
            let isChanged = try await answer
            _ = try await written
            XCTAssertTrue(isChanged)
            token = try await feed.database().latestToken()
        }
        XCTAssertEqual(feed.clock.sleeperCount, 0)
        XCTAssertEqual(feed.container.hub.listenerCount, 0)
    }

    func test6_13_4_manyWaitForOneChange() async throws {
        let feed = ListeningFixture()
        let zoneID = try await feed.makeZone()
        let token = try await feed.database().latestToken()
        let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { try await feed.database().waitForChanges(since: token, timeout: .seconds(1)) }
            }
            await feed.clock.sleepers(50)
            try await feed.database().write("r", in: zoneID)
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        XCTAssertEqual(answers, Array(repeating: true, count: 50))
        XCTAssertEqual(feed.clock.sleeperCount, 0)
    }
}
