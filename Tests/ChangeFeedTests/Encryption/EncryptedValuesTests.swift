import ChangeFeed
import Foundation
import XCTest

/// Rule R10: what is encrypted has a key space of its own, and is refused where it cannot be kept.
final class EncryptedValuesTests: XCTestCase {
    private typealias Feed = FeedFixture

    func testR10_theKeySpacesAreApart() async throws {
        try await overEveryStore {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            // Given one key with a plain value and an encrypted one, of two types
            var record = Feed.note("a", in: zone)
            record["same"] = "plain"
            record.encryptedValues["same"] = 7
            record.encryptedValues["only"] = "encrypted"
            XCTAssertEqual(record.changedKeys, ["same"])
            XCTAssertEqual(record.encryptedValues.changedKeys, ["same", "only"])

            let results = try await feed.modify(saving: [record], in: zone)

            let saved = try results.saves[0].result.get()
            XCTAssertEqual(saved["same"], "plain")
            XCTAssertEqual(saved.encryptedValues["same"], 7)
            XCTAssertEqual(saved.allKeys, ["same"])
            XCTAssertEqual(saved.encryptedValues.allKeys, ["only", "same"])
            XCTAssertNil(saved["only"] as RecordValue?)
            XCTAssertEqual(saved.fields.map(\.key), ["same"])
        }
    }

    func testR10_clearingOneLeavesTheOther() async throws {
        try await overEveryStore {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            var record = Feed.note("a", in: zone)
            record["same"] = "plain"
            record.encryptedValues["same"] = "secret"
            let results = try await feed.modify(saving: [record], in: zone)

            var saved = try results.saves[0].result.get()
            saved["same"] = RecordValue?.none
            try await feed.modify(saving: [saved], in: zone)
            saved = try await feed.record("a", in: zone)
            XCTAssertNil(saved["same"] as RecordValue?)
            XCTAssertEqual(saved.encryptedValues["same"], "secret")

            saved["same"] = "plain"
            saved.encryptedValues["same"] = RecordValue?.none
            try await feed.modify(saving: [saved], in: zone)
            saved = try await feed.record("a", in: zone)
            XCTAssertEqual(saved["same"], "plain")
            XCTAssertEqual(saved.encryptedValues.allKeys, [])
        }
    }

    func testR10_everyTypeButTwoCanBeEncrypted() async throws {
        try await overEveryStore {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            let values: [String: RecordValue] = [
                "string": "text", "int": .int64(.min), "double": .double(-0.0), "nan": .double(.nan),
                "bytes": .bytes(Data([0, 255])), "date": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
                "location": .location(Location(latitude: 1, longitude: -2)), "list": ["a", "b"], "empty": .list([]),
            ]
            var record = Feed.note("a", in: zone)
            for (key, value) in values { record.encryptedValues[key] = value }

            let results = try await feed.modify(saving: [record], in: zone)

            XCTAssertEqual(results.story, ["+a"])
            let saved = try await feed.record("a", in: zone)
            for (key, value) in values { XCTAssertEqual(saved.encryptedValues[key], value, key) }
        }
    }

    func testR10_referencesAndAssetsAreRefused() async throws {
        try await overEveryStore {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            let reference = RecordValue.reference(.init(recordID: Feed.id("b", in: zone)))
            let asset = RecordValue.asset(Asset(data: Data("content".utf8)))
            for value in [reference, .list([reference]), asset, .list([asset])] {
                let results = try await feed.modify(saving: [Feed.secret("a", value, in: zone)], in: zone)
                XCTAssertEqual(results.story, ["+a invalidArguments"], "\(value)")
                XCTAssertEqual(results.errors[Feed.id("a", in: zone)]?.rule, "R10", "\(value)")
            }
        }
    }

    func testR10_withoutAnEncryptionNothingIsStoredInClear() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)

            for policy in RecordSavePolicy.allCases {
                let results = try await feed.modify(
                    saving: [Feed.secret("a", "secret", in: zone)], in: zone, policy: policy)
                XCTAssertEqual(results.story, ["+a invalidArguments"])
                XCTAssertEqual(results.errors[Feed.id("a", in: zone)]?.rule, "R10")
            }
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, [])
        }
    }

    func testR10_thePublicDatabaseRefusesThem() async throws {
        try await overEveryStore {
            let feed = Feed.sealing(with: TestCipher())
            let everybodys = feed.container.database(.public, for: Feed.userID)

            let results = try await everybodys.modifyRecords(
                saving: [Feed.secret("a", "secret", in: .default), Feed.note("b", in: .default)], atomically: false)

            XCTAssertEqual(results.errors[Feed.id("a", in: .default)]?.code, .invalidArguments)
            XCTAssertEqual(results.errors[Feed.id("a", in: .default)]?.rule, "R10")
            let found = try await everybodys.records(for: [Feed.id("a", in: .default)])
            XCTAssertThrowsError(try XCTUnwrap(found[Feed.id("a", in: .default)]).get())
        }
    }

    func testR10_aMalformedKeyIsRefusedLikeAPlainOne() async throws {
        try await overEveryStore {
            let feed = Feed.sealing(with: TestCipher())
            let zone = try await feed.makeZone()
            for key in ["", "9lives", "with space", "über", String(repeating: "k", count: 256)] {
                var record = Feed.note("a", in: zone)
                record.encryptedValues[key] = "secret"
                let results = try await feed.modify(saving: [record], in: zone)
                XCTAssertEqual(results.story, ["+a invalidArguments"], key)
                XCTAssertEqual(results.errors[record.recordID]?.rule, "N6", key)
            }
        }
    }

    func testR10_desiredKeysHoldForEncryptedFieldsToo() async throws {
        try await overEveryStore {
            let cipher = TestCipher()
            let feed = Feed.sealing(with: cipher)
            let zone = try await feed.makeZone()
            var record = Feed.secret("a", "secret", title: "title", in: zone)
            record.encryptedValues["other"] = "other"
            try await feed.modify(saving: [record], in: zone)

            let expectations: [(keys: [String]?, plain: [String], encrypted: [String])] = [
                (nil, ["title"], ["other", "secret"]), ([], [], []), (["title"], ["title"], []),
                (["secret"], [], ["secret"]), (["title", "other"], ["title"], ["other"]),
            ]
            for (keys, plain, encrypted) in expectations {
                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, desiredKeys: keys)
                let fetched = try XCTUnwrap(page.modifications.first, "\(String(describing: keys))")
                XCTAssertEqual(fetched.allKeys, plain)
                XCTAssertEqual(fetched.encryptedValues.allKeys, encrypted)
                let found = try await feed.database.records(for: [record.recordID], desiredKeys: keys)
                XCTAssertEqual(try found[record.recordID]?.get().encryptedValues.allKeys, encrypted)
            }

            // What was not asked for is not opened: a damaged field that nobody wants hurts nobody
            cipher.breakOpening(ofRecordsNamed: ["a"])
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil, desiredKeys: ["title"])
            XCTAssertEqual(page.story, ["+a"])
        }
    }
}
