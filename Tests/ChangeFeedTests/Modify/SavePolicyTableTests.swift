import ChangeFeed
import Foundation
import XCTest

/// Every save policy with every kind of tag against every state of the server (rules M3, M4, M6, M7; test 22-24).
///
/// The table is written from the rules: 3 policies × 3 tags × 3 states.
final class SavePolicyTableTests: XCTestCase {
    /// What the client's record says of the version it comes from.
    private enum ClientTag: CaseIterable {
        case none, right, stale
    }

    /// What the server has under the id.
    private enum ServerState: CaseIterable {
        case absent, present, deleted
    }

    private enum Outcome: Equatable {
        /// Saved, and then the server has these texts.
        case saved([String: String])
        case refused(ChangeFeedError.Code)
    }

    /// The server's first version, its second, and what the client sets.
    private static let first = ["title": "v1", "notes": "v1", "old": "v1"]
    private static let second = ["title": "v2", "notes": "v2", "new": "v2"]

    private func expectation(_ policy: RecordSavePolicy, _ tag: ClientTag, _ state: ServerState) -> Outcome {
        let merged = ["title": "client", "notes": "v2", "new": "v2"]
        return switch (state, tag, policy) {
        // No tag: a new record. M6: over an existing one an error only if the server's must be unchanged.
        case (.absent, .none, _), (.deleted, .none, _): .saved(["title": "client"])
        case (.present, .none, .ifServerRecordUnchanged): .refused(.serverRecordChanged)
        case (.present, .none, .changedKeys), (.present, .none, .allKeys): .saved(merged)
        // M7: a tag of a record that is not there.
        case (.absent, .right, _), (.absent, .stale, _), (.deleted, .right, _), (.deleted, .stale, _):
            .refused(.unknownItem)
        case (.present, .right, _): .saved(merged)
        // M3, M4: a tag that is not the server's matters under one policy only.
        case (.present, .stale, .ifServerRecordUnchanged): .refused(.serverRecordChanged)
        case (.present, .stale, .changedKeys): .saved(merged)
        // M4: all of the client's keys, and what only the server has stays.
        case (.present, .stale, .allKeys):
            .saved(["title": "client", "notes": "v1", "old": "v1", "new": "v2"])
        }
    }

    /// A server with two versions behind it, brought into a state, and a client's record of that history.
    private func prepare(
        _ tag: ClientTag, _ state: ServerState, in feed: FeedFixture
    ) async throws -> (record: Record, created: Date?) {
        let zone = try await feed.makeZone()
        func texts(_ fields: [String: String], over record: Record) -> Record {
            var record = record
            for key in record.allKeys where fields[key] == nil { record[key] = nil }
            for (key, text) in fields { record[key] = text }
            return record
        }
        let v1 = try await feed.database.save(texts(Self.first, over: feed.note("a", in: zone)))
        feed.clock.advance(by: 60)
        let v2 = try await feed.database.save(texts(Self.second, over: v1))
        XCTAssertEqual(v2.texts, Self.second)
        if state == .deleted { try await feed.delete("a", in: zone) }
        feed.clock.advance(by: 60)

        var record: Record
        switch (tag, state) {
        case (.none, .absent): record = feed.note("never", in: zone)
        case (.none, _): record = feed.note("a", in: zone)
        case (.right, .absent): record = v2.renamed("never")
        case (.stale, .absent): record = v1.renamed("never")
        case (.right, _): record = v2
        case (.stale, _): record = v1
        }
        record["title"] = "client"
        return (record, state == .present ? v1.creationDate : nil)
    }

    func testM3_M4_M6_M7_everyPolicyWithEveryTagInEveryState() async throws {
        var cases = 0
        for policy in RecordSavePolicy.allCases {
            for tag in ClientTag.allCases {
                for state in ServerState.allCases {
                    try await forEachStore { feed in
                        try await tell(policy, tag, state, in: feed)
                        cases += 1
                    }
                }
            }
        }
        XCTAssertGreaterThanOrEqual(cases, 27)
    }

    private func tell(
        _ policy: RecordSavePolicy, _ tag: ClientTag, _ state: ServerState, in feed: FeedFixture
    ) async throws {
        let story = "\(policy), tag \(tag), record \(state)"
        let (record, created) = try await prepare(tag, state, in: feed)
        let zone = record.recordID.zoneID
        let token = try await feed.token(of: zone)

        switch expectation(policy, tag, state) {
        case .refused(let code):
            let result = try await feed.storingNothing(story) { try await feed.save(record, policy) }
            XCTAssertEqual(result.code, code, story)
            XCTAssertEqual(result.error?.recordID, record.recordID, story)

        case .saved(let texts):
            let saved = try await feed.save(record, policy).get()
            let server = try await feed.database.record(for: record.recordID)
            XCTAssertEqual(server.texts, texts, story)
            // M19: what comes back is what the server has, with system fields for the next save.
            XCTAssertEqual(saved, server, story)
            XCTAssertEqual(saved.changedKeys, [], story)
            // R8: a tag that the record never had.
            XCTAssertNotNil(saved.recordChangeTag, story)
            XCTAssertNotEqual(saved.recordChangeTag, record.recordChangeTag, story)
            // R6: creationDate is when this id was first stored.
            XCTAssertEqual(saved.creationDate, created ?? feed.clock.now, story)
            XCTAssertEqual(saved.modificationDate, feed.clock.now, story)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
            XCTAssertEqual(page.story, ["+\(record.recordID.recordName)"], story)
        }
    }
}

extension Record {
    /// The same version, as if the server had given it under another name.
    fileprivate func renamed(_ name: String) -> Record {
        Record(
            version: RecordVersion(
                recordID: Record.ID(recordName: name, zoneID: recordID.zoneID), recordType: recordType,
                system: base.system, payload: base.payload))
    }
}
