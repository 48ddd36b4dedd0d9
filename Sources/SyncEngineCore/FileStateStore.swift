import ChangeFeed
import Dispatch

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps an engine's state in a file, and increments in a journal beside it, so that storing one pending change costs
/// the same however many there are.
///
/// The state at `PATH` is replaced as a whole, by renaming; `PATH-journal` is appended to, each increment with its
/// length, and begun anew when it has grown to the size of the state. What was stored survives the end of the process
/// and of the power. A journal that was cut by either is read up to the cut. `PATH-lock` is held while the store lives:
/// one process has it.
public final class FileStateStore: StateStore {
    private struct Content {
        var state: SyncEngine.State.Serialization?
        var journal: OpenFile?
        var journalBytes = 0
        var fileBytes = 0
    }

    /// A journal is begun anew only when it is longer than this.
    private static let shortestJournal = 64 * 1024

    private let path: String
    /// Held until the store is closed.
    private let lock: Locked<OpenFile?>
    private let content = Locked(Content())
    /// The system's calls block: they are made here, not on the pool of the caller.
    private let queue = DispatchQueue(label: "SyncEngine state")

    /// A store in a file, which need not be there yet. Its folder must be.
    ///
    /// Throws ``SyncEngineError/Code/stateInUse`` if another store has the file open,
    /// ``SyncEngineError/Code/storeFailed`` if it cannot be read, and ``SyncEngineError/Code/damagedState`` if it is no
    /// state.
    public init(path: String) throws(SyncEngineError) {
        self.path = path
        let file: OpenFile
        do throws(SystemError) {
            file = try OpenFile(lock: path + "-lock")
        } catch {
            throw FileStateStore.failure("opened", path, error)
        }
        lock = Locked(file)
        guard file.tryLock() else {
            throw SyncEngineError(
                .stateInUse,
                "The state in \"\(path)\" is in use by another engine: stop that one, or give this one a file of its own."
            )
        }
        try open()
    }

    /// Gives the file away: nothing is stored any more.
    public func close() {
        // After what is being stored.
        queue.sync { lock.withLock { $0 = nil } }
    }

    private func open() throws(SyncEngineError) {
        let bytes = try read(path)
        var state: SyncEngine.State.Serialization?
        if let bytes { state = try SyncEngine.State.Serialization(data: Data(bytes)) }
        let journal = try read(path + "-journal") ?? []
        var offset = 0
        while let increment = FileStateStore.increment(in: journal, at: &offset) {
            // One of a state that has been replaced since is in the file already.
            if increment.revision <= state?.revision ?? 0, increment.stamp.writer == state?.stamp.writer { continue }
            var next = state ?? .empty
            guard (try? next.apply(increment)) != nil else { break }
            state = next
        }
        let result = state
        content.withLock { content in
            content.state = result
            content.fileBytes = bytes?.count ?? 0
        }
        // Whatever was cut is not appended to.
        if let result, !journal.isEmpty { try replace(with: result) }
    }

    /// The state that is stored.
    public func load() throws(SyncEngineError) -> SyncEngine.State.Serialization? { content.withLock { $0.state } }

