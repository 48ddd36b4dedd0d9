import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A store in a file: the system's SQLite under the rules of the feed.
///
/// ```swift
/// let store = try await SQLiteStore.open(at: URL(filePath: "/var/lib/notes/feed.db"))
/// let container = Container(identifier: "org.example.notes", store: store)
/// ```
///
/// What a write has returned for is on the disk, with the durability that the ``Configuration`` asks for. Writes of
/// concurrent callers share a commit. Readers see the state of the last commit, never wait for writers, and are never
/// waited for. Nothing of it blocks the threads that Swift's tasks run on.
///
/// One process writes; any number may read, each with ``Configuration/Access/readOnly``. Beside the file stand
/// SQLite's own `-wal` and `-shm`, and `-writer`, which says which process writes: they belong to the file while it is
/// open, and `-wal` holds commits of a process that has crashed. To put back a copy by hand, close the store and remove
/// them first; tokens and tags that were given after the copy was made are noticed then (rule 6.1.5). A file that is
/// swapped while a process has it open is not noticed.
///
/// The file is an ordinary SQLite database with a layout to be looked at (``backup(to:)`` tells how to take a copy):
/// the views `zones`, `records`, `tombstones` and `links` are for people.
public final class SQLiteStore: ChangeStore {
    /// Where the file is.
    public let url: URL
    /// How the store was opened.
    public let configuration: Configuration
    let path: String
    let writers: WriterQueue?
    let readers: ReaderPool
    private let lock: WriterLock?

    private init(
        url: URL, configuration: Configuration, writers: WriterQueue?, readers: ReaderPool, lock: WriterLock?
    ) {
        self.url = url
        self.configuration = configuration
        path = url.path
        self.writers = writers
        self.readers = readers
        self.lock = lock
    }

    /// Opens a store, which is made if it is not there, and brings the layout of an older one up to date.
    ///
    /// Throws, and changes nothing,
    /// - `serviceUnavailable` if another process, or this one, has it open for writing, or the disk is full;
    /// - `invalidArguments` (detail `foreign`) if the file is a database of something else;
    /// - `incompatibleVersion` if a later version of this library made it;
    /// - `internalError` (detail `damaged`) if it is no database, or a damaged or truncated one;
    /// - `permissionFailure` if it may not be written to;
    /// - `internalError` if its directory is not there.
    public static func open(
        at url: URL, configuration: Configuration = Configuration()
    ) async throws(ChangeFeedError) -> SQLiteStore {
        let result: Result<SQLiteStore, ChangeFeedError> = await withUnsafeContinuation { continuation in
            openingQueue.async {
                do throws(ChangeFeedError) {
                    continuation.resume(returning: .success(try SQLiteStore(opening: url, configuration)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// As ``open(at:configuration:)``, for callers that cannot wait.
    package convenience init(opening url: URL, _ configuration: Configuration) throws(ChangeFeedError) {
        let path = url.path
        let opening = Opening(path: path, configuration: configuration)
        switch configuration.access {
        case .readWrite:
            let (writer, lock) = try opening.writer()
            let readers = try opening.readers(of: writer.identity)
            self.init(
                url: url, configuration: configuration, writers: WriterQueue(writer, path: path),
                readers: ReaderPool(readers, path: path), lock: lock)
        case .readOnly:
            self.init(
                url: url, configuration: configuration, writers: nil,
                readers: ReaderPool(try opening.readersAlone(), path: path), lock: nil)
        }
    }

    /// Lets finish what runs and closes the file. Calls that come later throw `serviceUnavailable`.
    ///
    /// A store that is let go of closes by itself, but then nobody can wait for it.
    public func close() async {
        await readers.close()
        await writers?.close()
        lock?.release()
    }

    /// Runs a body that reads one state of the store, on a thread of the store's own.
    public func read<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreReader) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        try await onReader(body)
    }

    /// Runs a body that reads and writes, alone, on a thread of the store's own. Returns when the write is as durable as
    /// ``Configuration/durability`` says. Throws `permissionFailure` if the store was opened for reading.
    ///
    /// Cancelling the task changes nothing: a write that was begun is carried out.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        let writers = try writersOrRefusal()
        let result: Swift.Result<Result, ChangeFeedError> = await withUnsafeContinuation { continuation in
            writers.submit(BodyCall<SQLiteWriter, Result>(continuation, body))
        }
        return try result.get()
    }

    func writersOrRefusal() throws(ChangeFeedError) -> WriterQueue {
        guard let writers else {
            throw ChangeFeedError(
                .permissionFailure, "The store \"\(path)\" was opened for reading: nothing can be written to it.")
        }
        return writers
    }

    /// The threads on which the store reads. A task that prefers this executor reads without a change of threads for
    /// each call, which takes longer than a small fetch:
    ///
    /// ```swift
    /// await withTaskExecutorPreference(store.taskExecutor) { … }
    /// ```
    ///
    /// There are as many as ``Configuration/readers``, and what the task does besides keeps one from others meanwhile.
    public var taskExecutor: any TaskExecutor { readers }
}
