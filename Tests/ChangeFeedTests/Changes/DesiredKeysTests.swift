import ChangeFeed
import XCTest

/// Rule FZ3: a fetch may ask for some fields, and a record says which it has.
final class DesiredKeysTests: XCTestCase {
    private func makeNote(in feed: FeedFixture) async throws -> Record.ID {
        let zone = try await feed.makeZone()
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a", zoneID: zone))
        record["title"] = "title"
        record["notes"] = "notes"
        record["stars"] = 3
        return try await feed.database.save(record).recordID
    }

    private func fetch(_ recordID: Record.ID, keys: [String]?, in feed: FeedFixture) async throws -> Record {
        let page = try await feed.database.recordZoneChanges(
            inZoneWith: recordID.zoneID, since: nil, desiredKeys: keys)
        return try XCTUnwrap(page.modifications.first)
    }

    func testFZ3_noListIsAllFields() async throws {
        try await forEachStore { feed in
            let record = try await fetch(makeNote(in: feed), keys: nil, in: feed)
            XCTAssertEqual(record.allKeys, ["notes", "stars", "title"])
            XCTAssertNil(record.loadedKeys)
            XCTAssertTrue(record.isLoaded("notes"))
        }
    }

    func testFZ3_anEmptyListIsSystemFieldsOnly() async throws {
        try await forEachStore { feed in
            let record = try await fetch(makeNote(in: feed), keys: [], in: feed)
            XCTAssertEqual(record.allKeys, [])
            XCTAssertEqual(record.loadedKeys, [])
            XCTAssertFalse(record.isLoaded("title"))
            XCTAssertNotNil(record.recordChangeTag)
            XCTAssertNotNil(record.creationDate)
            XCTAssertEqual(record.recordType, "Note")
        }
    }

    func testFZ3_aListIsTheseFieldsAndNoOthers() async throws {
        try await forEachStore { feed in
            let record = try await fetch(makeNote(in: feed), keys: ["title", "stars", "absent", "title"], in: feed)
            XCTAssertEqual(record.allKeys, ["stars", "title"])
            XCTAssertEqual(record["stars"], 3)
            XCTAssertEqual(record["title"], "title")
        }
    }

    func testFZ3_desiredKeysHideNoDeletionAndChangeNoPage() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)
            let token = try await feed.token(of: zone)
            try await feed.delete("r2", in: zone)
            try await feed.save("r1", in: zone)

            let all = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            let none = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token, desiredKeys: [])

            XCTAssertEqual(none.story, ["-r2", "+r1"])
            XCTAssertEqual(none.changeToken, all.changeToken)
        }
    }

    func testB37_aPartialRecordTellsNotLoadedFromNilAndSavingItWipesNothing() async throws {
        try await forEachStore { feed in
            // Given a device that fetched the title only
            let recordID = try await makeNote(in: feed)
            var record = try await fetch(recordID, keys: ["title", "absent"], in: feed)
            XCTAssertTrue(record.isLoaded("absent"))
            XCTAssertFalse(record.isLoaded("notes"))
            XCTAssertNil(record["notes"])

            // When it edits and saves it, under each policy
            for policy in RecordSavePolicy.allCases {
                record["title"] = "edited under \(policy)"
                let results = try await feed.database.modifyRecords(saving: [record], savePolicy: policy)
                record = try XCTUnwrap(results.saves.first).result.get()

                // Then the server keeps what the device never saw
                let server = try await feed.database.record(for: recordID)
                XCTAssertEqual(server["notes"], "notes")
                XCTAssertEqual(server["stars"], 3)
                XCTAssertEqual(server["title"], "edited under \(policy)" as String?)
            }
        }
    }

    func testB36_aTokenDoesNotRememberTheKeysOfItsFetch() async throws {
        try await forEachStore { feed in
            // Given two records of which a device fetched the title
            let zone = try await feed.makeZone()
            for name in ["old", "touched"] {
                var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zone))
                record["title"] = "t"
                record["notes"] = "n"
                try await feed.database.save(record)
            }
            let narrow = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, desiredKeys: ["title"])
            try await feed.save("touched", title: "t2", in: zone)

            // When it asks for more keys with the token it has
            let wide = try await feed.database.recordZoneChanges(
                inZoneWith: zone, since: narrow.changeToken, desiredKeys: ["title", "notes"])

            // Then it gets them with what changed, in full, and reads the rest from the beginning
            XCTAssertEqual(wide.story, ["+touched"])
            XCTAssertEqual(wide.modifications.first?["notes"], "n")
            let whole = try await feed.database.recordZoneChanges(
                inZoneWith: zone, since: nil, desiredKeys: ["title", "notes"])
            XCTAssertEqual(whole.modifications.compactMap { $0["notes"] as String? }, ["n", "n"])
        }
    }

    func test6_7_anInventoryGivesEveryLivingIdWithItsTag() async throws {
        try await forEachStore { feed in
            // Given a device whose cache holds r1 to r5, of which r2 went and r3 changed since
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)
            let cached = try await feed.pages(of: zone).flatMap(\.modifications)
            try await feed.delete("r2", in: zone)
            try await feed.save("r3", in: zone)

            // When it takes the inventory
            let living = try await feed.pages(of: zone, keys: []).flatMap(\.modifications)

            // Then it knows what to drop and what to fetch
            let tags = Dictionary(uniqueKeysWithValues: living.map { ($0.recordID, $0.recordChangeTag) })
            XCTAssertEqual(cached.filter { tags[$0.recordID] == nil }.map(\.recordID.recordName), ["r2"])
            XCTAssertEqual(
                cached.filter { tags[$0.recordID] != nil && tags[$0.recordID] != $0.recordChangeTag }
                    .map(\.recordID.recordName),
                ["r3"])
        }
    }
}
