/// How many live records refer to each content: what a transaction changes of it (rule AS3).
///
/// A value like the others of a write under way: a copy taken before is what to go back to. Nothing is written before
/// ``save(uploads:to:)``.
package struct AssetReferences {
    private struct Count {
        let size: Int
        let stored: Int
        var now: Int
    }

    private let owner: AssetHash
    private var counts: [AssetHash: Count] = [:]

    package init(databaseID: DatabaseID) {
        owner = AssetKey.owner(of: databaseID)
    }

    /// Counts that a record's fields are replaced by others; nil where there is no record before or after.
    ///
    /// Gives how many bytes of content the owner uses more or, below zero, less: each content once. Records without
    /// assets cost a look at the kinds of their fields.
    package mutating func replace(
        _ old: Payload?, by new: Payload?, in store: any StoreReader
    ) throws(ChangeFeedError) -> Int {
        let before = old.map { $0.hasAssets ? $0.assetContents : [] } ?? []
        let after = new.map { $0.hasAssets ? $0.assetContents : [] } ?? []
        var bytes = 0
        for content in after.subtracting(before) {
            var count = try count(of: content, in: store)
            if count.now == 0 { bytes += content.size }
            count.now += 1
            counts[content.hash] = count
        }
        for content in before.subtracting(after) {
            var count = try count(of: content, in: store)
            if count.now == 1 { bytes -= content.size }
            count.now = max(0, count.now - 1)
            counts[content.hash] = count
        }
        return bytes
    }

    /// Counts that all records of a zone go. To be called before they are erased; gives the bytes like `replace`.
    /// Costs one look if the owner has no assets, else a walk over the zone.
    package mutating func release(
        recordsOf zone: ZoneRow, in store: any StoreReader
    ) throws(ChangeFeedError) -> Int {
        guard try hasAny(in: store) else { return 0 }
        var bytes = 0
        var references = self
        try store.scanRecords(of: zone.key, after: .beginning, tombstonesAfter: zone.position) {
            (entry) throws(ChangeFeedError) in
            if case .live(let version) = entry {
                bytes += try references.replace(version.payload, by: nil, in: store)
            }
            return .next
        }
        self = references
        return bytes
    }

    /// Writes the counts. Contents that nothing refers to any more, uploads of this request that nothing came to
    /// refer to among them, become orphans; orphans that something refers to again are none.
    package func save(uploads: [AssetKey] = [], to store: any StoreWriter) throws(ChangeFeedError) {
        let changes = counts.map { (key: AssetKey(owner: owner, content: $0.key).text, count: $0.value) }
            .filter { $0.count.now != $0.count.stored }
            .sorted { precedesByBytes($0.key, $1.key) }
        for (key, count) in changes {
            if count.now == 0 {
                try store.setMetaValue(nil, for: key, of: .assets)
                try store.setMetaValue([], for: key, of: .orphanedAssets)
            } else {
                try store.setMetaValue(AssetReferences.bytes(of: count.now), for: key, of: .assets)
                if count.stored == 0, try store.metaValue(key, of: .orphanedAssets) != nil {
                    try store.setMetaValue(nil, for: key, of: .orphanedAssets)
                }
            }
        }
        for key in uploads.map(\.text) where try store.metaValue(key, of: .assets) == nil {
            try store.setMetaValue([], for: key, of: .orphanedAssets)
        }
    }

    private func count(of content: AssetContent, in store: any StoreReader) throws(ChangeFeedError) -> Count {
        if let count = counts[content.hash] { return count }
        let key = AssetKey(owner: owner, content: content.hash).text
        let stored = try store.metaValue(key, of: .assets).map(AssetReferences.count(in:)) ?? 0
        return Count(size: content.size, stored: stored, now: stored)
    }

    private func hasAny(in store: any StoreReader) throws(ChangeFeedError) -> Bool {
        if !counts.isEmpty { return true }
        let prefix = owner.hexadecimal
        var found = false
        try store.scanMeta(of: .assets, from: prefix) { key, _ in
            found = key.hasPrefix(prefix)
            return .stop
        }
        return found
    }

    private static func bytes(of count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.number(UInt64(count))
        return writer.bytes
    }

    private static func count(in bytes: [UInt8]) throws(ChangeFeedError) -> Int {
        do throws(MalformedBytes) {
            return try bytes.decode { (reader) throws(MalformedBytes) in
                guard let count = Int(exactly: try reader.number()), count > 0, reader.isAtEnd else {
                    throw MalformedBytes(reason: "is no count")
                }
                return count
            }
        } catch {
            throw ChangeFeedError(
                .internalError,
                "How many records refer to an asset cannot be read: the byte string \(error.reason).",
                detail: .damaged)
        }
    }
}
