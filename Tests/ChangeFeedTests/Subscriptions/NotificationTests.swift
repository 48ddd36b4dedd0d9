import ChangeFeed
import XCTest

/// Who is told of what.
final class NotificationTests: XCTestCase {
    private let everything = Subscription(subscriptionID: "all", kind: .database)

    func testSB3_aHintIsThereWhenTheWriteHasReturned() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            try await feed.database.save(everything)
            let hints = feed.database.notifications(for: "all")
            try await feed.save("a", "b", in: zoneID)

            let waiting = hints.takeWaiting()
            XCTAssertEqual(waiting.count, 1)
            XCTAssertEqual(waiting.first?.subscriptionID, "all")
            XCTAssertEqual(waiting.first?.databaseScope, .private)
            XCTAssertEqual(waiting.first?.zoneID, zoneID)
            XCTAssertEqual(waiting.first?.kind, .database)
            XCTAssertEqual(waiting.first?.isPruned, false)
            XCTAssertEqual(waiting.first?.notificationID.count, 32)

            try await feed.delete("a", in: zoneID)
            var iterator = hints.makeAsyncIterator()
            let next = await iterator.next()
            XCTAssertEqual(next?.story, "Notes")
            XCTAssertNotEqual(next?.notificationID, waiting.first?.notificationID)
        }
    }

    func testSB3_whatWroteNothingIsNotToldOf() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            try await feed.database.save(everything)
            let hints = feed.database.notifications(for: "all")
            try await feed.makeZone()
            try await feed.delete("absent", in: zoneID)
            let malformed = Record(recordType: "1", recordID: .init(zoneID: zoneID))
            _ = try await feed.database.modifyRecords(saving: [malformed])
            XCTAssertEqual(hints.takeWaiting(), [])
        }
    }

    func testSB1_aDatabaseSubscriptionLeavesOutTheDefaultZone() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            try await feed.database.save(everything)
            let hints = feed.database.notifications(for: "all")
            try await feed.save("r", in: .default)
            XCTAssertEqual(hints.takeWaiting(), [])
            try await feed.save("r", in: zoneID)
            try await feed.makeZone("Other")
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes", "Other"])
        }
    }

    func testSB1_aZoneSubscriptionMeansItsZoneAlone() async throws {
        try await forEachStore { feed in
            let notes = try await feed.makeZone("Notes")
            let other = try await feed.makeZone("Other")
            try await feed.database.save(Subscription(subscriptionID: "notes", kind: .recordZone(notes)))
            let hints = feed.database.notifications(for: "notes")
            try await feed.save("r", in: other)
            XCTAssertEqual(hints.takeWaiting(), [])
            try await feed.save("r", in: notes)
            let waiting = hints.takeWaiting()
            XCTAssertEqual(waiting.map(\.zoneID), [notes])
            XCTAssertEqual(waiting.map(\.kind), [.recordZone])
        }
    }

    func testSB1_aRecordTypeFilterHearsOfThatTypeAndOfWholeZones() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            try await feed.database.save(Subscription(subscriptionID: "tasks", kind: .database, recordType: "Task"))
            let hints = feed.database.notifications(for: "tasks")
            try await feed.save("n", type: "Note", in: zoneID)
            XCTAssertEqual(hints.takeWaiting(), [])
            try await feed.save("t", type: "Task", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
            try await feed.delete("n", in: zoneID)
            XCTAssertEqual(hints.takeWaiting(), [])
            try await feed.delete("t", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
            try await feed.deleteZone(zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
        }
    }

    func testSB3_whatAServerDoesByItselfIsToldOf() async throws {
        try await forEachStore { feed in
            let names = ["Purged", "Reset", "Deleted"]
            var zoneIDs: [RecordZone.ID] = []
            for name in names { zoneIDs.append(try await feed.makeZone(name)) }
            try await feed.database.save(everything)
            try await feed.database.save(Subscription(subscriptionID: "purged", kind: .recordZone(zoneIDs[0])))
            let all = feed.database.notifications(for: "all")
            let one = feed.database.notifications(for: "purged")
            try await feed.container.purgeZone(zoneIDs[0], for: FeedFixture.userID)
            try await feed.container.resetEncryptedData(inZoneWith: zoneIDs[1], for: FeedFixture.userID)
            try await feed.deleteZone(zoneIDs[2])
            XCTAssertEqual(all.takeWaiting().map(\.story), names)
            XCTAssertEqual(one.takeWaiting().map(\.story), ["Purged"])

            try await feed.makeZone("Purged")
            XCTAssertEqual(one.takeWaiting().map(\.story), ["Purged"])
        }
    }

    func testSB3_theOriginatingDeviceIsLeftOutOnRequest() async throws {
        try await overEveryStore {
            let feed = ListeningFixture()
            let zoneID = try await feed.makeZone()
            let (phone, laptop) = (feed.device("phone"), feed.device("laptop"))
            let writer = phone.database(.private)
            for excludes in [false, true] {
                try await writer.save(
                    Subscription(subscriptionID: "all", kind: .database, excludesOriginatingDevice: excludes))
                let own = writer.notifications(for: "all")
                let others = laptop.database(.private).notifications(for: "all")
                let nobodys = feed.database().notifications(for: "all")
                try await writer.write("r", in: zoneID)
                XCTAssertEqual(own.takeWaiting().map(\.story), excludes ? [] : ["Notes"])
                XCTAssertEqual(others.takeWaiting().map(\.story), ["Notes"])
                XCTAssertEqual(nobodys.takeWaiting().map(\.story), ["Notes"])
                try await feed.database().write("r", in: zoneID)
                XCTAssertEqual(own.takeWaiting().map(\.story), ["Notes"])
            }
        }
    }

    func testSB3_subscriptionsThatChangeAreHeededAtOnce() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            let hints = feed.database.notifications(for: "s")
            try await feed.save("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting(), [], "it is not there yet")
            try await feed.database.save(Subscription(subscriptionID: "s", kind: .database))
            try await feed.save("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().count, 1)
            try await feed.database.save(Subscription(subscriptionID: "s", kind: .database, recordType: "Task"))
            try await feed.save("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting(), [], "another type is asked for")
            try await feed.database.deleteSubscription(withID: "s")
            try await feed.save("t", type: "Task", in: zoneID)
            XCTAssertEqual(hints.takeWaiting(), [], "it is deleted")
        }
    }

    func testSB3_severalConsumersGetAllHintsAndDoNotDisturbEachOther() async throws {
        try await forEachStore { feed in
            try await feed.database.save(everything)
            let quick = feed.database.notifications(for: "all")
            let slow = feed.database.notifications(for: "all")
            let narrow = feed.database.notifications(for: "all", bufferingLimit: 2)
            var heard: [ChangeNotification] = []
            for name in ["A", "B", "C"] {
                try await feed.makeZone(name)
                heard += quick.takeWaiting()
            }
            XCTAssertEqual(heard.map(\.story), ["A", "B", "C"])
            XCTAssertEqual(slow.takeWaiting(), heard, "one hint is the same for all")
            XCTAssertEqual(narrow.takeWaiting().map(\.story), ["*"])
        }
    }

    func testSB3_aConsumerThatHasGoneLeavesNothingBehind() async throws {
        try await overEveryStore {
            let feed = ListeningFixture()
            let zoneID = try await feed.makeZone()
            try await feed.database().save(everything)
            do {
                let hints = feed.database().notifications(for: "all")
                XCTAssertEqual(feed.container.hub.listenerCount, 1)
                try await feed.database().write("r", in: zoneID)
                for await hint in hints {
                    XCTAssertEqual(hint.story, "Notes")
                    break
                }
            }
            XCTAssertEqual(feed.container.hub.listenerCount, 0)
            try await feed.database().write("r", in: zoneID)
        }
    }

    func testSB3_aCancelledConsumerLeavesNothingBehind() async throws {
        try await overEveryStore {
            let feed = ListeningFixture()
            let zoneID = try await feed.makeZone()
            try await feed.database().save(everything)
            let hints = feed.database().notifications(for: "all")
            let (heard, hearing) = AsyncStream<String>.makeStream()
            let consumer = Task {
                for await hint in hints { hearing.yield(hint.story) }
                return "ended"
            }
            try await feed.database().write("r", in: zoneID)
            var iterator = heard.makeAsyncIterator()
            let first = await iterator.next()
            XCTAssertEqual(first, "Notes")
            consumer.cancel()
            let end = await consumer.value
            XCTAssertEqual(end, "ended")
            XCTAssertEqual(feed.container.hub.listenerCount, 0, "although the sequence is still held")
            try await feed.database().write("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting(), [])
        }
    }

    func testSB3_aConsumerEndsWithItsServer() async {
        var feed: ListeningFixture? = ListeningFixture()
        let hints = feed?.database().notifications(for: "all")
        feed = nil
        var iterator = hints?.makeAsyncIterator()
        let next = await iterator?.next()
        XCTAssertNil(next ?? nil)
    }

    func testSB3_aHintTooManyWhereSubscriptionsCannotBeRead() async throws {
        try await overEveryStore {
            let store = FailingStore()
            let feed = ListeningFixture(store: store)
            let zoneID = try await feed.makeZone()
            try await feed.database().save(everything)
            let hints = feed.database().notifications(for: "all")
            store.failsReads.withLock { $0 = true }
            try await feed.database().write("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["*"], "the write has succeeded, and is told of")
            store.failsReads.withLock { $0 = false }
            try await feed.database().write("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
        }
    }

    func testSB3_subscriptionsAreReadOnceForManyWrites() async throws {
        try await overEveryStore {
            let store = FailingStore()
            let feed = ListeningFixture(store: store)
            let zoneID = try await feed.makeZone()
            try await feed.database().save(everything)
            let hints = feed.database().notifications(for: "all")
            try await feed.database().write("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
            store.failsReads.withLock { $0 = true }
            for _ in 0..<10 { try await feed.database().write("r", in: zoneID) }
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"], "none of them had to read")
        }
    }
}
