#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The contents of assets as files of a directory, durable when an upload has finished.
///
/// ```
/// contents/<digest of the owner>/<first two digits>/<digest of the content>
/// uploads/    contents that are being written
/// staging/    readers' copies
/// ```
///
/// A content is written to a file of its own, brought to the disk and then renamed to its place, so that it is there as
/// a whole or not at all. Names are made of digests only. What a crash left in `uploads` and `staging` is removed when
/// the directory is opened again. The directory is for one process at a time; within it, for one store.
public final class FileAssetStore: AssetStore {
    /// Which contents may not be removed now.
    public let pins = AssetPins()
    private let root: String
    private let uploads: SessionDirectory
    /// The folders that are known to be on the disk.
    private let durableFolders = Locked<Set<String>>([])

    /// The store in a directory, which is created if it is not there; its parent has to be.
    ///
    /// Throws `internalError` or `serviceUnavailable` if the directory cannot be used.
    public init(directory: URL) throws(ChangeFeedError) {
        var path = directory.path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        root = path
        do throws(SystemError) {
            try FileSystem.createDirectory(path)
            try FileSystem.createDirectory(path + "/contents")
            try FileSystem.synchronize(directory: path)
            uploads = try SessionDirectory(in: path + "/uploads")
        } catch {
            throw error.failure(of: "open the directory \"\(path)\"")
        }
    }

    /// Beside the contents.
    public var stagingPath: String? { root + "/staging" }

    /// Begins to store a content.
    public func beginUpload() throws(ChangeFeedError) -> any AssetUpload {
        try Upload(self)
    }

    /// The bytes of a content from the beginning; nil if it is not there.
    public func open(_ key: AssetKey) throws(ChangeFeedError) -> (any AssetStream)? {
        do throws(SystemError) {
            return Stream(try OpenFile(reading: path(of: key)))
        } catch {
            if error.isMissingFile { return nil }
            throw error.failure(of: "read a content")
        }
    }

    /// How many bytes are stored for a content; nil if it is not there.
    public func size(of key: AssetKey) throws(ChangeFeedError) -> Int? {
        FileSignature(path: path(of: key))?.size
    }

    /// Removes a content for good; one that is not there is no error.
    public func remove(_ key: AssetKey) throws(ChangeFeedError) {
        do throws(SystemError) {
            guard try FileSystem.remove(path(of: key)) else { return }
            try FileSystem.synchronize(directory: folder(of: key))
        } catch {
            throw error.failure(of: "remove a content")
        }
    }

    /// Visits the keys of all contents after the given one, in ascending order of their text. Files that no store has
    /// named are passed over.
    public func scan(
        after key: AssetKey?, _ visit: (AssetKey) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        let start = key.map { (owner: $0.ownerName, content: $0.contentName) } ?? (owner: "", content: "")
        for owner in FileSystem.names(in: root + "/contents") where owner >= start.owner {
            let isFirst = owner == start.owner
            for folder in FileSystem.names(in: "\(root)/contents/\(owner)") {
                if isFirst, folder < start.content.prefix(2) { continue }
                for content in FileSystem.names(in: "\(root)/contents/\(owner)/\(folder)") {
                    if isFirst, content <= start.content { continue }
                    guard content.hasPrefix(folder), let key = AssetKey(ownerName: owner, contentName: content)
                    else { continue }
                    if try visit(key) == .stop { return }
                }
            }
        }
    }

    private func folder(of key: AssetKey) -> String {
        "\(root)/contents/\(key.ownerName)/\(key.contentName.prefix(2))"
    }

    private func path(of key: AssetKey) -> String {
        "\(folder(of: key))/\(key.contentName)"
    }

    /// Makes the folder of a key, durably: the entry of a folder that another upload has just made may not be on the
    /// disk yet.
    private func makeFolder(of key: AssetKey) throws(SystemError) -> String {
        let contents = root + "/contents"
        let owner = "\(contents)/\(key.ownerName)"
        let folder = folder(of: key)
        for (path, parent) in [(owner, contents), (folder, owner)] {
            if durableFolders.withLock({ $0.contains(path) }) { continue }
            try FileSystem.createDirectory(path)
            try FileSystem.synchronize(directory: parent)
            durableFolders.withLock { _ = $0.insert(path) }
        }
        return folder
    }
}

extension FileAssetStore {
    private final class Upload: AssetUpload {
        private let store: FileAssetStore
        private let path: String
        private let file: OpenFile
        private var isFinished = false

        init(_ store: FileAssetStore) throws(ChangeFeedError) {
            self.store = store
            path = store.uploads.newPath()
            do throws(SystemError) {
                file = try OpenFile(creating: path)
            } catch {
                throw error.failure(of: "begin an upload")
            }
        }

        deinit {
            if !isFinished { _ = try? FileSystem.remove(path) }
        }

        func write(_ bytes: [UInt8]) throws(ChangeFeedError) {
            do throws(SystemError) {
                try file.write(bytes)
            } catch {
                throw error.failure(of: "write an upload")
            }
        }

        /// A content that is there is replaced by the same bytes, which mends one that was damaged.
        func finish(as key: AssetKey) throws(ChangeFeedError) {
            do throws(SystemError) {
                try file.synchronize()
                let folder = try store.makeFolder(of: key)
                try FileSystem.rename(path, to: store.path(of: key))
                isFinished = true
                try FileSystem.synchronize(directory: folder)
            } catch {
                throw error.failure(of: "finish an upload")
            }
        }
    }

    private final class Stream: AssetStream {
        private let file: OpenFile

        init(_ file: OpenFile) {
            self.file = file
        }

        func next() throws(ChangeFeedError) -> [UInt8]? {
            do throws(SystemError) {
                let chunk = try file.read(upTo: assetChunkBytes)
                return chunk.isEmpty ? nil : chunk
            } catch {
                throw error.failure(of: "read a content")
            }
        }
    }
}
