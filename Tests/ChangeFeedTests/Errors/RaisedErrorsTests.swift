import ChangeFeed
import Foundation
import XCTest

/// Every code that the library raises is raised here (section 1.12).
final class RaisedErrorsTests: XCTestCase {
    private typealias Story = @Sendable (FeedFixture) async throws -> Void

    private static func record(_ name: String, in zoneID: RecordZone.ID) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name, zoneID: zoneID))
        record["title"] = "title"
        return record
    }

    /// For each code a story that ends with it.
    private let stories: [ChangeFeedError.Code: Story] = [
        .internalError: { _ in
            _ = try Payload(encoded: [9])
        },
        .partialFailure: { feed in
            let zone = try await feed.makeZone()
            let missing = RecordZone.ID(zoneName: "Missing")
            let operation = FetchRecordZoneChangesOperation(recordZoneIDs: [zone, missing])
            for await event in operation.events(from: feed.database) {
                if case .completed(let result) = event { try result.get() }
            }
        },
        .unknownItem: { feed in
            let zone = try await feed.makeZone()
            _ = try await feed.database.record(for: Record.ID(recordName: "a", zoneID: zone))
        },
        .invalidArguments: { feed in
            _ = try await feed.database.modifyRecords(RecordModifyRequest())
        },
        .serverRecordChanged: { feed in
            let zone = try await feed.makeZone()
            for _ in 0..<2 { _ = try await feed.database.save(record("a", in: zone)) }
        },
        .operationCancelled: { feed in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await feed.database.databaseChanges(since: nil)
            }
            try await task.value
        },
        .changeTokenExpired: { feed in
            let zone = try await feed.makeZone()
            let token = try await feed.token(of: zone)
            try await feed.deleteZone(zone)
            try await feed.makeZone()
            _ = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
        },
        .batchRequestFailed: { feed in
            let zone = try await feed.makeZone()
            _ = try await feed.database.save(record("a", in: zone))
            let results = try await feed.database.modifyRecords(
                saving: [record("b", in: zone), record("a", in: zone)])
            _ = try XCTUnwrap(results.saves.first).result.get()
        },
        .badDatabase: { feed in
            _ = try await feed.container.database(.public, for: "anna").save(RecordZone(zoneName: "Notes"))
        },
        .zoneNotFound: { feed in
            _ = try await feed.database.recordZoneChanges(
                inZoneWith: RecordZone.ID(zoneName: "Missing"), since: nil)
        },
        .limitExceeded: { feed in
            let zone = try await feed.makeZone()
            let records = (0...feed.container.configuration.limits.itemsPerRequest).map { record("r\($0)", in: zone) }
            _ = try await feed.database.modifyRecords(saving: records)
        },
        .notAuthenticated: { feed in
            let device = feed.container.device("phone")
            _ = try await device.database(.private).databaseChanges(since: nil)
        },
        .permissionFailure: { feed in
            let device = feed.container.device("phone")
            device.setCondition(.restricted)
            _ = try await device.database(.private).databaseChanges(since: nil)
        },
        .accountTemporarilyUnavailable: { feed in
            let device = feed.container.device("phone")
            device.signIn(FeedFixture.userID)
            device.setCondition(.temporarilyUnavailable)
            _ = try await device.database(.private).databaseChanges(since: nil)
        },
        .quotaExceeded: { _ in
            var configuration = Container.Configuration()
            configuration.quota = { _ in 8 }
            let database = Container(identifier: "small", configuration: configuration).database(.private, for: "anna")
            let zone = try await database.save(RecordZone(zoneName: "Notes")).zoneID
            _ = try await database.save(record("a", in: zone))
        },
        .referenceViolation: { feed in
            let zone = try await feed.makeZone()
            var child = record("child", in: zone)
            child.setParent(Record.ID(recordName: "missing", zoneID: zone))
            _ = try await feed.database.save(child)
        },
        .assetFileNotFound: { _ in
            _ = try Asset(fileURL: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)).data()
        },
        .assetFileModified: { _ in
            let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: url) }
            try Data("before".utf8).write(to: url)
            let stream = try Asset(fileURL: url).stream()
            try Data("afterwards".utf8).write(to: url)
            _ = try stream.next()
        },
        .assetNotAvailable: { _ in
            _ = try Asset(data: Data()).loadFile()
        },
        .serviceUnavailable: { _ in
            throw SystemError(ENOSPC).failure(of: "keep an asset")
        },
        .userDeletedZone: { feed in
            let zone = try await feed.makeZone()
            try await feed.container.purgeZone(zone, for: FeedFixture.userID)
            _ = try await feed.database.recordZoneChanges(inZoneWith: zone, since: nil)
        },
    ]

    func test1_12_everyCodeIsRaisedByItsStory() async throws {
        try await overEveryStore {
            for (code, story) in stories.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                do {
                    try await story(FeedFixture())
                    XCTFail("\(code) is not raised")
                } catch let error as ChangeFeedError {
                    XCTAssertEqual(error.code, code, "\(error)")
                }
            }
        }
    }

    func test1_12_everyCodeThatTheSourcesNameHasAStory() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../Sources/ChangeFeed")
        var raised: Set<String> = []
        let files = try XCTUnwrap(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            for match in try String(contentsOf: file, encoding: .utf8).matches(of: /ChangeFeedError\(\s*\.(\w+)/) {
                raised.insert(String(match.1))
            }
        }
        XCTAssertFalse(raised.isEmpty)
        XCTAssertEqual(raised.sorted(), stories.keys.map { "\($0)" }.sorted())
    }
}
