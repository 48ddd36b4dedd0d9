import XCTest

@testable import ChangeFeed

/// Rule R5 as pure functions: what a schema learns, refuses and merges.
final class SchemaRulesTests: XCTestCase {
    private let recordID = Record.ID(recordName: "a")

    private func use(_ key: String, _ value: RecordValue?, encrypted: Bool = false) -> Schema.Use {
        Schema.Use(key: key, isEncrypted: encrypted, value: value)
    }

    private func note(
        _ fields: [String: Schema.Field], encrypted: [String: Schema.Field] = [:]
    ) throws -> Schema {
        try Schema(recordTypes: ["Note": .init(fields: fields, encryptedFields: encrypted)])
    }

    private func expect(
        _ rule: String, naming parts: [String], line: UInt = #line, from body: () throws(ChangeFeedError) -> some Any
    ) {
        do throws(ChangeFeedError) {
            XCTFail("no error but \(try body())", line: line)
        } catch {
            XCTAssertEqual(error.code, .invalidArguments, "\(error)", line: line)
            XCTAssertEqual(error.rule, rule, "\(error)", line: line)
            for part in parts { XCTAssertTrue(error.message.contains(part), "\(error) lacks \(part)", line: line) }
        }
    }

    /// One value of each kind, with the type that it has in a schema.
    private func oneOfEach() -> [(RecordValue, Schema.ValueType, list: Schema.ValueType)] {
        [
            ("x", .string, .stringList), (1, .int64, .int64List), (1.5, .double, .doubleList),
            (.bytes(Data([1])), .bytes, .bytesList), (.date(Date()), .timestamp, .timestampList),
            (.location(Location(latitude: 1, longitude: 2)), .location, .locationList),
            (.reference(.init(recordID: recordID)), .reference, .referenceList),
        ]
    }

    func testR5_everyKindOfValueHasAType() throws {
        for kind in RecordValue.Kind.allCases where kind != .list {
            let type = try XCTUnwrap(Schema.ValueType(kind), "\(kind)")
            let list = try XCTUnwrap(type.list)
            XCTAssertFalse(type.isList)
            XCTAssertTrue(list.isList)
            XCTAssertEqual(list.rawValue, type.rawValue + "_LIST")
            XCTAssertEqual(list.canBeEncrypted, type.canBeEncrypted)
        }
        for (value, type, list) in oneOfEach() {
            XCTAssertEqual(try Schema.ValueType(of: value, key: "k", recordID: nil), type)
            XCTAssertEqual(try Schema.ValueType(of: .list([value, value]), key: "k", recordID: nil), list)
        }
    }

    func testR5_developmentLearnsATypeWithItsFields() throws {
        let learned = try Schema().learning(
            recordType: "Note", fields: [use("title", "x"), use("tags", ["a"]), use("secret", 1, encrypted: true)])
        XCTAssertEqual(
            learned,
            try note(
                ["title": .init(.string), "tags": .init(.stringList)], encrypted: ["secret": .init(.int64)]))
        XCTAssertEqual(
            try Schema().learning(recordType: "Empty", fields: [])?.recordTypes, ["Empty": .init()],
            "a type without fields is a type")
    }

    func testR5_whatIsKnownTeachesNothing() throws {
        let schema = try note(["title": .init(.string)])
        XCTAssertNil(try schema.learning(recordType: "Note", fields: [use("title", "y")]))
        XCTAssertNil(try schema.learning(recordType: "Note", fields: []))
        XCTAssertNil(try schema.learning(recordType: "Note", fields: [use("title", nil), use("other", nil)]))
    }

    func testR5_aLaterValueOfAnotherTypeIsAnError() throws {
        for (value, type, _) in oneOfEach() {
            let schema = try note(["key": .init(type)])
            for (other, otherType, otherList) in oneOfEach() {
                if otherType != type {
                    expect("R5", naming: ["\"key\"", "\"Note\"", type.rawValue, otherType.rawValue]) {
                        () throws(ChangeFeedError) in
                        try schema.learning(recordType: "Note", fields: [self.use("key", other)], of: self.recordID)
                    }
                }
                expect("R5", naming: [otherList.rawValue]) { () throws(ChangeFeedError) in
                    try schema.learning(recordType: "Note", fields: [self.use("key", .list([other]))])
                }
            }
            XCTAssertNil(try schema.learning(recordType: "Note", fields: [use("key", value)]))
        }
    }

    func testR5_aTypeErrorNamesTheRecord() throws {
        let schema = try note(["key": .init(.string)])
        XCTAssertThrowsError(try schema.learning(recordType: "Note", fields: [use("key", 1)], of: recordID)) { error in
            XCTAssertEqual((error as? ChangeFeedError)?.recordID, recordID)
        }
    }

    func testR5_oneRecordCannotTeachTwoTypes() {
        expect("R5", naming: ["STRING", "INT64"]) { () throws(ChangeFeedError) in
            try Schema().learning(recordType: "Note", fields: [self.use("key", "x"), self.use("key", 1)])
        }
    }

