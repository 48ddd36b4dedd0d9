/// The contents of assets in memory: for tests, and for a feed that lives no longer than its process.
public final class InMemoryAssetStore: AssetStore {
    /// Which contents may not be removed now.
    public let pins = AssetPins()
    private struct State {
        var contents: [AssetKey: [UInt8]] = [:]
        /// All keys in order, and maybe some that are gone; nil until a scan needs it.
        var order: [(text: String, key: AssetKey)]?

        mutating func sortedKeys() -> [(text: String, key: AssetKey)] {
            if let order { return order }
            let sorted = contents.keys.map { (text: $0.text, key: $0) }.sorted { $0.text < $1.text }
            order = sorted
            return sorted
        }
    }
    private let state = Locked(State())

    /// A store without contents.
    public init() {}

    /// Begins to store a content.
    public func beginUpload() -> any AssetUpload {
        Upload(self)
    }

    /// The bytes of a content from the beginning; nil if it is not there.
    public func open(_ key: AssetKey) -> (any AssetStream)? {
        state.withLock { $0.contents[key] }.map(Stream.init)
    }

    /// How many bytes are stored for a content; nil if it is not there.
    public func size(of key: AssetKey) -> Int? {
        state.withLock { $0.contents[key]?.count }
    }

    /// Removes a content; one that is not there is no error.
    public func remove(_ key: AssetKey) {
        state.withLock { $0.contents[key] = nil }
    }

    /// Visits the keys of all contents after the given one, in ascending order of their text.
    public func scan(
        after key: AssetKey?, _ visit: (AssetKey) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        let start = key?.text ?? ""
        let keys = state.withLock { $0.sortedKeys() }
        var low = 0
        var high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if keys[middle].text <= start { low = middle + 1 } else { high = middle }
        }
        for (_, key) in keys[low...] where size(of: key) != nil {
            if try visit(key) == .stop { return }
        }
    }

    private final class Upload: AssetUpload {
        private let store: InMemoryAssetStore
        private var bytes: [UInt8] = []

        init(_ store: InMemoryAssetStore) {
            self.store = store
        }

        func write(_ bytes: [UInt8]) {
            self.bytes.append(contentsOf: bytes)
        }

        func finish(as key: AssetKey) {
            store.state.withLock { state in
                if state.contents.updateValue(bytes, forKey: key) == nil { state.order = nil }
            }
        }
    }

    private final class Stream: AssetStream {
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        func next() -> [UInt8]? {
            guard offset < bytes.count else { return nil }
            let end = min(bytes.count, offset + assetChunkBytes)
            defer { offset = end }
            return Array(bytes[offset..<end])
        }
    }
}
