import ChangeFeed
import XCTest

/// A field has a value, has none, or was not loaded; a record tells which (rules FZ3, R7, case B37).
final class LoadedFieldsTests: XCTestCase {
    private func makeNote(in feed: FeedFixture) async throws -> Record.ID {
        let zone = try await feed.makeZone()
        return try await feed.database.save(
            feed.note("a", in: zone, ["title": "t", "notes": "n", "stars": 3])
        ).recordID
    }

    private func lookUp(_ recordID: Record.ID, keys: [String]?, in feed: FeedFixture) async throws -> Record {
        let found = try await feed.database.records(for: [recordID], desiredKeys: keys)
        return try XCTUnwrap(found[recordID]).get()
    }

    func testANewRecordHasNothingLeftToLoad() {
        var record = Record(recordType: "Note")
        XCTAssertNil(record.loadedKeys)
        XCTAssertTrue(record.isLoaded("title"))
        record["title"] = nil
        XCTAssertTrue(record.isLoaded("title"))
        XCTAssertNil(record.loadedKeys)
    }

    func testFZ3_noListLoadsEverything() async throws {
        try await forEachStore { feed in
            let record = try await lookUp(makeNote(in: feed), keys: nil, in: feed)
            XCTAssertNil(record.loadedKeys)
            XCTAssertEqual(record.allKeys, ["notes", "stars", "title"])
            XCTAssertTrue(record.isLoaded("nobodyEverSetThis"))
        }
    }

    func testFZ3_anEmptyListLoadsSystemFieldsOnly() async throws {
        try await forEachStore { feed in
            let recordID = try await makeNote(in: feed)
            let record = try await lookUp(recordID, keys: [], in: feed)
            XCTAssertEqual(record.loadedKeys, [])
            XCTAssertEqual(record.allKeys, [])
            XCTAssertFalse(record.isLoaded("title"))
            XCTAssertNil(record["title"] as String?)

            let whole = try await lookUp(recordID, keys: nil, in: feed)
            XCTAssertEqual(record.recordChangeTag, whole.recordChangeTag)
            XCTAssertEqual(record.modificationDate, whole.modificationDate)
            XCTAssertNotEqual(record, whole, "a partial record passes for the whole one")
        }
    }

    func testFZ3_aListLoadsTheseKeysWithOrWithoutAValue() async throws {
        try await forEachStore { feed in
            let record = try await lookUp(makeNote(in: feed), keys: ["title", "absent"], in: feed)
            XCTAssertEqual(record.loadedKeys, ["title", "absent"])
            XCTAssertEqual(record.allKeys, ["title"])
            XCTAssertTrue(record.isLoaded("absent"), "asked for and not there: known to have no value")
            XCTAssertFalse(record.isLoaded("notes"), "not asked for: not known")
            XCTAssertNil(record["absent"] as String?)
            XCTAssertNil(record["notes"] as String?)
        }
    }

    func testFZ3_keysThatNoRecordCanHaveLoadNothingAndTrapNothing() async throws {
        try await forEachStore { feed in
            let odd = ["", "_x", "a b", "\u{E9}", String(repeating: "k", count: 100_000), "title", "title"]
            let record = try await lookUp(makeNote(in: feed), keys: odd, in: feed)
            XCTAssertEqual(record.allKeys, ["title"])
        }
    }

    func testSettingAFieldThatWasNotLoadedMakesItKnown() async throws {
        try await forEachStore { feed in
            // Given a record of which only the title was fetched
            var record = try await lookUp(makeNote(in: feed), keys: ["title"], in: feed)

            // When one field is set and another cleared
            record["notes"] = "mine"
            record["stars"] = nil

            // Then both are known, and the rest still is not
            XCTAssertEqual(record.loadedKeys, ["title", "notes", "stars"])
            XCTAssertTrue(record.isLoaded("stars"))
            XCTAssertNil(record["stars"] as Int?)
            XCTAssertFalse(record.isLoaded("photo"))
            XCTAssertEqual(record.changedKeys, ["notes", "stars"])
        }
    }

    func testB37_savingAPartialRecordUnderEveryPolicyWipesNothing() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                // Given a device that fetched the title only, and edits it
                let recordID = try await makeNote(in: feed)
                var record = try await lookUp(recordID, keys: ["title"], in: feed)
                record["title"] = "edited"

                // When it saves
                _ = try await feed.save(record, policy).get()

                // Then the fields that it never saw are still there
                let server = try await feed.database.record(for: recordID)
                XCTAssertEqual(server.texts, ["title": "edited", "notes": "n"], "\(policy)")
                XCTAssertEqual(server["stars"], 3, "\(policy)")
            }
        }
    }

    func testB37_aFieldThatIsClearedUnseenIsCleared() async throws {
        for policy in RecordSavePolicy.allCases {
            try await forEachStore { feed in
                let recordID = try await makeNote(in: feed)
                var record = try await lookUp(recordID, keys: [], in: feed)
                record["notes"] = nil
                _ = try await feed.save(record, policy).get()
                let server = try await feed.database.record(for: recordID)
                XCTAssertEqual(server.allKeys, ["stars", "title"], "\(policy)")
            }
        }
    }

    func testB37_whatASaveOfAPartialRecordGivesBackDoesNotClaimToBeWhole() async throws {
        try await forEachStore { feed in
            // Given a partial record that was edited
            var record = try await lookUp(makeNote(in: feed), keys: ["title"], in: feed)
            record["title"] = "edited"

            // When it is saved
            let saved = try await feed.database.save(record)

            // Then what comes back either has the other fields or says that they are not loaded
            for key in ["notes", "stars"] {
                let value: RecordValue? = saved[key]
                XCTAssertTrue(value != nil || !saved.isLoaded(key), "\(key) reads as known to have no value")
            }
            XCTAssertEqual(saved["title"], "edited")
        }
    }

    func testR7_aRecordRebuiltFromSystemFieldsHasNothingLoaded() async throws {
        try await forEachStore { feed in
            let recordID = try await makeNote(in: feed)
            let stored = try await lookUp(recordID, keys: nil, in: feed).encodeSystemFields()

            var record = try Record(systemFields: stored)
            XCTAssertEqual(record.loadedKeys, [])
            XCTAssertFalse(record.isLoaded("title"))

            record["title"] = "edited"
            XCTAssertEqual(record.loadedKeys, ["title"])
            XCTAssertTrue(record.isLoaded("title"))
            XCTAssertEqual(record.changedKeys, ["title"])
        }
    }
}
