/// Where a collection of assets goes on: first the contents that records no longer refer to, then a look through the
/// store for contents that no transaction ever came to know, left by a crash after an upload.
package enum AssetCollectionCursor: Sendable, Hashable {
    case orphans(from: String)
    case strays(after: AssetKey?)

    /// Where a collection begins.
    package static let beginning = AssetCollectionCursor.orphans(from: "")
}

/// What one step of a collection did.
package struct AssetCollectionStep: Sendable {
    /// How many contents were removed.
    package fileprivate(set) var removed = 0
    /// How many contents were looked at.
    package fileprivate(set) var visited = 0
    /// Why a content could not be removed: the first such error. It is tried again by the next collection.
    package fileprivate(set) var failure: ChangeFeedError?
    /// Where to go on; nil at the end.
    package fileprivate(set) var next: AssetCollectionCursor?
}

extension AssetLibrary {
    /// One step of the collection of contents that nothing refers to: looks at no more than `limit` of them (rule AS3).
    ///
    /// It runs within a transaction that writes, so that none that comes to refer to a content is under way, and it
    /// removes a content only if no record refers to it and nobody has pinned it. An upload pins its content before
    /// it becomes visible, and a request before it looks whether the content is there: it is either kept, or found
    /// missing and stored again. The content goes before its row: a crash in between leaves a row, and the next
    /// collection takes that, so nothing is lost and nothing stays for ever.
    package func collect(
        at cursor: AssetCollectionCursor, limit: Int, in store: any StoreWriter
    ) throws(ChangeFeedError) -> AssetCollectionStep {
        switch cursor {
        case .orphans(let key): try collectOrphans(from: key, limit: limit, in: store)
        case .strays(let key): try collectStrays(after: key, limit: limit, in: store)
        }
    }

    private func collectOrphans(
        from start: String, limit: Int, in store: any StoreWriter
    ) throws(ChangeFeedError) -> AssetCollectionStep {
        var rows: [String] = []
        var next: String?
        try store.scanMeta(of: .orphanedAssets, from: start) { key, _ in
            if rows.count >= limit {
                next = key
                return .stop
            }
            rows.append(key)
            return .next
        }
        var step = AssetCollectionStep()
        step.next = next.map { .orphans(from: $0) } ?? .strays(after: nil)
        for row in rows {
            step.visited += 1
            if let key = AssetKey(text: row), try store.metaValue(row, of: .assets) == nil {
                guard remove(key, &step) else { continue }
            }
            try store.setMetaValue(nil, for: row, of: .orphanedAssets)
        }
        return step
    }

    private func collectStrays(
        after start: AssetKey?, limit: Int, in store: any StoreWriter
    ) throws(ChangeFeedError) -> AssetCollectionStep {
        var keys: [AssetKey] = []
        try self.store.scan(after: start) { key in
            keys.append(key)
            return keys.count >= limit ? .stop : .next
        }
        var step = AssetCollectionStep()
        step.next = keys.count < limit ? nil : .strays(after: keys.last)
        for key in keys {
            step.visited += 1
            // An orphan is left to the other part, which takes its row, too.
            guard try store.metaValue(key.text, of: .assets) == nil,
                try store.metaValue(key.text, of: .orphanedAssets) == nil
            else { continue }
            _ = remove(key, &step)
        }
        return step
    }

    /// Removes a content unless it is pinned; false if it is still there.
    private func remove(_ key: AssetKey, _ step: inout AssetCollectionStep) -> Bool {
        do throws(ChangeFeedError) {
            let isRemoved = try store.pins.unlessPinned(key) { () throws(ChangeFeedError) in try store.remove(key) }
            if isRemoved { step.removed += 1 }
            return isRemoved
        } catch {
            step.failure = step.failure ?? error
            return false
        }
    }
}
