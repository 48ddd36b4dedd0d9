/// Which contents of an ``AssetStore`` may not be removed now, because an upload of them is under way or a fetched
/// asset that gives access to them is alive.
///
/// Every store makes one and keeps it. Pins last as long as the process: a store is for one process at a time.
public final class AssetPins: Sendable {
    private let counts = Locked<[AssetKey: Int]>([:])

    /// No pins.
    public init() {}

    fileprivate func pin(_ key: AssetKey) {
        counts.withLock { $0[key, default: 0] += 1 }
    }

    fileprivate func unpin(_ keys: Set<AssetKey>) {
        counts.withLock { counts in
            for key in keys {
                guard let count = counts[key] else { continue }
                counts[key] = count == 1 ? nil : count - 1
            }
        }
    }

    /// Whether anything is pinned.
    package var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    /// Runs the body unless the content is pinned, and says whether it ran. Nothing can be pinned meanwhile, so that
    /// between the look and the removal nobody comes to rely on the content.
    func unlessPinned(
        _ key: AssetKey, _ body: () throws(ChangeFeedError) -> Void
    ) throws(ChangeFeedError) -> Bool {
        try counts.withLock { (counts) throws(ChangeFeedError) in
            if counts[key] != nil { return false }
            try body()
            return true
        }
    }
}

/// Keeps contents from being removed as long as it is alive.
package final class AssetLease: Sendable {
    private let pins: AssetPins
    private let keys = Locked<Set<AssetKey>>([])

    package init(_ pins: AssetPins) {
        self.pins = pins
    }

    deinit {
        pins.unpin(keys.withLock { $0 })
    }

    /// Keeps one more content.
    package func keep(_ key: AssetKey) {
        keys.withLock { keys in
            if keys.insert(key).inserted { pins.pin(key) }
        }
    }
}
