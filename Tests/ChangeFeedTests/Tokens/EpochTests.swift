import ChangeFeed
import XCTest

/// Rule 6.1.5: tokens and tags tell the history that they come from, so a store that is put back to an earlier state
/// cannot pass off new positions for old ones.
final class EpochTests: XCTestCase {
    private let notes = RecordZone.ID(zoneName: "Notes")

    /// A server with two records, its backup, and what it did after the backup was taken.
    private struct Restored {
        let before: FeedFixture
        let after: FeedFixture
        let zoneTokenInBackup: ZoneChangeToken
        let databaseTokenInBackup: DatabaseChangeToken
        let zoneTokenLost: ZoneChangeToken
        let databaseTokenLost: DatabaseChangeToken
        let recordsLost: [Record]
    }

    private func restore() async throws -> Restored {
        let store = InMemoryStore(randomness: { 4 })
        let before = FeedFixture(store: store)
        try await before.makeZone()
        try await before.save("a", "b", title: "backed up", in: notes)
        let zoneToken = try await before.token(of: notes)
        let databaseToken = try await before.databaseToken()
        let backup = store.snapshot()
        let lost = try await before.save("a", "c", "d", title: "lost", in: notes)
        return Restored(
            before: before,
            after: before.reopened(over: try InMemoryStore(restoring: backup)),
            zoneTokenInBackup: zoneToken,
            databaseTokenInBackup: databaseToken,
            zoneTokenLost: try await before.token(of: notes),
            databaseTokenLost: try await before.databaseToken(),
            recordsLost: lost)
    }

    func test6_1_5_aTokenFromBeforeTheBackupLivesOn() async throws {
        try await overEveryStore {
            let story = try await restore()
            try await story.after.save("b", "e", in: notes)

            let page = try await story.after.database.recordZoneChanges(
                inZoneWith: notes, since: story.zoneTokenInBackup)
            let zones = try await story.after.database.databaseChanges(since: story.databaseTokenInBackup)

            XCTAssertEqual(page.story, ["+b", "+e"])
            XCTAssertEqual(zones.story, ["+Notes"])
        }
    }

    func test6_1_5_aTokenFromAfterTheBackupHasExpiredBeforeTheFirstNewWrite() async throws {
        try await overEveryStore {
            let story = try await restore()
            await expectError(.changeTokenExpired, detail: .historyReset, zoneID: notes, rule: "6.1.5") {
                try await story.after.database.recordZoneChanges(inZoneWith: self.notes, since: story.zoneTokenLost)
            }
            await expectError(.changeTokenExpired, detail: .historyReset, rule: "6.1.5") {
                try await story.after.database.databaseChanges(since: story.databaseTokenLost)
            }
        }
    }

    /// With fewer new writes than were lost, as many, and more: at one of them the numbers are the same.
    func test6_1_5_aTokenFromAfterTheBackupHasExpiredHoweverFarTheNewHistoryHasCome() async throws {
        try await overEveryStore {
            let story = try await restore()
            for step in 1...8 {
                try await story.after.save("new", title: "\(step)", in: notes)
                await expectError(.changeTokenExpired, detail: .historyReset, zoneID: notes, "step \(step)") {
                    try await story.after.database.recordZoneChanges(inZoneWith: self.notes, since: story.zoneTokenLost)
                }
                await expectError(.changeTokenExpired, detail: .historyReset, "step \(step)") {
                    try await story.after.database.databaseChanges(since: story.databaseTokenLost)
                }
            }
        }
    }

    func test6_1_5_aTokenOfTheNewHistoryHasExpiredInTheOld() async throws {
        try await overEveryStore {
            let story = try await restore()
            for step in 1...8 {
                try await story.after.save("new", title: "\(step)", in: notes)
                let token = try await story.after.token(of: notes)
                await expectError(.changeTokenExpired, detail: .historyReset, zoneID: notes, "step \(step)") {
                    try await story.before.database.recordZoneChanges(inZoneWith: self.notes, since: token)
                }
            }
        }
    }

    func test6_1_5_tagsNeverRepeatAcrossARestore() async throws {
        try await overEveryStore {
            let story = try await restore()
            let lost = Set(story.recordsLost.compactMap(\.recordChangeTag))
            XCTAssertEqual(lost.count, 3)
            var fresh: Set<String> = []
            for _ in 1...6 {
                fresh.formUnion(try await story.after.save("a", "c", "d", in: notes).compactMap(\.recordChangeTag))
            }
            XCTAssertEqual(fresh.count, 18)
            XCTAssertEqual(fresh.intersection(lost), [])
        }
    }

    func testM3_aVersionThatWasLostIsAConflictThoughItsNumberIsTakenAgain() async throws {
        try await overEveryStore {
            // Given a device that has the version of a which the restore lost
            let story = try await restore()
            var edited = try XCTUnwrap(story.recordsLost.first)
            edited["title"] = "edited"
            // When the new history has a version of a at the same number
            try await story.after.save("a", title: "new", in: notes)
            // Then it is another version
            let error = await expectError(.serverRecordChanged, zoneID: notes) {
                try await story.after.database.save(edited)
            }
            XCTAssertEqual(error?.serverRecord?["title"], "new")
        }
    }

