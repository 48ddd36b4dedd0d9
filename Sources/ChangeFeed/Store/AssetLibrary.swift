#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The contents of assets above their store: hashing what comes in, checking what goes out, copies for readers.
package final class AssetLibrary: Sendable {
    package let store: any AssetStore

    private struct WeakDirectory: Sendable {
        weak var directory: SessionDirectory?
    }
    /// Where readers' copies are; gone when there are none.
    private let staging = Locked(WeakDirectory())

    package init(store: any AssetStore) {
        self.store = store
    }

    /// Whether a content is there as a whole, as far as its size tells.
    func contains(_ content: AssetContent, in databaseID: DatabaseID) throws(ChangeFeedError) -> Bool {
        try store.size(of: AssetKey(content.hash, in: databaseID)) == content.size
    }

    /// Stores all bytes of a stream, hashing them on the way, and gives what they are known by.
    ///
    /// The lease keeps the content from before it becomes visible. `check` is asked once all bytes are read: what it
    /// throws stops the upload, and so does a content of more than `limit` bytes.
    package func put(
        _ stream: any AssetStream, in databaseID: DatabaseID, keeping lease: AssetLease, limit: Int,
        check: (AssetContent) throws(ChangeFeedError) -> Void = { _ in }
    ) throws(ChangeFeedError) -> AssetContent {
        let upload = try store.beginUpload()
        var hasher = SHA256()
        var size = 0
        while let chunk = try stream.next() {
            // Content is made visible before the transaction begins, so that it may still be given up.
            if Task.isCancelled { throw .cancelled }
            size += chunk.count
            try AssetLibrary.check(size: size, limit: limit)
            hasher.update(chunk)
            try upload.write(chunk)
        }
        let content = AssetContent(size: size, hash: AssetHash(hasher))
        try check(content)
        let key = AssetKey(content.hash, in: databaseID)
        lease.keep(key)
        try upload.finish(as: key)
        return content
    }

    static func check(size: Int, limit: Int) throws(ChangeFeedError) {
        guard size > limit else { return }
        throw ChangeFeedError(
            .limitExceeded, "The asset has \(size) bytes or more, where \(limit) are allowed: make it smaller.",
            limit: .init(name: "assetBytes", allowed: limit, found: size))
    }

    /// The bytes of a content; they are held against its hash while they are read.
    package func stream(
        of content: AssetContent, in databaseID: DatabaseID
    ) throws(ChangeFeedError) -> any AssetStream {
        let stream: (any AssetStream)?
        do throws(ChangeFeedError) {
            stream = try store.open(AssetKey(content.hash, in: databaseID))
        } catch {
            throw AssetLibrary.notAvailable(because: error.message)
        }
        guard let stream else { throw AssetLibrary.notAvailable(because: "It is no longer on the server.") }
        return CheckedAssetStream(stream, content: content)
    }

    /// A copy of a content in a file of its own.
    func stage(_ content: AssetContent, in databaseID: DatabaseID) throws(ChangeFeedError) -> StagedFile {
        let stream = try stream(of: content, in: databaseID)
        let file: StagedFile
        do throws(SystemError) {
            file = StagedFile(in: try stagingDirectory())
        } catch {
            throw AssetLibrary.notAvailable(because: "There is no place for its file: \(error.text).")
        }
        try file.fill(from: stream)
        return file
    }

    private func stagingDirectory() throws(SystemError) -> SessionDirectory {
        try staging.withLock { (staging) throws(SystemError) in
            if let directory = staging.directory { return directory }
            let directory: SessionDirectory
            if let path = store.stagingPath {
                directory = try SessionDirectory(in: path)
            } else {
                directory = try SessionDirectory()
            }
            staging.directory = directory
            return directory
        }
    }

    static func notAvailable(
        because reason: String, detail: ChangeFeedError.Detail? = nil
    ) -> ChangeFeedError {
        ChangeFeedError(
            .assetNotAvailable, "The asset cannot be loaded now. \(reason) Fetch its record again.",
            rule: "AS6", detail: detail)
    }
}

/// Bytes that are held against the content they are to be. The last piece is given only if all of them are right.
final class CheckedAssetStream: AssetStream {
    private let stream: any AssetStream
    private let content: AssetContent
    private var hasher = SHA256()
    private var size = 0

    init(_ stream: any AssetStream, content: AssetContent) {
        self.stream = stream
        self.content = content
    }

    func next() throws(ChangeFeedError) -> [UInt8]? {
        let chunk: [UInt8]?
        do throws(ChangeFeedError) {
            chunk = try stream.next()
        } catch {
            throw AssetLibrary.notAvailable(because: error.message)
        }
        if let chunk {
            hasher.update(chunk)
            size += chunk.count
        }
        let isOver = chunk == nil || size >= content.size
        if isOver, size != content.size || AssetHash(hasher) != content.hash {
            throw AssetLibrary.notAvailable(
                because: "What is stored is not what its hash says.", detail: .damaged)
        }
        return chunk
    }
}
