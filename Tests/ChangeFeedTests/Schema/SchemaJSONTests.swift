import XCTest

@testable import ChangeFeed

/// The schema as readable JSON: stable on the way out, total on the way in.
final class SchemaJSONTests: XCTestCase {
    private let text = """
        {
          "formatVersion": 1,
          "recordTypes": {
            "Empty": {
              "fields": {}
            },
            "Note": {
              "encryptedFields": {
                "diary": { "type": "STRING" }
              },
              "fields": {
                "tags": { "type": "STRING_LIST" },
                "title": { "type": "STRING" }
              }
            }
          }
        }

        """

    private func schema() throws -> Schema {
        try Schema(recordTypes: [
            "Note": .init(
                fields: ["title": .init(.string), "tags": .init(.stringList)],
                encryptedFields: ["diary": .init(.string)]),
            "Empty": .init(),
        ])
    }

    func testR5_theExportIsReadableAndStable() throws {
        XCTAssertEqual(try schema().json, text)
        XCTAssertEqual(Schema().json, "{\n  \"formatVersion\": 1,\n  \"recordTypes\": {}\n}\n")
    }

    func testR5_whatWasExportedIsImported() throws {
        XCTAssertEqual(try Schema(json: text), try schema())
        XCTAssertEqual(try Schema(json: Schema().json), Schema())
        XCTAssertEqual(try Schema(encoded: schema().encoded), try schema())
        func fields(_ types: [Schema.ValueType]) -> [String: Schema.Field] {
            Dictionary(uniqueKeysWithValues: types.map { ($0.rawValue, .init($0)) })
        }
        let types = Schema.ValueType.allCases
        let all = try Schema(recordTypes: [
            "All": .init(fields: fields(types), encryptedFields: fields(types.filter(\.canBeEncrypted)))
        ])
        XCTAssertEqual(try Schema(json: all.json), all)
    }

