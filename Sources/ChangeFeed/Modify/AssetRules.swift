/// What happens to the assets of a request before its transaction: new content is brought to the server, and all
/// content that the request refers to is kept there until the transaction is over (rules AS1, AS6).
package struct PreparedAssets: Sendable {
    /// Why records cannot be saved, by their place in the request.
    package fileprivate(set) var failures: [Int: ChangeFeedError] = [:]
    /// The contents that were stored for this request. Where the transaction comes to refer to none, they are garbage.
    package fileprivate(set) var uploads: [AssetKey] = []
    /// Keeps the contents; nil if there are none.
    package fileprivate(set) var lease: AssetLease?

    /// Nothing to prepare.
    package init() {}
}

extension AssetLibrary {
    /// Brings the contents that a request's records refer to, to the server.
    ///
    /// - A local asset is read by stream and hashed on the way. Content that is known to be there costs no bytes.
    /// - An asset that was fetched from this database costs no bytes; one from another is read from there.
    /// - A missing file is `assetFileNotFound` (16), one that changes meanwhile `assetFileModified` (17), content of
    ///   more than `limit` bytes `limitExceeded`; each for its record alone.
    ///
    /// Throws only what is not a record's fault: a failing store, or the caller's cancellation.
    package func prepare(
        _ request: RecordModifyRequest, in databaseID: DatabaseID, limit: Int
    ) throws(ChangeFeedError) -> PreparedAssets {
        var prepared = PreparedAssets()
        for (index, record) in request.saving.enumerated() {
            do throws(ChangeFeedError) {
                // By index: most records have no assets, and a copy of each edit costs more than the question.
                for place in record.edits.indices where record.edits[place].mayLink {
                    guard record.edits[place].space == .plain, let value = record.edits[place].value else { continue }
                    try prepare(value, in: databaseID, limit: limit, &prepared)
                }
                // Under this policy what the record was fetched with is written, too.
                guard request.savePolicy == .allKeys, record.base.payload.hasAssets else { continue }
                for field in record.fields { try prepare(field.value, in: databaseID, limit: limit, &prepared) }
            } catch {
                guard error.isOfOneAsset else { throw error }
                prepared.failures[index] = error.naming(record.recordID)
            }
        }
        return prepared
    }

    private func prepare(
        _ value: RecordValue, in databaseID: DatabaseID, limit: Int, _ prepared: inout PreparedAssets
    ) throws(ChangeFeedError) {
        switch value {
        case .asset(let asset):
            try prepare(asset, in: databaseID, limit: limit, &prepared)
        case .list(let values):
            for case .asset(let asset) in values { try prepare(asset, in: databaseID, limit: limit, &prepared) }
        case .string, .int64, .double, .bytes, .date, .location, .reference:
            return
        }
    }

    private func prepare(
        _ asset: Asset, in databaseID: DatabaseID, limit: Int, _ prepared: inout PreparedAssets
    ) throws(ChangeFeedError) {
        let lease = prepared.lease ?? AssetLease(store.pins)
        prepared.lease = lease
        switch asset.form {
        case .stored(let stored):
            guard let content = stored.content else { throw .assetWithoutFile }
            try AssetLibrary.check(size: content.size, limit: limit)
            if try keep(content, in: databaseID, lease) { return }
            guard stored.isLoaded else { throw .assetWithoutFile }
            let stream = try stored.stream()
            _ = try put(stream, in: databaseID, keeping: lease, limit: limit)
            prepared.uploads.append(AssetKey(content.hash, in: databaseID))
        case .local(let local):
            var known: AssetContent?
            switch local.known {
            case .nothing: break
            case .unreadable: throw .assetWithoutFile
            case .content(let content): known = content
            }
            if let size = local.size { try AssetLibrary.check(size: size, limit: limit) }
            if let known, local.isUnchanged, try keep(known, in: databaseID, lease) { return }
            let stream = try local.stream()
            let signature = (stream as? AssetFileStream)?.signature
            let content = try put(stream, in: databaseID, keeping: lease, limit: limit) {
                (content) throws(ChangeFeedError) in
                // Known is what the record was compared, hashed or archived by: it has to be that which is stored.
                guard local.learn(content, signature) == content else { throw local.modified }
            }
            prepared.uploads.append(AssetKey(content.hash, in: databaseID))
        }
    }

    /// Keeps a content if it is there. It is kept before the look, so that it cannot go in between.
    private func keep(
        _ content: AssetContent, in databaseID: DatabaseID, _ lease: AssetLease
    ) throws(ChangeFeedError) -> Bool {
        lease.keep(AssetKey(content.hash, in: databaseID))
        return try contains(content, in: databaseID)
    }
}

extension LocalAsset {
    fileprivate var modified: ChangeFeedError {
        if case .file(let url) = origin { return AssetFileStream.modified(url) }
        return ChangeFeedError(.assetFileModified, "The asset's bytes changed while they were saved.", rule: "AS6")
    }
}

extension ChangeFeedError {
    /// The asset of a record that was archived, or whose content is no longer on the server.
    fileprivate static var assetWithoutFile: ChangeFeedError {
        ChangeFeedError(
            .assetFileNotFound,
            "The asset's content is not on the server and there is no file to read it from: set the field again.",
            rule: "AS6")
    }

    /// Whether an asset is to blame and not the store or the caller.
    fileprivate var isOfOneAsset: Bool {
        switch code {
        case .assetFileNotFound, .assetFileModified, .assetNotAvailable, .limitExceeded: true
        default: false
        }
    }
}
