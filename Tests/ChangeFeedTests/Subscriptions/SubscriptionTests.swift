import ChangeFeed
import XCTest

/// How subscriptions are saved, deleted and looked up.
final class SubscriptionTests: XCTestCase {
    private let everything = Subscription(subscriptionID: "all", kind: .database)

    func testSB5_aSubscriptionIsThereUntilItIsDeleted() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            let notes = Subscription(
                subscriptionID: "notes", kind: .recordZone(zoneID), recordType: "Note", excludesOriginatingDevice: true)
            let results = try await feed.database.modifySubscriptions(saving: [notes, everything])
            XCTAssertEqual(try results.saves.map { try $0.result.get() }, [notes, everything])
            XCTAssertEqual(Set(results.saveResults.keys), ["all", "notes"])

            let there = try await feed.database.allSubscriptions()
            XCTAssertEqual(there, [everything, notes])
            let found = try await feed.database.subscription(for: "notes")
            XCTAssertEqual(found, notes)

            try await feed.database.deleteSubscription(withID: "notes")
            let left = try await feed.database.allSubscriptions()
            XCTAssertEqual(left, [everything])
            await expectError(.unknownItem, rule: "SB5") { try await feed.database.subscription(for: "notes") }
        }
    }

    func testSB5_savingAgainIsFineAndTheLatestStands() async throws {
        try await forEachStore { feed in
            try await feed.database.save(everything)
            try await feed.database.save(everything)
            let narrower = Subscription(subscriptionID: "all", kind: .database, recordType: "Note")
            try await feed.database.save(narrower)
            let there = try await feed.database.allSubscriptions()
            XCTAssertEqual(there, [narrower])
        }
    }

    func testSB5_subscriptionsSurviveANewContainer() async throws {
        try await forEachStore { feed in
            let zoneID = try await feed.makeZone()
            try await feed.database.save(everything)
            let later = feed.reopened()
            let there = try await later.database.allSubscriptions()
            XCTAssertEqual(there, [everything])

            let hints = later.database.notifications(for: "all")
            try await later.save("r", in: zoneID)
            XCTAssertEqual(hints.takeWaiting().map(\.story), ["Notes"])
        }
    }

    func testSB1_theDefaultZoneHasNoSubscription() async throws {
        try await forEachStore { feed in
            let wish = Subscription(subscriptionID: "s", kind: .recordZone(.default))
            await expectError(.invalidArguments, zoneID: .default, rule: "SB1") {
                try await feed.database.save(wish)
            }
        }
    }

    func testSB1_aZoneSubscriptionNeedsItsZone() async throws {
        try await forEachStore { feed in
            let zoneID = RecordZone.ID(zoneName: "Nowhere")
            await expectError(.zoneNotFound, zoneID: zoneID, rule: "FD8") {
                try await feed.database.save(Subscription(subscriptionID: "s", kind: .recordZone(zoneID)))
            }
            let there = try await feed.database.allSubscriptions()
            XCTAssertEqual(there, [])
        }
    }

    func testSB1_thePublicDatabaseOffersNone() async throws {
        try await forEachStore { feed in
            let database = feed.container.database(.public, for: FeedFixture.userID)
            await expectError(.badDatabase, rule: "SB1") { try await database.save(everything) }
            await expectError(.badDatabase, rule: "SB1") { try await database.deleteSubscription(withID: "all") }
            await expectError(.badDatabase, rule: "SB1") { try await database.allSubscriptions() }
            var count = 0
            for await _ in database.notifications(for: "all") { count += 1 }
            XCTAssertEqual(count, 0)
        }
    }

    func testM13_eachItemHasItsOwnResult() async throws {
        try await forEachStore { feed in
            let malformed = ["", "_s", "é", String(repeating: "s", count: 256)]
            let wishes =
                malformed.map { Subscription(subscriptionID: $0, kind: .database) } + [
                    Subscription(subscriptionID: "typed", kind: .database, recordType: "1st"), everything,
                ]
            let results = try await feed.database.modifySubscriptions(
                saving: wishes, deleting: ["unknown", "_also", "other"])
            XCTAssertEqual(results.saves.map(\.subscriptionID), malformed + ["typed", "all"])
            XCTAssertEqual(results.deletions.map(\.subscriptionID), ["unknown", "_also", "other"])

            let errors = results.errors
            XCTAssertEqual(errors.count, 8)
            for id in malformed + ["_also"] {
                XCTAssertEqual(errors[id]?.code, .invalidArguments, id)
                XCTAssertEqual(errors[id]?.rule, "N1", id)
            }
            XCTAssertEqual(errors["typed"]?.rule, "N5")
            XCTAssertEqual(errors["unknown"]?.code, .unknownItem)
            XCTAssertEqual(errors["other"]?.code, .unknownItem)
            XCTAssertNil(errors["all"])
            XCTAssertEqual(results.deleteResults.count, 3)
            let there = try await feed.database.allSubscriptions()
            XCTAssertEqual(there, [everything])
        }
    }

    func testM1_aRequestNamesEachSubscriptionOnceAndIsNotEmpty() async throws {
        try await forEachStore { feed in
            await expectError(.invalidArguments, rule: "M1") {
                try await feed.database.modifySubscriptions(saving: [])
            }
            let error = await expectError(.invalidArguments, rule: "M1") {
                try await feed.database.modifySubscriptions(saving: [everything], deleting: ["all"])
            }
            XCTAssertEqual(error?.partialErrors[.subscription("all")]?.code, .invalidArguments)
            let there = try await feed.database.allSubscriptions()
            XCTAssertEqual(there, [])
        }
    }

    func testM21_aRequestHasAtMostSoManyItems() async throws {
        var limits = Limits.cloudKit
        limits.itemsPerRequest = 2
        try await forEachStore(limits: limits) { feed in
            let ids = ["a", "b", "c"]
            await expectError(.limitExceeded, rule: "M21") {
                try await feed.database.modifySubscriptions(saving: [], deleting: ids)
            }
            await expectError(.limitExceeded, rule: "M21") {
                try await feed.database.subscriptions(SubscriptionsRequest(subscriptionIDs: ids))
            }
        }
    }

    func testSB5_aLookupHasAResultForEachId() async throws {
        try await forEachStore { feed in
            try await feed.database.save(everything)
            let results = try await feed.database.subscriptions(
                SubscriptionsRequest(subscriptionIDs: ["all", "none", "all"]))
            XCTAssertEqual(results.count, 2)
            XCTAssertEqual(try results["all"]?.get(), everything)
            XCTAssertThrowsError(try results["none"]?.get())
        }
    }

    func testSB5_namesOfUsersAndSubscriptionsDoNotRunIntoEachOther() async throws {
        try await forEachStore { feed in
            let users = ["a", "a/1", "a/1/b", "1/a", ""]
            for user in users {
                let database = feed.container.database(.private, for: user)
                for id in ["s", "b/s", "1/b/s"] {
                    try await database.save(
                        Subscription(subscriptionID: id, kind: .database, recordType: "T\(user.utf8.count)"))
                }
            }
            for user in users {
                let there = try await feed.container.database(.private, for: user).allSubscriptions()
                XCTAssertEqual(there.map(\.subscriptionID), ["1/b/s", "b/s", "s"], user)
                XCTAssertEqual(Set(there.map(\.recordType)), ["T\(user.utf8.count)"], user)
            }
        }
    }

    func testSB5_aSubscriptionThatCannotBeReadSaysSo() async throws {
        try await overEveryStore {
            let store = InMemoryStore()
            let database = ListeningFixture(store: store).database()
            try await database.save(everything)
            try await store.write { (writer) throws(ChangeFeedError) in
                var key: String?
                try writer.scanMeta(of: .subscriptions, from: "") { found, _ in
                    key = found
                    return .next
                }
                try writer.setMetaValue([255, 0], for: key ?? "", of: .subscriptions)
            }
            let error = await expectError(.internalError, detail: .damaged) {
                try await database.subscription(for: "all")
            }
            XCTAssertEqual(error?.message.contains("all"), true)
            try await database.save(everything)
            let there = try await database.allSubscriptions()
            XCTAssertEqual(there, [everything])
        }
    }
}
