import ChangeFeed

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The right to write to a store: one process has it, from opening the store to closing it.
///
/// SQLite lets processes write in turn; a feed does not, for positions, epochs and what subscribers are told belong to
/// one. The lock is the system's, on a file beside the store that is there as long as somebody writes, and goes with the
/// process however that ends.
final class WriterLock: Sendable {
    private let path: String
    /// The file, as long as the right is held.
    private let file: Locked<OpenFile?>

    /// Takes the right to write to the store in a file, under the name that SQLite has for it: links lead to one lock.
    init(besides storePath: String) throws(ChangeFeedError) {
        path = storePath + "-writer"
        do throws(SystemError) {
            while true {
                let file = try OpenFile(lock: path)
                guard file.tryLock() else { break }
                // Whoever gives the right away removes the file, and one that was opened before that is no lock any more.
                guard let present = FileSignature(path: path), try file.signature().isOfSameFile(as: present)
                else { continue }
                try file.write(Array("\(getpid())\n".utf8))
                self.file = Locked(file)
                return
            }
        } catch {
            throw WriterLock.failure(error, of: storePath)
        }
        let owner = WriterLock.owner(in: path)
        throw ChangeFeedError(
            .serviceUnavailable,
            "The store \"\(storePath)\" is open for writing already\(owner.map { ", by process \($0)" } ?? ""). Only one "
                + "can write: close it there, or open it for reading.")
    }

    /// Gives the right away. Once is enough.
    func release() {
        let held = file.withLock { $0.take() }
        guard held != nil else { return }
        _ = try? FileSystem.remove(path)
    }

    deinit {
        release()
    }

    /// The process that said it writes.
    private static func owner(in path: String) -> Int32? {
        guard let file = try? OpenFile(reading: path), let bytes = try? file.read(upTo: 32) else { return nil }
        // What follows the first line is of a process that was killed before.
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.flatMap { Int32($0) }
    }

    private static func failure(_ error: SystemError, of storePath: String) -> ChangeFeedError {
        switch error.code {
        case EACCES, EPERM, EROFS:
            ChangeFeedError(
                .permissionFailure,
                "The store \"\(storePath)\" cannot be opened for writing: \(error.text). Change the permissions of its "
                    + "directory, or open it for reading.")
        case ENOSPC, EDQUOT, EMFILE, ENFILE:
            ChangeFeedError(
                .serviceUnavailable,
                "The store \"\(storePath)\" cannot be opened for writing: \(error.text). Make room, then try again.")
        default:
            ChangeFeedError(
                .internalError,
                "The store \"\(storePath)\" cannot be opened for writing: \(error.text). Check that its directory is "
                    + "there and may be written to.")
        }
    }
}
