import ChangeFeed
import XCTest

/// For every method of the port: what one user asks for, with whatever names and tokens, is never another's.
///
/// Anna and Bert have a zone, a record and a subscription of the same names, with other contents; Anna's are reached
/// for by Bert with equal ids, with ids that name her as the owner, and with her tokens, records and change tags.
final class UserIsolationTests: XCTestCase {
    private let zoneID = RecordZone.ID(zoneName: "Notes")
    private let annasZoneID = RecordZone.ID(zoneName: "Notes", ownerName: "anna")

    /// All that a user can see of what is theirs, in words.
    private func everything(of userID: String, in feed: FeedFixture) async throws -> [String] {
        let database = feed.container.database(.private, for: userID)
        var story: [String] = []
        for zone in try await database.allRecordZones() {
            story.append("zone \(zone.zoneID) \(zone.creationDate?.timeIntervalSinceReferenceDate ?? 0)")
        }
        for try await page in database.databaseChangePages(since: nil) {
            story += page.story + ["token \(page.changeToken)"]
        }
        for try await page in database.recordZoneChangePages(inZoneWith: zoneID, since: nil) {
            story += page.changes.map { change in
                guard case .modified(let record) = change else { return "other" }
                return "\(record.recordID) \(record["title"] ?? "") \(record.recordChangeTag ?? "")"
            }
            story.append("token \(page.changeToken)")
        }
        story += try await database.allSubscriptions().map { "\($0)" }
        return story
    }

    /// Tells Bert's story against Anna's data, which must be the same afterwards and nowhere in what Bert sees.
    private func whileAnnaIsUntouched(
        _ story: (_ bert: Database, _ feed: FeedFixture) async throws -> Void
    ) async throws {
        try await forEachStore { feed in
            for user in ["anna", "bert"] {
                let database = feed.container.database(.private, for: user)
                try await database.save(RecordZone(zoneID: zoneID))
                try await database.save(RecordZone(zoneName: "Only-\(user)"))
                try await database.write("r", title: "of \(user)", in: zoneID)
                try await database.write("only-\(user)", title: "of \(user)", in: zoneID)
                try await database.save(
                    Subscription(subscriptionID: "s", kind: .recordZone(zoneID), recordType: "Of\(user)"))
                try await database.save(Subscription(subscriptionID: "only-\(user)", kind: .database))
            }
            let anna = feed.container.database(.private, for: "anna")
            let before = try await everything(of: "anna", in: feed)
            let token = try await anna.latestToken()
            let hints = anna.notifications(for: "only-anna")

            try await story(feed.container.database(.private, for: "bert"), feed)

            let after = try await everything(of: "anna", in: feed)
            XCTAssertEqual(after, before)
            XCTAssertEqual(hints.takeWaiting(), [])
            let isChanged = try await anna.waitForChanges(since: token, timeout: .zero)
            XCTAssertFalse(isChanged)
            let berts = try await everything(of: "bert", in: feed)
            for secret in ["of anna", "Only-anna", "Ofanna"] {
                XCTAssertTrue(before.contains { $0.contains(secret) })
                XCTAssertFalse(berts.contains { $0.contains(secret) })
            }
        }
    }

