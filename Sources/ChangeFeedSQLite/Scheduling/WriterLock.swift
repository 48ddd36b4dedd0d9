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
/// one. The lock is the system's, on a file beside the store, and goes with the process however that ends.
final class WriterLock: Sendable {
    private let descriptor: Int32
    private let isHeld = Locked(true)

    init(besides path: String) throws(ChangeFeedError) {
        let lockPath = path + "-writer"
        descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            let code = errno
            throw ChangeFeedError(
                code == EACCES || code == EROFS || code == EPERM ? .permissionFailure : .internalError,
                "The store \"\(path)\" cannot be opened for writing: \(String(cString: strerror(code))). Check that its "
                    + "directory is there and may be written to, or open it for reading.")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let owner = WriterLock.text(in: descriptor)
            close(descriptor)
            throw ChangeFeedError(
                .serviceUnavailable,
                "The store \"\(path)\" is open for writing already\(owner.isEmpty ? "" : ", by process \(owner)"). Only "
                    + "one can write: close it there, or open it for reading.")
        }
        let text = "\(getpid())\n"
        ftruncate(descriptor, 0)
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    private static func text(in descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).filter(\.isNumber)
    }

    /// Gives the right away. Once is enough.
    func release() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        if wasHeld { close(descriptor) }
    }

    deinit {
        release()
    }
}
