import ChangeFeed

/// An asset store that lets a story happen at the first bytes of an upload, and counts what goes through.
final class WatchedAssetStore: AssetStore {
    let base: any AssetStore
    let writes = Locked<[Int]>([])
    let uploads = Locked(0)
    let reads = Locked(0)
    private let firstWrite = Locked<(@Sendable () -> Void)?>(nil)

    init(_ base: any AssetStore = InMemoryAssetStore()) {
        self.base = base
    }

    var pins: AssetPins { base.pins }
    var stagingPath: String? { base.stagingPath }
    var writtenBytes: Int { writes.withLock { $0.reduce(0, +) } }
    var uploadCount: Int { uploads.withLock { $0 } }
    var readCount: Int { reads.withLock { $0 } }

    func atFirstWrite(_ happening: @escaping @Sendable () -> Void) {
        firstWrite.withLock { $0 = happening }
    }

    func beginUpload() throws(ChangeFeedError) -> any AssetUpload {
        uploads.withLock { $0 += 1 }
        return Upload(try base.beginUpload(), self)
    }

    func open(_ key: AssetKey) throws(ChangeFeedError) -> (any AssetStream)? {
        reads.withLock { $0 += 1 }
        return try base.open(key)
    }
    func size(of key: AssetKey) throws(ChangeFeedError) -> Int? { try base.size(of: key) }
    func remove(_ key: AssetKey) throws(ChangeFeedError) { try base.remove(key) }

    func scan(
        after key: AssetKey?, _ visit: (AssetKey) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        try base.scan(after: key, visit)
    }

    private final class Upload: AssetUpload {
        let base: any AssetUpload
        let store: WatchedAssetStore

        init(_ base: any AssetUpload, _ store: WatchedAssetStore) {
            self.base = base
            self.store = store
        }

        func write(_ bytes: [UInt8]) throws(ChangeFeedError) {
            store.firstWrite.withLock { happening in
                happening?()
                happening = nil
            }
            store.writes.withLock { $0.append(bytes.count) }
            try base.write(bytes)
        }

        func finish(as key: AssetKey) throws(ChangeFeedError) { try base.finish(as: key) }
    }
}

/// A store to whose next write something happens: something else comes before it, or it never comes to its end.
final class InterruptedStore: ChangeStore {
    private let base = InMemoryStore(randomness: { 1 })
    private let interruption = Locked<(@Sendable () async throws -> Void)?>(nil)
    private let isCut = Locked(false)

    func beforeNextWrite(_ happening: @escaping @Sendable () async throws -> Void) {
        interruption.withLock { $0 = happening }
    }

    /// The next write does all it has to do and then leaves nothing behind.
    func cutNextWrite() {
        isCut.withLock { $0 = true }
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try await base.read(body)
    }

    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        let happening = interruption.withLock { happening in
            defer { happening = nil }
            return happening
        }
        do {
            try await happening?()
        } catch {
            throw ChangeFeedError(.internalError, "The interruption failed: \(error)")
        }
        let isCut = isCut.withLock { isCut in
            defer { isCut = false }
            return isCut
        }
        return try await base.write { (store) throws(ChangeFeedError) in
            let result = try body(store)
            if isCut { throw ChangeFeedError(.internalError, "The power went.") }
            return result
        }
    }
}

/// Bytes that are made when they are asked for.
final class CountedStream: AssetStream {
    private let pieces: Int
    private let pieceBytes: Int
    private(set) var given = 0
    private let onPiece: (Int) -> Void

    init(pieces: Int, pieceBytes: Int, onPiece: @escaping (Int) -> Void = { _ in }) {
        self.pieces = pieces
        self.pieceBytes = pieceBytes
        self.onPiece = onPiece
    }

    func next() -> [UInt8]? {
        guard given < pieces else { return nil }
        onPiece(given)
        given += 1
        return [UInt8](repeating: UInt8(truncatingIfNeeded: given), count: pieceBytes)
    }
}
