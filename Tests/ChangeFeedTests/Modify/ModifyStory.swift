import ChangeFeed
import Foundation
import XCTest

// What the stories about writing share: records to write, and the proof that a refused request left nothing behind.

extension FeedFixture {
    /// A new record of the type `Note` with these fields.
    func note(_ name: String, in zoneID: RecordZone.ID, _ fields: KeyValuePairs<String, RecordValue> = [:]) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
        for (key, value) in fields { record[key] = value }
        return record
    }

    /// Writes one record under a policy and gives its result.
    func save(_ record: Record, _ policy: RecordSavePolicy) async throws -> Result<Record, ChangeFeedError> {
        let results = try await database.modifyRecords(saving: [record], savePolicy: policy)
        XCTAssertEqual(results.saves.count, 1)
        return try XCTUnwrap(results.saves.first).result
    }

    /// Everything that the user's private database holds, the default zone apart: one line a zone and a record.
    func contents() async throws -> [String] {
        var lines: [String] = []
        for zone in try await database.allRecordZones() where zone.zoneID != .default {
            lines.append("\(zone.zoneID) \(String(describing: zone.creationDate))")
            for page in try await pages(of: zone.zoneID) {
                lines += page.modifications.map { "\($0.recordID) \($0.encoded().base64EncodedString())" }
            }
        }
        return lines.sorted()
    }

    /// Runs what is to be refused, and proves that it stored nothing: the head of the database's feed is where it was,
    /// and so is every zone and record.
    func storingNothing<Outcome>(
        _ story: String = "", file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Outcome
    ) async throws -> Outcome {
        let head = try await databaseToken()
        let before = try await contents()

        let outcome = try await body()

        let page = try await database.databaseChanges(since: head)
        XCTAssertEqual(page.story, [], "\(story): the feed has news", file: file, line: line)
        XCTAssertEqual(page.changeToken, head, "\(story): the head has moved", file: file, line: line)
        let after = try await contents()
        XCTAssertTrue(after == before, "\(story): something was stored", file: file, line: line)
        return outcome
    }

    /// As ``storingNothing(_:file:line:_:)``, for a request that is to be refused as a whole.
    @discardableResult
    func refuses<Outcome>(
        _ code: ChangeFeedError.Code, rule: String? = nil, _ story: String = "", file: StaticString = #filePath,
        line: UInt = #line, _ body: () async throws -> Outcome
    ) async throws -> ChangeFeedError? {
        try await storingNothing(story, file: file, line: line) {
            do {
                let outcome = try await body()
                XCTFail("\(story): not refused but \(outcome)", file: file, line: line)
                return nil
            } catch let error as ChangeFeedError {
                XCTAssertEqual(error.code, code, "\(story): \(error)", file: file, line: line)
                if let rule { XCTAssertEqual(error.rule, rule, "\(story): \(error)", file: file, line: line) }
                return error
            }
        }
    }
}

extension Result where Failure == ChangeFeedError {
    /// The error, if it is one.
    var error: ChangeFeedError? {
        if case .failure(let error) = self { error } else { nil }
    }

    var code: ChangeFeedError.Code? { error?.code }
}

extension RecordModifyResults {
    /// What became of the items, in request order: `+name`, `-name`, or `!name code`.
    var outcomes: [String] {
        saves.map { tell("+", $0.recordID, $0.result.error) }
            + deletions.map { tell("-", $0.recordID, $0.result.error) }
    }

    private func tell(_ sign: String, _ recordID: Record.ID, _ error: ChangeFeedError?) -> String {
        error.map { "!\(recordID.recordName) \($0.code)" } ?? "\(sign)\(recordID.recordName)"
    }
}

extension RecordZoneModifyResults {
    /// What became of the items, in request order: `+name`, `-name`, or `!name code`.
    var outcomes: [String] {
        saves.map { tell("+", $0.zoneID, $0.result.error) }
            + deletions.map { tell("-", $0.zoneID, $0.result.error) }
    }

    private func tell(_ sign: String, _ zoneID: RecordZone.ID, _ error: ChangeFeedError?) -> String {
        error.map { "!\(zoneID.zoneName) \($0.code)" } ?? "\(sign)\(zoneID.zoneName)"
    }
}

extension Record {
    /// The fields that are text, by key.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        for field in self { if case .string(let text) = field.value { texts[field.key] = text } }
        return texts
    }
}