    func testR5_orderSpaceAndEscapesAreFree() throws {
        let free = #"""
            {"recordTypes":{"\u004eote":{"fields":{"title":{"type":"STRING"},
            "tags":{"type":"STRING_LIST"}} , "encryptedFields":{"diary":{"type":"STRING"}}},"Empty":{"fields":{}}},
            "formatVersion":1}
            """#
        XCTAssertEqual(try Schema(json: free), try schema())
    }

    func testR5_anyCoderGivesTheSameForm() throws {
        let data = try JSONEncoder().encode(schema())
        XCTAssertEqual(try Schema(json: data), try schema())
        XCTAssertEqual(try JSONDecoder().decode(Schema.self, from: Data(text.utf8)), try schema())
        for (old, new) in [(": 1", ": 2"), ("tags", "_")] {
            let bad = text.replacingOccurrences(of: old, with: new)
            XCTAssertThrowsError(try JSONDecoder().decode(Schema.self, from: Data(bad.utf8)))
        }
    }

    func testR5_anErrorSaysWhatIsWrongAndWhere() {
        func replacing(_ old: String, _ new: String) -> String { text.replacingOccurrences(of: old, with: new) }
        let cases: [(json: String, parts: [String])] = [
            ("", ["line 1", "an object"]),
            ("[]", ["line 1", "an object"]),
            ("{", ["a string"]),
            ("{}", ["formatVersion"]),
            ("{\"formatVersion\": 1}", ["recordTypes"]),
            ("{\"recordTypes\": {}}", ["formatVersion"]),
            (text + "x", ["line 18", "after the end"]),
            (replacing(": 1", ": 2"), ["line 2", "version 2", "reads 1"]),
            (replacing(": 1", ": 1.5"), ["line 2"]),
            (replacing(": 1", ": 1e0"), ["line 2", "whole number"]),
            (replacing(": 1", ": 01"), ["line 2", "whole number"]),
            (replacing(": 1", ": 99999999999999999999"), ["line 2", "whole number"]),
            (replacing(": 1", ": \"1\""), ["line 2", "whole number"]),
            (replacing("\"STRING_LIST\"", "\"STRINGS\""), ["line 12", "STRINGS", "recordTypes.Note.fields.tags.type"]),
            (replacing("\"STRING_LIST\"", "7"), ["line 12", "a string", "recordTypes.Note.fields.tags.type"]),
            (replacing("encryptedFields", "encriptedFields"), ["line 8", "encriptedFields", "recordTypes.Note"]),
            (replacing("{ \"type\": \"STRING_LIST\" }", "{}"), ["line 12", "type", "recordTypes.Note.fields.tags"]),
            (replacing("{ \"type\": \"STRING_LIST\" }", "null"), ["line 12", "an object"]),
            (replacing("\"title\"", "\"tags\""), ["line 13", "\"tags\" a second time", "recordTypes.Note.fields"]),
            (replacing("\"Note\"", "\"Empty\""), ["line 7", "\"Empty\" a second time"]),
            (replacing("\"type\": \"STRING_LIST\"", "\"type\": \"STRING\", \"type\": \"STRING\""), ["a second time"]),
            (replacing("\"title\"", "\"ti tle\""), ["ti tle", "\"Note\""]),
            (replacing("\"Note\"", "\"_Note\""), ["_Note", "begin with a letter"]),
            (replacing("\"title\"", "\"\""), ["is empty"]),
            (replacing("\"title\"", "\"\\ud800\""), ["line 13", "escape"]),
            (replacing("\"title\"", "\"\\u+123\""), ["line 13", "escape"]),
            (replacing("\"title\"", "\"\\x\""), ["line 13", "escape"]),
            (replacing("\"title\"", "\"title"), ["line 13"]),
            (replacing("\"STRING_LIST\" },", "\"STRING_LIST\" }"), ["line 13", "\",\" or \"}\""]),
            (replacing("\"diary\": { \"type\": \"STRING\"", "\"diary\": { \"type\": \"ASSET\""), ["diary", "ASSET"]),
        ]
        for (json, parts) in cases {
            XCTAssertThrowsError(try Schema(json: json), json) { error in
                let error = error as? ChangeFeedError
                XCTAssertEqual(error?.code, .invalidArguments, json)
                for part in parts {
                    XCTAssertTrue(error?.message.contains(part) == true, "\(String(describing: error)) lacks \(part)")
                }
            }
        }
    }

    func testR5_hostileDepthAndSizeEndAtOnce() {
        let start = "{\"recordTypes\": "
        for nest in ["[", "{\"a\":"] {
            XCTAssertThrowsError(try Schema(json: start + String(repeating: nest, count: 200_000)))
        }
        XCTAssertThrowsError(try Schema(json: Data(repeating: 0x20, count: Schema.maximumBytes + 1))) { error in
            XCTAssertEqual((error as? ChangeFeedError)?.code, .limitExceeded)
        }
        let long = String(repeating: "x", count: 1_000)
        XCTAssertThrowsError(try Schema(json: text.replacingOccurrences(of: "title", with: long))) { error in
            XCTAssertLessThan((error as? ChangeFeedError)?.message.count ?? .max, 400, "a message is not a megabyte")
        }
    }

    func testR5_damagedBytesGiveAnErrorAndNeverATrap() throws {
        let good = try schema().encoded
        for length in 0..<(good.count - 1) {
            XCTAssertThrowsError(try Schema(encoded: Array(good.prefix(length)))) { error in
                XCTAssertEqual((error as? ChangeFeedError)?.detail, .damaged)
            }
        }
        var random = FeedFixture.Random(seed: 3)
        for _ in 0..<5_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            guard let read = try? Schema(encoded: bytes) else { continue }
            XCTAssertEqual(try Schema(encoded: read.encoded), read)
        }
    }

    func testN5_namesAreHeldToTheLimits() throws {
        let long = String(repeating: "x", count: 300)
        let types = [long: Schema.RecordType()]
        XCTAssertThrowsError(try Schema(recordTypes: types))
        let schema = try Schema(recordTypes: types, limits: .relaxed)
        XCTAssertThrowsError(try Schema(json: schema.json))
        XCTAssertEqual(try Schema(json: schema.json, limits: .relaxed), schema)
        XCTAssertEqual(try Schema(encoded: schema.encoded), schema)
    }
}
