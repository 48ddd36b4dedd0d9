/// The contents of assets in memory: for tests, and for a feed that lives no longer than its process.
public final class InMemoryAssetStore: AssetStore {
    /// Which contents may not be removed now.
    public let pins = AssetPins()
    private let contents = Locked<[AssetKey: [UInt8]]>([:])

    /// A store without contents.
    public init() {}

    /// Begins to store a content.
    public func beginUpload() -> any AssetUpload {
        Upload(self)
    }

    /// The bytes of a content from the beginning; nil if it is not there.
    public func open(_ key: AssetKey) -> (any AssetStream)? {
        contents.withLock { $0[key] }.map(Stream.init)
    }

    /// How many bytes are stored for a content; nil if it is not there.
    public func size(of key: AssetKey) -> Int? {
        contents.withLock { $0[key]?.count }
    }

    /// Removes a content; one that is not there is no error.
    public func remove(_ key: AssetKey) {
        contents.withLock { $0[key] = nil }
    }

    /// Visits the keys of all contents after the given one, in ascending order of their text.
    public func scan(
        after key: AssetKey?, _ visit: (AssetKey) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        let start = key?.text ?? ""
        let keys = contents.withLock { $0.keys.map { (text: $0.text, key: $0) } }
            .filter { start < $0.text }
            .sorted { $0.text < $1.text }
        for key in keys where try visit(key.key) == .stop { return }
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
            store.contents.withLock { $0[key] = bytes }
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