    func test6_1_5_twoRestoresOfOneBackupAreTwoHistories() async throws {
        try await overEveryStore {
            let store = InMemoryStore(randomness: { 4 })
            let feed = FeedFixture(store: store)
            try await feed.makeZone()
            let backup = store.snapshot()
            let (one, two) = (
                feed.reopened(over: try InMemoryStore(restoring: backup)),
                feed.reopened(over: try InMemoryStore(restoring: backup))
            )
            try await one.save("a", title: "one", in: notes)
            try await two.save("a", title: "two", in: notes)
            let token = try await one.token(of: notes)
            await expectError(.changeTokenExpired, detail: .historyReset, zoneID: notes) {
                try await two.database.recordZoneChanges(inZoneWith: self.notes, since: token)
            }
        }
    }

    func test6_2_aFirstReadThatBeganAfterTheBackupHasExpiredThoughItIsNotFarYet() async throws {
        try await overEveryStore {
            // Given a first read whose page ends before the backup and whose start lies after it
            let store = InMemoryStore(randomness: { 4 })
            let before = FeedFixture(store: store)
            try await before.makeZone()
            try await before.save("a", "b", in: notes)
            let backup = store.snapshot()
            try await before.delete("b", in: notes)
            try await before.save("c", in: notes)
            let page = try await before.database.recordZoneChanges(inZoneWith: notes, since: nil, resultsLimit: 1)
            XCTAssertEqual(page.story, ["+a"])

            let after = before.reopened(over: try InMemoryStore(restoring: backup))
            for step in 0...4 {
                if step > 0 { try await after.save("new", in: notes) }
                await expectError(.changeTokenExpired, detail: .historyReset, zoneID: notes, "step \(step)") {
                    try await after.database.recordZoneChanges(inZoneWith: self.notes, since: page.changeToken)
                }
            }
        }
    }

    func test6_4_aFirstReadThatBeganBeforeTheBackupGoesOnAfterTheRestore() async throws {
        try await overEveryStore {
            let store = InMemoryStore(randomness: { 4 })
            let before = FeedFixture(store: store)
            try await before.makeZone()
            try await before.save("a", "b", "c", in: notes)
            let page = try await before.database.recordZoneChanges(inZoneWith: notes, since: nil, resultsLimit: 1)
            let after = before.reopened(over: try InMemoryStore(restoring: store.snapshot()))
            try await after.delete("a", in: notes)

            let rest = try await after.pages(of: notes, since: page.changeToken, limit: 1)

            XCTAssertEqual(rest.flatMap(\.story), ["+b", "+c", "-a"])
        }
    }

    func test6_2_aZoneCreatedInTheNewHistoryIsToldFromTheOneThatWasLost() async throws {
        try await overEveryStore {
            // Given a zone that was created after the backup, and read
            let store = InMemoryStore(randomness: { 4 })
            let before = FeedFixture(store: store)
            try await before.makeZone("Other")
            let backup = store.snapshot()
            try await before.makeZone()
            try await before.save("a", in: notes)
            let token = try await before.token(of: notes)

            // When a zone of its name is created at the same number in the restored store
            let after = before.reopened(over: try InMemoryStore(restoring: backup))
            try await after.makeZone()
            try await after.save("x", in: notes)

            await expectError(.changeTokenExpired, detail: .historyReset, zoneID: notes, rule: "6.1.5") {
                try await after.database.recordZoneChanges(inZoneWith: self.notes, since: token)
            }
        }
    }

    func test6_1_5_tokensLiveThroughTwoReopenings() async throws {
        try await forEachStore { feed in
            try await feed.makeZone()
            var tokens = [try await feed.token(of: notes)]
            var current = feed
            for round in 1...2 {
                current = current.reopened()
                try await current.save("r\(round)", in: notes)
                tokens.append(try await current.token(of: notes))
            }

            var heard: [[String]] = []
            for token in tokens {
                heard.append(
                    try await current.database.recordZoneChanges(inZoneWith: notes, since: token).story)
            }
            XCTAssertEqual(heard, [["+r1", "+r2"], ["+r2"], []])

            // And the first of the containers, still there, goes on with them
            try await feed.save("r3", in: notes)
            let page = try await feed.database.recordZoneChanges(inZoneWith: notes, since: tokens[2])
            XCTAssertEqual(page.story, ["+r3"])
        }
    }

    func test6_1_5_aRolledBackFirstWriteLeavesNoEpochBehind() async throws {
        var limits = Limits.cloudKit
        limits.bytesPerRequest = 2_000
        try await forEachStore(limits: limits) { feed in
            // Given a reopened container whose first write fails as a whole, after it has begun
            let (one, two) = (try await feed.makeZone("One"), try await feed.makeZone("Two"))
            try await feed.save("a", in: one)
            let token = try await feed.token(of: one)
            let reopened = feed.reopened()
            var small = Record(recordType: "Note", recordID: Record.ID(recordName: "small", zoneID: one))
            small["title"] = "s"
            var large = Record(recordType: "Note", recordID: Record.ID(recordName: "large", zoneID: two))
            large["title"] = String(repeating: "x", count: 5_000)
            await expectError(.limitExceeded, zoneID: two) {
                try await reopened.database.modifyRecords(saving: [small, large])
            }

            // Then nothing of it is to be seen
            let quiet = try await reopened.database.recordZoneChanges(inZoneWith: one, since: token)
            XCTAssertEqual(quiet.story, [])
            XCTAssertEqual(quiet.changeToken, token)

            // And the next write begins the epoch, with tokens that work
            let saved = try await reopened.save("b", in: one)
            let next = try await reopened.database.recordZoneChanges(inZoneWith: one, since: token)
            XCTAssertEqual(next.modifications, saved)
            let again = try await reopened.database.recordZoneChanges(inZoneWith: one, since: next.changeToken)
            XCTAssertEqual(again.story, [])
        }
    }
}
