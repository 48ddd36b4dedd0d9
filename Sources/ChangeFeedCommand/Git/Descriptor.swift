#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file descriptor of this process that closes with its last owner, and closes itself in children.
///
/// Its number is never one of the standard three, even where this process was started without them: a pipe must not
/// be taken for the standard output.
final class Descriptor {
    let number: Int32

    /// Takes over `descriptor`, which is closed.
    init(adopting descriptor: Int32) throws(ChildProcess.Failure) {
        let moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        let error = errno
        close(descriptor)
        guard moved >= 0 else { throw ChildProcess.Failure(number: error) }
        number = moved
    }

    /// Opens `path` for reading.
    convenience init(opening path: String) throws(ChildProcess.Failure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ChildProcess.Failure(number: errno) }
        try self.init(adopting: descriptor)
    }

    deinit {
        close(number)
    }

    /// Reads at least one byte into the front of `bytes`, waiting for it; 0 at the end.
    func read(into bytes: inout [UInt8]) throws(ChildProcess.Failure) -> Int {
        while true {
            let count = bytes.withUnsafeMutableBytes { posixRead(number, $0.baseAddress, $0.count) }
            if count >= 0 { return count }
            if errno != EINTR { throw ChildProcess.Failure(number: errno) }
        }
    }

    /// Writes all of `bytes`, waiting as long as it takes.
    func write(_ bytes: [UInt8]) throws(ChildProcess.Failure) {
        try writeAll(bytes, to: number)
    }
}

/// The two ends of a new pipe. For a moment its ends would pass to a child that another thread starts, so one thread
/// at a time makes pipes and starts children.
struct PipeEnds {
    let readingEnd: Descriptor
    let writingEnd: Descriptor

    init() throws(ChildProcess.Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ChildProcess.Failure(number: errno) }
        do {
            readingEnd = try Descriptor(adopting: ends[0])
        } catch {
            close(ends[1])
            throw error
        }
        writingEnd = try Descriptor(adopting: ends[1])
    }
}

/// Writes all of `bytes` to a descriptor, waiting as long as it takes.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(ChildProcess.Failure) {
    var written = 0
    while written < bytes.count {
        let count = bytes.withUnsafeBytes { buffer in
            posixWrite(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
        }
        if count >= 0 {
            written += count
        } else if errno == EAGAIN {
            // Somebody who shares the descriptor has made it non-blocking.
            var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&wait, 1, -1)
        } else if errno != EINTR {
            throw ChildProcess.Failure(number: errno)
        }
    }
}

/// The system's calls under names that methods of the same name do not hide.
private let posixRead = read
private let posixWrite = write
