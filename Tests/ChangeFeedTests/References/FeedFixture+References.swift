import ChangeFeed
import Foundation

/// What the stories about references are told with.
extension FeedFixture {
    static func id(_ name: String, in zoneID: RecordZone.ID) -> Record.ID {
        Record.ID(recordName: name, zoneID: zoneID)
    }

    /// A record that no server has seen, under a parent or with an owner whose end is its own.
    static func note(
        _ name: String, in zoneID: RecordZone.ID, parent: String? = nil, owner: String? = nil
    ) -> Record {
        var record = Record(recordType: "Note", recordID: id(name, in: zoneID))
        if let parent { record.setParent(id(parent, in: zoneID)) }
        if let owner { record["owner"] = .reference(.init(recordID: id(owner, in: zoneID), action: .deleteSelf)) }
        return record
    }

    /// Saves records and deletes others by name, all in one request.
    @discardableResult
    func modify(
        saving records: [Record] = [], deleting names: [String] = [], in zoneID: RecordZone.ID,
        policy: RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> RecordModifyResults {
        try await database.modifyRecords(
            saving: records, deleting: names.map { FeedFixture.id($0, in: zoneID) }, savePolicy: policy,
            atomically: atomically)
    }

    /// Writes one record, whether it was there or not, and gives it as it was saved.
    func saved(_ name: String, title: String = "", in zoneID: RecordZone.ID) async throws -> Record {
        try await save([name], title: title, in: zoneID)[0]
    }

    func record(_ name: String, in zoneID: RecordZone.ID) async throws -> Record {
        try await database.record(for: FeedFixture.id(name, in: zoneID))
    }

    /// The names of the records that a lookup finds.
    func living(of names: [String], in zoneID: RecordZone.ID) async throws -> [String] {
        let results = try await database.records(for: names.map { FeedFixture.id($0, in: zoneID) })
        return names.filter { name in
            if case .success = results[FeedFixture.id(name, in: zoneID)] { true } else { false }
        }
    }

    /// What has gone since a token: each name once, in alphabetical order, with the reason.
    func gone(in zoneID: RecordZone.ID, since token: ZoneChangeToken) async throws -> [String] {
        try await pages(of: zoneID, since: token).flatMap(\.deletions)
            .map { "\($0.recordID.recordName): \($0.reason)" }.sorted()
    }
}

extension RecordModifyResults {
    /// The results in words, in the order of the request: `+name` or `-name`, and the code of the error if there is
    /// one.
    var story: [String] {
        saves.map { "+\($0.recordID.recordName)" + RecordModifyResults.suffix($0.result.map { _ in () }) }
            + deletions.map { "-\($0.recordID.recordName)" + RecordModifyResults.suffix($0.result) }
    }

    private static func suffix(_ result: Result<Void, ChangeFeedError>) -> String {
        if case .failure(let error) = result { " \(error.code)" } else { "" }
    }
}