    func testR5_anEmptyListTeachesNothingAndFitsEveryList() throws {
        let schema = try note(["tags": .init(.stringList), "title": .init(.string)])
        XCTAssertNil(try schema.learning(recordType: "Note", fields: [use("new", []), use("tags", [])]))
        XCTAssertNoThrow(try schema.check(recordType: "Note", fields: [use("tags", [])]))
        expect("R5", naming: ["STRING", "an empty list"]) { () throws(ChangeFeedError) in
            try schema.learning(recordType: "Note", fields: [self.use("title", [])])
        }
        expect("R5", naming: ["\"new\""]) { () throws(ChangeFeedError) in
            try schema.check(recordType: "Note", fields: [self.use("new", [])])
        }
    }

    func testR5_productionRefusesWhatItDoesNotKnow() throws {
        let schema = try note(["title": .init(.string)])
        XCTAssertNoThrow(try schema.check(recordType: "Note", fields: [use("title", "x")]))
        XCTAssertNoThrow(try schema.check(recordType: "Note", fields: [use("title", nil)]))
        expect("R5", naming: ["\"Nota\""]) { () throws(ChangeFeedError) in
            try schema.check(recordType: "Nota", fields: [])
        }
        expect("R5", naming: ["\"titel\"", "\"Note\""]) { () throws(ChangeFeedError) in
            try schema.check(recordType: "Note", fields: [self.use("titel", "x")])
        }
        expect("R5", naming: ["\"titel\""]) { () throws(ChangeFeedError) in
            try schema.check(recordType: "Note", fields: [self.use("titel", nil)])
        }
        expect("R5", naming: ["STRING", "INT64"]) { () throws(ChangeFeedError) in
            try schema.check(recordType: "Note", fields: [self.use("title", 1)])
        }
    }

    func testR10_theKeySpacesAreApart() throws {
        let schema = try note(["key": .init(.string)])
        let learned = try schema.learning(
            recordType: "Note", fields: [use("key", "x"), use("key", 1, encrypted: true)])
        XCTAssertEqual(learned, try note(["key": .init(.string)], encrypted: ["key": .init(.int64)]))
        expect("R5", naming: ["STRING", "INT64"]) { () throws(ChangeFeedError) in
            try learned?.check(recordType: "Note", fields: [self.use("key", "x", encrypted: true)])
        }
        expect("R5", naming: ["\"key\""]) { () throws(ChangeFeedError) in
            try schema.check(recordType: "Note", fields: [self.use("key", "x", encrypted: true)])
        }
    }

    func testR10_referencesAreNotLearnedAsEncrypted() {
        for value in [RecordValue.reference(.init(recordID: recordID)), [.reference(.init(recordID: recordID))]] {
            expect("R10", naming: ["REFERENCE"]) { () throws(ChangeFeedError) in
                try Schema().learning(recordType: "Note", fields: [self.use("key", value, encrypted: true)])
            }
        }
        XCTAssertThrowsError(try note([:], encrypted: ["key": .init(.asset)]))
    }

    func testR5_deployingOnlyAdds() throws {
        let production = try Schema(recordTypes: [
            "Note": .init(fields: ["title": .init(.string), "old": .init(.int64)]), "Old": .init(),
        ])
        let development = try Schema(recordTypes: [
            "Note": .init(fields: ["title": .init(.string), "new": .init(.bytesList)]),
            "New": .init(fields: ["a": .init(.double)]),
        ])
        XCTAssertEqual(
            try production.merging(development),
            try Schema(recordTypes: [
                "Note": .init(fields: ["title": .init(.string), "old": .init(.int64), "new": .init(.bytesList)]),
                "Old": .init(), "New": .init(fields: ["a": .init(.double)]),
            ]))
        XCTAssertEqual(try production.merging(production), production)
        XCTAssertEqual(try Schema().merging(production), production)
    }

    func testR5_deployingRefusesAConflict() throws {
        let schema = try note(["key": .init(.string)])
        expect("R5", naming: ["\"key\"", "\"Note\"", "STRING", "INT64"]) { () throws(ChangeFeedError) in
            try schema.merging(Schema(recordTypes: ["Note": .init(fields: ["key": .init(.int64)])]))
        }
        let encrypted = try note([:], encrypted: ["key": .init(.string)])
        XCTAssertEqual(
            try schema.merging(encrypted), try note(["key": .init(.string)], encrypted: ["key": .init(.string)]))
        expect("R5", naming: ["encrypted key \"key\"", "DOUBLE"]) { () throws(ChangeFeedError) in
            try encrypted.merging(Schema(recordTypes: ["Note": .init(encryptedFields: ["key": .init(.double)])]))
        }
    }

    func testR5_inventedKeysDoNotGrowTheSchemaForEver() throws {
        let uses = (0..<20_000).map { use("key\($0)", 1) }
        XCTAssertThrowsError(try Schema().learning(recordType: "Note", fields: uses)) { error in
            let error = error as? ChangeFeedError
            XCTAssertEqual(error?.code, .limitExceeded)
            XCTAssertEqual(error?.limit?.name, "schemaBytes")
            XCTAssertEqual(error?.limit?.allowed, Schema.maximumBytes)
        }
        let most = try XCTUnwrap(Schema().learning(recordType: "Note", fields: uses.prefix(10_000)))
        XCTAssertEqual(try Schema(encoded: most.encoded), most, "what is stored can be read")
    }
}
