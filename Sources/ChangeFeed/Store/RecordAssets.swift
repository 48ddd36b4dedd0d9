#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The way from one fetched record to the contents of its assets.
///
/// All copies of the record and of the assets taken from it share this object. As long as one is alive, the contents
/// stay in their store and each asset that was asked for its file has one of its own; both end with the last copy,
/// record by record, so that nobody's clean-up takes away what another still reads (case B93).
package final class RecordAssets: Sendable {
    private let library: AssetLibrary
    private let databaseID: DatabaseID
    private let lease: AssetLease
    private let files = Locked<[AssetSlot: StagedFile]>([:])

    init(contents: Set<AssetContent>, library: AssetLibrary, databaseID: DatabaseID) {
        self.library = library
        self.databaseID = databaseID
        lease = AssetLease(library.store.pins)
        for content in contents { lease.keep(AssetKey(content.hash, in: databaseID)) }
    }

    /// The value with this way to the contents of its assets; any other value as it is.
    func bind(_ value: RecordValue, key: String) -> RecordValue {
        switch value {
        case .asset(let asset):
            .asset(bind(asset, at: AssetSlot(key: ByteString(key), item: 0)))
        case .list(let values):
            .list(
                values.enumerated().map { item, value in
                    guard case .asset(let asset) = value else { return value }
                    return .asset(bind(asset, at: AssetSlot(key: ByteString(key), item: item)))
                })
        case .string, .int64, .double, .bytes, .date, .location, .reference:
            value
        }
    }

    private func bind(_ asset: Asset, at slot: AssetSlot) -> Asset {
        Asset(StoredAsset(content: asset.content, access: (self, slot)))
    }

    /// The asset's own file; made at the first call, and again if the app has moved it away.
    func file(of content: AssetContent, at slot: AssetSlot) throws(ChangeFeedError) -> URL {
        try files.withLock { (files) throws(ChangeFeedError) -> URL in
            if let file = files[slot] {
                if !file.isThere { try file.fill(from: try stream(of: content)) }
                return file.url
            }
            let file = try library.stage(content, in: databaseID)
            files[slot] = file
            return file.url
        }
    }

    func stream(of content: AssetContent) throws(ChangeFeedError) -> any AssetStream {
        try library.stream(of: content, in: databaseID)
    }
}

/// Where in a record an asset stands.
struct AssetSlot: Sendable, Hashable {
    let key: ByteString
    /// The place in a list.
    let item: Int
}

// MARK: - What leaves the feed

extension AssetLibrary {
    /// A record as it is given to a client: with the way to the contents of its assets. Costs no bytes.
    package func giving(_ record: Record, of databaseID: DatabaseID) -> Record {
        guard record.base.payload.hasAssets else { return record }
        let assets = RecordAssets(
            contents: record.base.payload.assetContents, library: self, databaseID: databaseID)
        var given = Record(version: record.base.with(assets: assets))
        given.edits = record.edits
        given.parentEdit = record.parentEdit
        return given
    }

    /// A page as it is given to a client. A page without assets is given as it is.
    package func giving(_ page: ZoneChanges, of databaseID: DatabaseID) -> ZoneChanges {
        let hasAssets = page.changes.indices.contains { index in
            guard case .modified(let record) = page.changes[index] else { return false }
            return record.base.payload.hasAssets
        }
        guard hasAssets else { return page }
        return ZoneChanges(
            changes: page.changes.map { change in
                guard case .modified(let record) = change else { return change }
                return .modified(giving(record, of: databaseID))
            },
            changeToken: page.changeToken,
            clientChangeTokenData: page.clientChangeTokenData,
            moreComing: page.moreComing
        )
    }

    /// The outcomes of a request's saves as they are given to a client. Without assets they are given as they are.
    package func giving(_ results: RecordModifyResults, of databaseID: DatabaseID) -> RecordModifyResults {
        // By index: a copy of each result costs more than the question.
        let hasAssets = results.saves.indices.contains { index in
            guard case .success(let record) = results.saves[index].result else { return false }
            return record.base.payload.hasAssets
        }
        guard hasAssets else { return results }
        return RecordModifyResults(
            saves: results.saves.map { .init(recordID: $0.recordID, result: giving($0.result, of: databaseID)) },
            deletions: results.deletions
        )
    }

    /// The outcome of a save or a lookup as it is given to a client. Errors are given as they are: a conflict's
    /// server record has the identity of its assets only (rule AS5).
    package func giving(
        _ result: Result<Record, ChangeFeedError>, of databaseID: DatabaseID
    ) -> Result<Record, ChangeFeedError> {
        result.map { giving($0, of: databaseID) }
    }
}
