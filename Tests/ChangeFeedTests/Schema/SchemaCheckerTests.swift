import XCTest

@testable import ChangeFeed

/// The checker of a request says what the rules say, however it remembers.
final class SchemaCheckerTests: XCTestCase {
    private func record(_ fields: [(String, RecordValue?)], type: String = "Note") -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: "a"))
        for (key, value) in fields { record[key] = value }
        return record
    }

    func testR5_whatOneRecordTeachesBindsTheNext() throws {
        var checker = SchemaChecker(schema: Schema(), environment: .development)
        XCTAssertFalse(checker.hasLearned)
        try checker.check(record([("title", "x"), ("stars", 1)]))
        XCTAssertTrue(checker.hasLearned)
        try checker.check(record([("stars", 2), ("title", "y")]))
        try checker.check(record([("stars", 2)]))
        XCTAssertThrowsError(try checker.check(record([("title", 1)])))
        XCTAssertEqual(checker.schema.recordTypes["Note"]?.fields, ["title": .init(.string), "stars": .init(.int64)])
    }

    func testR5_aRefusedRecordTeachesNothing() throws {
        var checker = SchemaChecker(schema: Schema(), environment: .development)
        try checker.check(record([("title", "x")]))
        let before = checker.schema
        XCTAssertThrowsError(try checker.check(record([("new", 1), ("title", 1)])))
        XCTAssertEqual(checker.schema, before)
        try checker.check(record([("new", "not a number")]))
    }

    func testR5_aCopyForgetsWithTheZoneThatFailed() throws {
        var checker = SchemaChecker(schema: Schema(), environment: .development)
        let before = checker
        try checker.check(record([("title", "x")]))
        checker = before
        XCTAssertFalse(checker.hasLearned)
        try checker.check(record([("title", 1)]))
        XCTAssertEqual(checker.schema.recordTypes["Note"]?.fields["title"], .init(.int64))
    }

    func testR5_productionLearnsNothing() throws {
        let schema = try Schema(recordTypes: ["Note": .init(fields: ["title": .init(.string)])])
        var checker = SchemaChecker(schema: schema, environment: .production)
        try checker.check(record([("title", "x")]))
        try checker.check(record([("title", "y")]))
        XCTAssertThrowsError(try checker.check(record([("title", "x"), ("other", 1)])))
        XCTAssertThrowsError(try checker.check(record([("title", "x")], type: "Other")))
        XCTAssertFalse(checker.hasLearned)
    }

    func testR5_theParentIsNoField() throws {
        let schema = try Schema(recordTypes: ["Note": .init(fields: ["title": .init(.string)])])
        var checker = SchemaChecker(schema: schema, environment: .production)
        for _ in 0..<2 {
            var child = record([("title", "x")])
            child.setParent(Record.ID(recordName: "p"))
            try checker.check(child)
        }
    }

    func testR10_theSpaceOfAKeyIsChecked() throws {
        var checker = SchemaChecker(schema: Schema(), environment: .development)
        var secret = record([("title", "x")])
        secret.encryptedValues["diary"] = "dear"
        for _ in 0..<2 { try checker.check(secret) }
        XCTAssertEqual(checker.schema.recordTypes["Note"]?.encryptedFields["diary"], .init(.string))
        XCTAssertNil(checker.schema.recordTypes["Note"]?.fields["diary"])
        for _ in 0..<2 { try checker.check(record([("diary", 1)])) }
        XCTAssertEqual(checker.schema.recordTypes["Note"]?.fields["diary"], .init(.int64))
        secret.encryptedValues["diary"] = 1
        XCTAssertThrowsError(try checker.check(secret)) { error in
            XCTAssertEqual((error as? ChangeFeedError)?.rule, "R5")
        }
    }

    func testR5_aSaveOfAllKeysIsHeldToTheSchemaWithItsBase() throws {
        let system = RecordSystemFields(
            changeTag: RecordChangeTag("t"), creationDate: Date(), modificationDate: Date(), creatorUserID: "u",
            lastModifiedUserID: "u")
        let payload = try Payload(encoded: Payload.encoding([("foreign", 1)]))
        let foreign = Record(
            version: RecordVersion(
                recordID: Record.ID(recordName: "a"), recordType: "Note", system: system, payload: payload))
        let schema = try Schema(recordTypes: ["Note": .init(fields: ["title": .init(.string)])])
        var checker = SchemaChecker(schema: schema, environment: .production)
        try checker.check(foreign)
        XCTAssertThrowsError(try checker.check(foreign, includingBase: true))
    }

    func testR5_theCheckerAgreesWithTheRules() throws {
        var random = FeedFixture.Random(seed: 5)
        let keys = (0..<6).map { "key\($0)" }
        let values: [RecordValue?] = [nil, "x", 1, 2.5, [], ["x"], [1]]
        for environment in Schema.Environment.allCases {
            var rules = try Schema(recordTypes: ["A": .init(fields: ["key0": .init(.string)])])
            var checker = SchemaChecker(schema: rules, environment: environment)
            for _ in 0..<4_000 {
                let type = ["A", "B"].randomElement(using: &random) ?? "A"
                var record = Record(recordType: type, recordID: Record.ID(recordName: "a"))
                for key in keys.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)) {
                    let value = values.randomElement(using: &random) ?? nil
                    if Bool.random(using: &random) {
                        record[key] = value
                    } else {
                        record.encryptedValues[key] = value
                    }
                }
                let uses = record.edits.map {
                    Schema.Use(key: $0.key, isEncrypted: $0.space == .encrypted, value: $0.value)
                }
                var expected: String?
                do throws(ChangeFeedError) {
                    switch environment {
                    case .development:
                        rules = try rules.learning(recordType: type, fields: uses, of: record.recordID) ?? rules
                    case .production: try rules.check(recordType: type, fields: uses, of: record.recordID)
                    }
                } catch { expected = error.message }
                var found: String?
                do throws(ChangeFeedError) { try checker.check(record) } catch { found = error.message }
                XCTAssertEqual(found, expected)
                XCTAssertEqual(checker.schema, rules)
            }
        }
    }

    func testR5_moreTypesAndKeysThanTheCheckerRemembersAreCheckedAlike() throws {
        var checker = SchemaChecker(schema: Schema(), environment: .development)
        let wide = record((0..<200).map { ("key\($0)", RecordValue.int64(1)) })
        for _ in 0..<2 { try checker.check(wide) }
        for index in 0..<40 { try checker.check(record([("title", "x")], type: "Type\(index)")) }
        for index in 0..<40 {
            XCTAssertThrowsError(try checker.check(record([("title", 1)], type: "Type\(index)")))
        }
        XCTAssertThrowsError(try checker.check(record([("key199", "x")])))
        XCTAssertEqual(checker.schema.recordTypes.count, 41)
    }

    func testR5_theCacheFollowsTheStoredBytes() throws {
        let cache = SchemaCache()
        XCTAssertEqual(try cache.schema(of: nil), Schema())
        let one = try Schema(recordTypes: ["A": .init()])
        let two = try Schema(recordTypes: ["B": .init()])
        for schema in [one, one, two, one] { XCTAssertEqual(try cache.schema(of: schema.encoded), schema) }
        XCTAssertEqual(try cache.schema(of: nil), Schema())
        XCTAssertThrowsError(try cache.schema(of: [1, 2, 3])) { error in
            XCTAssertEqual((error as? ChangeFeedError)?.code, .internalError)
            XCTAssertEqual((error as? ChangeFeedError)?.detail, .damaged)
        }
        XCTAssertEqual(try cache.schema(of: one.encoded), one)
    }
}

extension Payload {
    fileprivate static func encoding(_ fields: [(String, RecordValue)]) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(1)
        writer.number(UInt64(fields.count))
        for (key, _) in fields { writer.string(key) }
        for (_, value) in fields { ValueCodec.encode(value, into: &writer) }
        return writer.bytes
    }
}
