import CSQLite
import ChangeFeed
import Foundation

/// A file system for SQLite that fails where a test plans it to, and whose power can be cut.
///
/// It hands everything on to the default file system, so the files are real ones that any other connection can open. On
/// the way it counts the operations, refuses the planned ones, and keeps beside each file what a disk would hold if the
/// power went now: what was synced, and of the rest any part.
///
///     let fileSystem = try FaultyFileSystem()
///     fileSystem.fail(.sync, number: 3)
///     sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, fileSystem.name)
///
/// Numbers begin at 1 and count from the beginning or the last ``reset()``. Keep the file system until the last
/// connection opened with it is closed.
final class FaultyFileSystem: Sendable {
    /// The name to open a connection with, unique to this instance.
    let name: String

    // Safe: written once, here, and read by SQLite only; freed after SQLite was told to forget it.
    nonisolated(unsafe) private let registration: UnsafeMutablePointer<sqlite3_vfs>
    // Safe: SQLite's own default file system, which lives as long as the process and may be called from any thread.
    nonisolated(unsafe) let real: UnsafeMutablePointer<sqlite3_vfs>
    let state = Locked(State())

    init() throws(Failure) {
        guard let real = sqlite3_vfs_find(nil) else { throw .cannotRegister(code: SQLITE_NOTFOUND) }
        let name = "faulty-\(UUID().uuidString)"
        self.name = name
        self.real = real
        registration = .allocate(capacity: 1)
        registration.initialize(to: sqlite3_vfs(faulty: UnsafePointer(strdup(name)), over: real))
        registration.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        let code = sqlite3_vfs_register(registration, 0)
        guard code == SQLITE_OK else { throw .cannotRegister(code: code) }
    }

    deinit {
        sqlite3_vfs_unregister(registration)
        free(UnsafeMutableRawPointer(mutating: registration.pointee.zName))
        registration.deallocate()
    }
}

// MARK: - Planning

extension FaultyFileSystem {
    /// Lets one operation of a kind fail, or that one and all that follow.
    ///
    /// The computer lives on. A write that fails leaves its first half in the file, as a full disk does; a sync that
    /// fails leaves what it was to make durable in doubt for good, for a later sync that succeeds says nothing of it.
    ///
    /// - Parameters:
    ///   - number: which operation of the kind, from 1
    ///   - code: what SQLite is told; the usual code for the operation when nil
    func fail(
        _ operation: Operation, number: Int, as code: Int32? = nil, _ persistence: Persistence = .once
    ) {
        let code = code ?? operation.usualCode
        state.withLock { $0.plan.fail(operation, number: number, code: code, persistence: persistence) }
    }

    /// Cuts the power at an operation that changes the disk: it and everything after it fails, until
    /// ``losePowerAndRestore(seed:)``.
    ///
    /// - Parameter number: which of the operations ``changeCount`` counts, from 1
    func cutPower(atChange number: Int) {
        state.withLock { $0.plan.cutPower(atChange: number) }
    }

    /// Forgets the plan and the counts and turns the power on. What is not synced stays so.
    func reset() {
        state.withLock { $0.plan = FaultPlan() }
    }
}

// MARK: - Looking

extension FaultyFileSystem {
    /// How many operations of a kind were seen, failed ones included, those without power not.
    func count(of operation: Operation) -> Int {
        state.withLock { $0.plan.counts[operation, default: 0] }
    }

    /// How many operations were seen that change the disk: opens, writes, truncations, syncs and deletions.
    var changeCount: Int { state.withLock { $0.plan.changeCount } }

    /// How many operations the plan failed, those without power included.
    var failureCount: Int { state.withLock { $0.plan.failureCount } }

    /// Whether the power is on.
    var hasPower: Bool { state.withLock { $0.plan.hasPower } }

    /// How many files are open; 0 when every connection is closed.
    var openFileCount: Int { state.withLock { $0.openFileCount } }
}

// MARK: - Losing power

extension FaultyFileSystem {
    /// Leaves the files as a loss of power would have left them, and turns the power on with nothing planned.
    ///
    /// Of each file all that was synced is there. Of what was not, the seed decides: nothing, everything, the first
    /// changes with the last of them torn, or any sectors of any of them; the same for a file's creation and deletion.
    /// Shared memory is gone.
    ///
    /// - Returns: how many changes were lost or torn.
    /// - Throws: ``Failure/filesAreOpen(count:)`` while a connection is open, and what writing the files throws
    @discardableResult
    func losePowerAndRestore(seed: UInt64) throws -> Int {
        let outcome = try state.withLock { state throws(Failure) in try state.losePower(seed: seed) }
        for (path, content) in outcome.files {
            if let content {
                try Self.write(content, to: path)
            } else {
                try Self.removeIfPresent(path)
            }
            try Self.removeIfPresent(path + "-shm")
        }
        return outcome.lostChanges
    }

    // By the C library, because Foundation's ways to write a whole file sync it, which is most of their time.
    private static func write(_ content: Data, to path: String) throws(Failure) {
        guard let file = fopen(path, "wb") else { throw .cannotWrite(path: path) }
        let written = content.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
        guard fclose(file) == 0, written == content.count else { throw .cannotWrite(path: path) }
    }

    private static func removeIfPresent(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.removeItem(atPath: path)
    }
}

// MARK: - Words

extension FaultyFileSystem {
    /// What SQLite asks of a file system and a test can have refused.
    enum Operation: CaseIterable, Sendable {
        case open, read, write, truncate, sync, size, lock, delete, access, sharedMemoryMap, sharedMemoryLock

        /// What SQLite's own file system answers when the operation fails.
        var usualCode: Int32 {
            switch self {
            case .open: SQLITE_CANTOPEN
            case .read: Self.extended(1)
            case .write: Self.extended(3)
            case .sync: Self.extended(4)
            case .truncate: Self.extended(6)
            case .size: Self.extended(7)
            case .delete: Self.extended(10)
            case .access: Self.extended(13)
            case .lock: Self.extended(15)
            case .sharedMemoryLock: Self.extended(20)
            case .sharedMemoryMap: Self.extended(21)
            }
        }

        /// Whether the disk may hold something else after it.
        var changesDisk: Bool {
            switch self {
            case .open, .write, .truncate, .sync, .delete: true
            case .read, .size, .lock, .access, .sharedMemoryMap, .sharedMemoryLock: false
            }
        }

        // SQLite defines these by an expression that is not imported.
        private static func extended(_ number: Int32) -> Int32 { SQLITE_IOERR | number << 8 }
    }

    enum Persistence: Sendable {
        /// The next attempt succeeds.
        case once
        /// The disk is dead.
        case fromThenOn
    }

    enum Failure: Error, Equatable {
        case cannotRegister(code: Int32)
        case filesAreOpen(count: Int)
        case cannotWrite(path: String)
    }
}
