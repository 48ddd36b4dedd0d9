import ChangeFeed
import Foundation
import XCTest

/// A feed with records that have assets, and a library to save and fetch them with.
struct AssetStory {
    let fixture: FeedFixture
    let library: AssetLibrary
    let zoneID: RecordZone.ID
    let databaseID = DatabaseID.private(FeedFixture.userID)

    init(_ store: any AssetStore = InMemoryAssetStore()) async throws {
        fixture = FeedFixture()
        library = AssetLibrary(store: store)
        zoneID = try await fixture.makeZone()
    }

    var store: any AssetStore { library.store }

    func recordID(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: zoneID)
    }

    /// A record that no server has seen.
    func record(_ name: String, photo: Asset? = nil, pages: [Asset]? = nil) -> Record {
        var record = Record(recordType: "Note", recordID: recordID(name))
        record["title"] = name
        if let photo { record["photo"] = photo }
        if let pages { record["pages"] = pages }
        return record
    }

    func prepare(_ records: Record..., policy: RecordSavePolicy = .ifServerRecordUnchanged) throws -> PreparedAssets {
        try library.prepare(.init(saving: records, savePolicy: policy), in: databaseID, limit: 1_000_000)
    }

    /// Saves records with content in this story's asset store, and gives what a fetch gives.
    @discardableResult
    func save(_ name: String, photo: String? = nil, pages: [String]? = nil) async throws -> Record {
        try await save(
            record(
                name, photo: photo.map { Asset(data: Data($0.utf8)) },
                pages: pages?.map { Asset(data: Data($0.utf8)) }))
    }

    func save(_ record: Record) async throws -> Record {
        let prepared = try prepare(record, policy: .allKeys)
        if let failure = prepared.failures.first { throw failure.value }
        let results = try await fixture.database.modifyRecords(saving: [record], savePolicy: .allKeys)
        try withExtendedLifetime(prepared) { for save in results.saves { _ = try save.result.get() } }
        return try await fetch(record.recordID)
    }

    func fetch(_ recordID: Record.ID) async throws -> Record {
        library.giving(try await fixture.database.record(for: recordID), of: databaseID)
    }

    func page(since token: ZoneChangeToken? = nil, keys: [String]? = nil) async throws -> ZoneChanges {
        let page = try await fixture.database.recordZoneChanges(inZoneWith: zoneID, since: token, desiredKeys: keys)
        return library.giving(page, of: databaseID)
    }

    func photo(of record: Record?) throws -> Asset {
        let record = try XCTUnwrap(record)
        let photo: Asset? = record["photo"]
        return try XCTUnwrap(photo)
    }

    func photo(_ name: String, of page: ZoneChanges) throws -> Asset {
        try photo(of: page.modifications.first { $0.recordID.recordName == name })
    }

    func key(_ text: String) -> AssetKey {
        AssetKey(AssetHash(digest: SHA256.hash(text.utf8)), in: databaseID)
    }
}

extension URL {
    var isThere: Bool { FileManager.default.fileExists(atPath: path) }
}
