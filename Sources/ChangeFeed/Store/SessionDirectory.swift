#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A directory for files that are needed no longer than this object: uploads under way, readers' copies.
///
/// It goes with everything in it when the object is released. Where a crash left one behind, the next in the same
/// parent removes it: the owner of a living one holds a lock that the system gives back at the end of the process.
final class SessionDirectory: Sendable {
    let path: String
    private let lock: OpenFile?
    private let counter = Locked(0)

    private static let prefix = "session-"

    /// A directory in one of the host's.
    init(in parent: String) throws(SystemError) {
        try FileSystem.createDirectory(parent)
        SessionDirectory.removeLeftovers(in: parent)
        // Another process that cleans up may take a directory before it is locked; then another one is made.
        var attempts = 0
        while true {
            let path = try FileSystem.createUniqueDirectory(prefix: parent + "/" + SessionDirectory.prefix)
            if let lock = SessionDirectory.lock(path) {
                self.path = path
                self.lock = lock
                return
            }
            attempts += 1
            guard attempts < 100 else { throw SystemError.last }
        }
    }

    /// A directory in the system's temporary directory, which the system clears by itself.
    init() throws(SystemError) {
        var parent = FileManager.default.temporaryDirectory.path
        while parent.count > 1, parent.hasSuffix("/") { parent.removeLast() }
        path = try FileSystem.createUniqueDirectory(prefix: parent + "/change-feed-")
        lock = nil
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a new file.
    func newPath() -> String {
        let number = counter.withLock { counter in
            counter += 1
            return counter
        }
        return "\(path)/\(number)"
    }

    private static func lockPath(in directory: String) -> String { directory + "/lock" }

    /// The lock of a directory, taken; nil if another has it, or has just removed the directory.
    private static func lock(_ directory: String) -> OpenFile? {
        let path = lockPath(in: directory)
        guard let file = try? OpenFile(lock: path), file.tryLock(), let taken = try? file.signature(),
            FileSignature(path: path) == taken
        else { return nil }
        return file
    }

    private static func removeLeftovers(in parent: String) {
        for name in FileSystem.names(in: parent) where name.hasPrefix(prefix) {
            let directory = parent + "/" + name
            guard let lock = lock(directory) else { continue }
            withExtendedLifetime(lock) { try? FileManager.default.removeItem(atPath: directory) }
        }
    }
}
