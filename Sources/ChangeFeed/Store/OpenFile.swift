#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What the operating system said no to.
package struct SystemError: Error {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// The error of the call that has just failed.
    static var last: SystemError { SystemError(errno) }

    /// The system's words for it.
    package var text: String { String(cString: strerror(code)) }

    package var isMissingFile: Bool { code == ENOENT || code == ENOTDIR }

    package var isExistingFile: Bool { code == EEXIST }

    /// The error of a store that could not do something: `serviceUnavailable` where it may pass by itself or by making
    /// room, `internalError` where it will not.
    package func failure(of what: String) -> ChangeFeedError {
        switch code {
        case ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM:
            ChangeFeedError(
                .serviceUnavailable, "The asset store could not \(what): \(text). Make room, then try again.")
        default:
            ChangeFeedError(.internalError, "The asset store could not \(what): \(text).")
        }
    }
}

/// An open file, closed when it is released.
package final class OpenFile: Sendable {
    private let descriptor: Int32

    private init(_ path: String, _ flags: Int32) throws(SystemError) {
        // A path that has a zero byte would name another file to the system.
        guard !path.utf8.contains(0) else { throw SystemError(ENOENT) }
        while true {
            let descriptor = open(path, flags | O_CLOEXEC, 0o600)
            if descriptor >= 0 {
                self.descriptor = descriptor
                return
            }
            guard errno == EINTR else { throw .last }
        }
    }

    deinit {
        close(descriptor)
    }

    /// Opens a file to read it, without waiting for a writer should it be a pipe.
    package convenience init(reading path: String) throws(SystemError) {
        try self.init(path, O_RDONLY | O_NONBLOCK)
    }

    /// Creates a file that is not there to write it.
    package convenience init(creating path: String) throws(SystemError) {
        try self.init(path, O_WRONLY | O_CREAT | O_EXCL)
    }

    /// Opens a file that serves as a lock, creating it if it is not there.
    package convenience init(lock path: String) throws(SystemError) {
        try self.init(path, O_RDWR | O_CREAT)
    }

    /// Opens a directory to make its entries durable.
    convenience init(directory path: String) throws(SystemError) {
        try self.init(path, O_RDONLY | O_DIRECTORY)
    }

    /// The next bytes, at most `count`; none at the end of the file.
    package func read(upTo count: Int) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while true {
                let read = systemRead(descriptor, buffer.baseAddress, count)
                if read >= 0 {
                    initialized = read
                    return
                }
                guard errno == EINTR else {
                    failure = .last
                    return
                }
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package func write(_ bytes: [UInt8]) throws(SystemError) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes[offset...].withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 {
                offset += written
            } else if errno != EINTR {
                throw .last
            }
        }
    }

    /// Waits until what was written is on the disk.
    package func synchronize() throws(SystemError) {
        #if canImport(Darwin)
            // fsync leaves it in the drive's cache.
            if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(descriptor) == 0 else { throw .last }
    }

    /// Takes the file's lock if nobody has it. It is given back when the file is closed, and when the process ends.
    package func tryLock() -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    package func signature() throws(SystemError) -> FileSignature {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        return FileSignature(status)
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    guard let buffer else { return 0 }
    return read(descriptor, buffer, count)
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    guard let buffer else { return 0 }
    return write(descriptor, buffer, count)
}

/// What tells one state of a file from another without reading it: which file it is, its size, when it was written.
package struct FileSignature: Sendable, Hashable {
    let size: Int
    let isRegular: Bool
    private let device: UInt64
    private let number: UInt64
    private let seconds: Int
    private let nanoseconds: Int

    fileprivate init(_ status: stat) {
        size = Int(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        seconds = Int(modified.tv_sec)
        nanoseconds = Int(modified.tv_nsec)
    }

    /// Nil if there is nothing at the path.
    package init?(path: String) {
        var status = stat()
        guard !path.utf8.contains(0), stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether both are states of one file.
    package func isOfSameFile(as other: FileSignature) -> Bool {
        device == other.device && number == other.number
    }
}

/// What is done to names in directories.
package enum FileSystem {
    package static func rename(_ old: String, to new: String) throws(SystemError) {
        guard systemRename(old, new) == 0 else { throw .last }
    }

    /// Gives a file a second name. Unlike ``rename(_:to:)`` it takes no name that is in use.
    package static func link(_ path: String, as new: String) throws(SystemError) {
        guard systemLink(path, new) == 0 else { throw .last }
    }

    /// Removes a file; gives false if there was none.
    @discardableResult
    package static func remove(_ path: String) throws(SystemError) -> Bool {
        if unlink(path) == 0 { return true }
        let error = SystemError.last
        guard error.isMissingFile else { throw error }
        return false
    }

    /// Creates a directory; one that is there is no error.
    static func createDirectory(_ path: String) throws(SystemError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last }
    }

    /// Creates a directory of an unused name that begins with `prefix`, and gives its path.
    static func createUniqueDirectory(prefix: String) throws(SystemError) -> String {
        var template = Array((prefix + "XXXXXX").utf8CString)
        let made = template.withUnsafeMutableBufferPointer { name in
            name.baseAddress.map { mkdtemp($0) != nil } ?? false
        }
        guard made else { throw .last }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Makes the entries of a directory durable.
    package static func synchronize(directory path: String) throws(SystemError) {
        try OpenFile(directory: path).synchronize()
    }

    /// The names in a directory, sorted; none if there is no such directory.
    static func names(in path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted(by: precedesByBytes)
    }
}

private func systemRename(_ old: String, _ new: String) -> Int32 {
    rename(old, new)
}

private func systemLink(_ path: String, _ new: String) -> Int32 {
    link(path, new)
}