    func test6_9a_databaseChangesAreTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, feed in
                let token = try await feed.container.database(.private, for: "anna").latestToken()
                await expectError(.invalidArguments, detail: .foreign, rule: "6.2") {
                    try await bert.databaseChanges(since: token)
                }
                await expectError(.invalidArguments, detail: .foreign, rule: "6.2") {
                    try await bert.waitForChanges(since: token, timeout: .zero)
                }
                let page = try await bert.databaseChanges(since: nil)
                XCTAssertEqual(Set(page.story), ["+Notes", "+Only-bert"])
            }
        }
    }

    func test6_9a_zoneChangesAreTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, feed in
                let anna = feed.container.database(.private, for: "anna")
                let token = try await anna.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
                await expectError(.invalidArguments, detail: .foreign, zoneID: zoneID, rule: "6.2") {
                    try await bert.recordZoneChanges(inZoneWith: zoneID, since: token)
                }
                await expectError(.zoneNotFound, zoneID: annasZoneID, rule: "FD8") {
                    try await bert.recordZoneChanges(inZoneWith: annasZoneID, since: nil)
                }
                let page = try await bert.recordZoneChanges(inZoneWith: zoneID, since: nil)
                XCTAssertEqual(page.story, ["+r", "+only-bert"])
                for record in page.modifications { XCTAssertEqual(record["title"], "of bert") }
            }
        }
    }

    func test6_9a_recordsAreWrittenToTheUsersOwnZones() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, feed in
                let anna = feed.container.database(.private, for: "anna")
                let (shared, hers) = (
                    Record.ID(recordName: "r", zoneID: zoneID), Record.ID(recordName: "only-anna", zoneID: zoneID)
                )
                // Her version of a record that both have is a conflict, and one that only she has is unknown.
                var record = try await anna.record(for: shared)
                record["title"] = "taken"
                let conflict = await expectError(.serverRecordChanged, zoneID: zoneID) {
                    try await bert.save(record)
                }
                XCTAssertEqual(conflict?.serverRecord?["title"], "of bert")
                var unknown = try await anna.record(for: hers)
                unknown["title"] = "taken"
                await expectError(.unknownItem, zoneID: zoneID) { try await bert.save(unknown) }
                // The same names without any version are Bert's own.
                try await bert.write("only-anna", title: "of bert too", in: zoneID)
                try await bert.deleteRecord(withID: hers)
                try await bert.write("r", title: "of bert again", in: zoneID)

                let tag = try await anna.record(for: shared).recordChangeTag
                let results = try await bert.modifyRecords(
                    RecordModifyRequest(deleting: [.init(recordID: shared, recordChangeTag: tag)]))
                XCTAssertEqual(results.errors[shared]?.code, .serverRecordChanged)
                try await bert.deleteRecord(withID: shared)

                await expectError(.zoneNotFound, zoneID: annasZoneID) { try await bert.write("r", in: annasZoneID) }
                await expectError(.zoneNotFound, zoneID: annasZoneID) {
                    try await bert.deleteRecord(withID: Record.ID(recordName: "r", zoneID: annasZoneID))
                }
            }
        }
    }

    func test6_9a_conditionsAndRequestIDsAreTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, feed in
                let anna = feed.container.database(.private, for: "anna")
                let token = try await anna.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
                var record = try await bert.record(for: Record.ID(recordName: "r", zoneID: zoneID))
                record["title"] = "of bert"
                await expectError(.invalidArguments, detail: .foreign, zoneID: zoneID) {
                    try await bert.modifyRecords(RecordModifyRequest(saving: [record], ifZonesAt: [zoneID: token]))
                }
            }
            // The same request id and content from both: each is answered with what is theirs.
            let feed = ListeningFixture()
            let request = RecordModifyRequest(
                saving: [Record(recordType: "Note", recordID: Record.ID(recordName: "r", zoneID: zoneID))],
                requestID: "request")
            for user in ["anna", "bert"] {
                try await feed.makeZone(of: user)
                for _ in 0..<2 {
                    let results = try await feed.database(of: user).modifyRecords(request)
                    let saved = try XCTUnwrap(results.saves.first).result.get()
                    XCTAssertEqual(saved.creatorUserRecordID?.recordName, user)
                }
            }
        }
    }

    func test6_9a_zonesAreTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, _ in
                await expectError(.invalidArguments, zoneID: annasZoneID, rule: "N3") {
                    try await bert.save(RecordZone(zoneID: annasZoneID))
                }
                await expectError(.zoneNotFound, zoneID: annasZoneID, rule: "FD8") {
                    try await bert.deleteRecordZone(withID: annasZoneID)
                }
                try await bert.deleteRecordZone(withID: zoneID)
                try await bert.save(RecordZone(zoneID: zoneID))
            }
        }
    }

    func test6_9a_lookupsFindTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, _ in
                let ids = ["r", "only-anna"].flatMap { name in
                    [zoneID, annasZoneID].map { Record.ID(recordName: name, zoneID: $0) }
                }
                let records = try await bert.records(for: ids)
                XCTAssertEqual(records.count, 4)
                XCTAssertEqual(try records[ids[0]]?.get()["title"], "of bert")
                for id in ids.dropFirst() { XCTAssertThrowsError(try records[id]?.get()) }

                let zones = try await bert.recordZones(RecordZonesRequest(zoneIDs: [zoneID, annasZoneID]))
                XCTAssertNoThrow(try zones[zoneID]?.get())
                XCTAssertThrowsError(try zones[annasZoneID]?.get())
            }
        }
    }

    func test6_9a_subscriptionsAreTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, _ in
                let own = try await bert.subscription(for: "s")
                XCTAssertEqual(own.recordType, "Ofbert")
                await expectError(.unknownItem, rule: "SB5") { try await bert.subscription(for: "only-anna") }
                await expectError(.unknownItem, rule: "SB5") { try await bert.deleteSubscription(withID: "only-anna") }
                await expectError(.zoneNotFound, zoneID: annasZoneID, rule: "FD8") {
                    try await bert.save(Subscription(subscriptionID: "hers", kind: .recordZone(annasZoneID)))
                }
                try await bert.save(Subscription(subscriptionID: "s", kind: .database))
                try await bert.deleteSubscription(withID: "s")
                let left = try await bert.allSubscriptions()
                XCTAssertEqual(left.map(\.subscriptionID), ["only-bert"])
            }
        }
    }

    func test6_9a_hintsAreTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, feed in
                let anna = feed.container.database(.private, for: "anna")
                let overheard = bert.notifications(for: "only-anna")
                let same = bert.notifications(for: "s")
                let own = bert.notifications(for: "only-bert")
                let listening = anna.notifications(for: "only-anna")
                try await bert.write("r", title: "of bert", in: zoneID)
                XCTAssertEqual(listening.takeWaiting(), [])
                XCTAssertEqual(overheard.takeWaiting(), [])
                XCTAssertEqual(same.takeWaiting(), [])
                XCTAssertEqual(own.takeWaiting().map(\.story), ["Notes"])
            }
        }
    }

    func test6_9a_theAccountIsTheUsersOwn() async throws {
        try await overEveryStore {
            try await whileAnnaIsUntouched { bert, _ in
                let account = try await bert.account()
                XCTAssertEqual(account, .available(userID: "bert"))
            }
        }
    }
}