    /// Appends an increment, or replaces the file if the journal has grown long.
    public func persist(
        _ increment: SyncEngine.State.Increment, serialization: @Sendable () -> SyncEngine.State.Serialization
    ) async throws(SyncEngineError) {
        let result: Result<Void, SyncEngineError> = await withCheckedContinuation { continuation in
            queue.async {
                do throws(SyncEngineError) {
                    guard self.lock.withLock({ $0 != nil }) else {
                        throw SyncEngineError(.storeFailed, "The state in \"\(self.path)\" has been closed.")
                    }
                    try self.store(increment)
                    continuation.resume(returning: .success(()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        try result.get()
    }

    private func store(_ increment: SyncEngine.State.Increment) throws(SyncEngineError) {
        var next = content.withLock { $0.state } ?? .empty
        // The lock holds the only other reference: given up, so that steps are appended where they stand.
        content.withLock { $0.state = nil }
        let before = next.stamp
        do throws(SyncEngineError) {
            try next.apply(increment)
        } catch {
            let unchanged = next
            content.withLock { $0.state = unchanged }
            throw error
        }
        let data = increment.data
        let result = next
        let (journalBytes, fileBytes) = content.withLock { ($0.journalBytes, $0.fileBytes) }
        do throws(SyncEngineError) {
            if fileBytes == 0 || journalBytes + data.count > max(fileBytes, FileStateStore.shortestJournal) {
                try replace(with: try result.compacted())
            } else {
                try append(data)
                content.withLock { $0.state = result }
            }
        } catch {
            // What may be half written is not gone on from: the next one replaces the file.
            let unchanged = result.takingBack(increment, stamp: before)
            content.withLock { content in
                content.state = unchanged
                content.journal = nil
                content.fileBytes = 0
            }
            throw error
        }
    }

    private func append(_ data: Data) throws(SyncEngineError) {
        do throws(SystemError) {
            let journal: OpenFile
            if let open = content.withLock({ $0.journal }) {
                journal = open
            } else {
                _ = try FileSystem.remove(path + "-journal")
                journal = try OpenFile(creating: path + "-journal")
                try FileSystem.synchronize(directory: directory)
            }
            var writer = ByteWriter(reserving: data.count + 8)
            writer.word(UInt64(data.count))
            data.withUnsafeBytes { writer.raw($0) }
            try journal.write(writer.bytes)
            try journal.synchronize()
            content.withLock { content in
                content.journal = journal
                content.journalBytes += writer.bytes.count
            }
        } catch {
            throw FileStateStore.failure("appended to", path + "-journal", error)
        }
    }

    /// Writes the whole state beside the file, and puts it in its place.
    private func replace(with state: SyncEngine.State.Serialization) throws(SyncEngineError) {
        let data = state.data
        do throws(SystemError) {
            _ = try FileSystem.remove(path + "-new")
            let file = try OpenFile(creating: path + "-new")
            try file.write([UInt8](data))
            try file.synchronize()
            try FileSystem.rename(path + "-new", to: path)
            try FileSystem.synchronize(directory: directory)
            // Its increments are in the file by now; if it stays, they are known by their revisions.
            _ = try FileSystem.remove(path + "-journal")
        } catch {
            throw FileStateStore.failure("replaced", path, error)
        }
        content.withLock { content in
            content.state = state
            content.journal = nil
            content.journalBytes = 0
            content.fileBytes = data.count
        }
    }

    private var directory: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private func read(_ path: String) throws(SyncEngineError) -> [UInt8]? {
        do throws(SystemError) {
            let file = try OpenFile(reading: path)
            var bytes: [UInt8] = []
            while true {
                let part = try file.read(upTo: 1 << 20)
                if part.isEmpty { return bytes }
                bytes += part
            }
        } catch {
            if error.isMissingFile { return nil }
            throw FileStateStore.failure("read", path, error)
        }
    }

    private static func increment(in journal: [UInt8], at offset: inout Int) -> SyncEngine.State.Increment? {
        guard journal.count - offset >= 8 else { return nil }
        let length = journal.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        guard let count = Int(exactly: UInt64(littleEndian: length)), count <= journal.count - offset - 8 else {
            return nil
        }
        defer { offset += 8 + count }
        return try? SyncEngine.State.Increment(data: Data(journal[offset + 8..<offset + 8 + count]))
    }

    private static func failure(_ what: String, _ path: String, _ error: SystemError) -> SyncEngineError {
        SyncEngineError(.storeFailed, "The state in \"\(path)\" could not be \(what): \(error.text).")
    }
}

extension SyncEngine.State.Serialization {
    /// The same state in as few steps as it takes.
    fileprivate func compacted() throws(SyncEngineError) -> Self {
        var writer = ByteWriter(reserving: steps.count)
        try durableState().forEachStep { StateChangeCodec.encode($0, into: &writer) }
        return Self(stamp: stamp, steps: writer.bytes)
    }

    /// The state before an increment that was applied and could not be stored.
    fileprivate func takingBack(_ increment: SyncEngine.State.Increment, stamp: StateStamp) -> Self {
        Self(stamp: stamp, steps: Array(steps.dropLast(increment.steps.count)))
    }
}
