import CSQLite
import Foundation

/// A file SQLite has open: asks the file system's plan, then hands on to the real file.
///
/// SQLite allocates one piece of memory a file. It begins with what SQLite knows, a table of functions; behind that is a
/// reference to this object, and behind that the real file.
final class FaultyFile {
    private struct Head {
        var base: sqlite3_file
        var file: Unmanaged<FaultyFile>
    }

    /// Where the real file begins, aligned for anything.
    static let realOffset = (MemoryLayout<Head>.size + 15) / 16 * 16

    // Keeps the file system, and with it its registration, while a file is open.
    private let fileSystem: FaultyFileSystem
    private let path: String?
    private let real: UnsafeMutablePointer<sqlite3_file>

    init(_ fileSystem: FaultyFileSystem, path: String?, real: UnsafeMutablePointer<sqlite3_file>) {
        self.fileSystem = fileSystem
        self.path = path
        self.real = real
    }

    static func real(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
        (UnsafeMutableRawPointer(file) + realOffset).assumingMemoryBound(to: sqlite3_file.self)
    }

    func attach(to file: UnsafeMutablePointer<sqlite3_file>) {
        let head = Head(base: sqlite3_file(pMethods: Self.table), file: .passRetained(self))
        UnsafeMutableRawPointer(file).initializeMemory(as: Head.self, to: head)
    }

    private static func behind(_ file: UnsafeMutablePointer<sqlite3_file>?) -> FaultyFile? {
        guard let file else { return nil }
        return UnsafeMutableRawPointer(file).assumingMemoryBound(to: Head.self).pointee.file.takeUnretainedValue()
    }

    /// All a real file holds.
    ///
    /// Through the open file and not by its path: to open and close a file a second time would drop the locks this
    /// process has on it.
    static func content(of real: UnsafeMutablePointer<sqlite3_file>) -> Data {
        var size: sqlite3_int64 = 0
        guard real.pointee.pMethods.pointee.xFileSize(real, &size) == SQLITE_OK, size > 0 else { return Data() }
        var content = Data(count: Int(size))
        let code = content.withUnsafeMutableBytes {
            real.pointee.pMethods.pointee.xRead(real, $0.baseAddress, Int32($0.count), 0)
        }
        return code == SQLITE_OK ? content : Data()
    }
}

// MARK: - Operations

extension FaultyFile {
    private var methods: sqlite3_io_methods { real.pointee.pMethods.pointee }

    private func admitted(_ operation: FaultyFileSystem.Operation, _ perform: () -> Int32) -> Int32 {
        answered(fileSystem.state.withLock { $0.admit(operation) }, perform)
    }

    private func answered(_ answer: FaultyFileSystem.Answer, _ perform: () -> Int32) -> Int32 {
        switch answer {
        case .perform: perform()
        case .fail(let code): code
        }
    }

    // Always done, also without power: in the end a connection has to be closed.
    private func close() -> Int32 {
        let code = methods.xClose(real)
        fileSystem.state.withLock { $0.closed(path) }
        return code
    }

    private func write(_ bytes: UnsafeRawPointer?, count: Int32, at offset: Int64) -> Int32 {
        let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        switch fileSystem.state.withLock({ $0.write(buffer, at: Int(offset), to: path) }) {
        case .perform:
            return methods.xWrite(real, bytes, count, offset)
        case .fail(let code, let written):
            if written > 0 { _ = methods.xWrite(real, bytes, Int32(written), offset) }
            return code
        }
    }

    private func truncate(to size: Int64) -> Int32 {
        answered(fileSystem.state.withLock { $0.truncate(path, to: Int(size)) }) { methods.xTruncate(real, size) }
    }

    private func lockSharedMemory(offset: Int32, count: Int32, flags: Int32) -> Int32 {
        guard let lock = methods.xShmLock else { return SQLITE_MISUSE }
        // Letting go never fails, as with the real one.
        if flags & SQLITE_SHM_UNLOCK != 0 { return lock(real, offset, count, flags) }
        return admitted(.sharedMemoryLock) { lock(real, offset, count, flags) }
    }

    private func mapSharedMemory(
        region: Int32, size: Int32, extend: Int32,
        address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        guard let map = methods.xShmMap else { return SQLITE_MISUSE }
        let code = admitted(.sharedMemoryMap) { map(real, region, size, extend, address) }
        if code != SQLITE_OK, code != SQLITE_READONLY { address?.pointee = nil }
        return code
    }
}

// MARK: - The table

extension FaultyFile {
    // Safe: never written after it is made, and never freed.
    nonisolated(unsafe) private static let table: UnsafePointer<sqlite3_io_methods> = {
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: functions)
        return UnsafePointer(table)
    }()

    private static var functions: sqlite3_io_methods {
        var table = sqlite3_io_methods()
        table.iVersion = 3
        addFile(to: &table)
        addLocks(to: &table)
        addMemory(to: &table)
        return table
    }

    private static func addFile(to table: inout sqlite3_io_methods) {
        table.xClose = { pointer in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            defer { Unmanaged.passUnretained(file).release() }
            return file.close()
        }
        table.xRead = { pointer, buffer, count, offset in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.admitted(.read) { file.methods.xRead(file.real, buffer, count, offset) }
        }
        table.xWrite = { FaultyFile.behind($0)?.write($1, count: $2, at: $3) ?? SQLITE_MISUSE }
        table.xTruncate = { FaultyFile.behind($0)?.truncate(to: $1) ?? SQLITE_MISUSE }
        table.xSync = { pointer, _ in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.fileSystem.state.withLock { $0.sync(file.path) }
        }
        table.xFileSize = { pointer, size in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.admitted(.size) { file.methods.xFileSize(file.real, size) }
        }
        table.xFileControl = { pointer, operation, argument in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.methods.xFileControl(file.real, operation, argument)
        }
        table.xSectorSize = { pointer in
            guard let file = FaultyFile.behind(pointer) else { return 0 }
            return file.methods.xSectorSize(file.real)
        }
        table.xDeviceCharacteristics = { pointer in
            guard let file = FaultyFile.behind(pointer) else { return 0 }
            return file.methods.xDeviceCharacteristics(file.real)
        }
    }

    private static func addLocks(to table: inout sqlite3_io_methods) {
        table.xLock = { pointer, level in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.admitted(.lock) { file.methods.xLock(file.real, level) }
        }
        table.xUnlock = { pointer, level in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.methods.xUnlock(file.real, level)
        }
        table.xCheckReservedLock = { pointer, outcome in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.methods.xCheckReservedLock(file.real, outcome)
        }
    }

    private static func addMemory(to table: inout sqlite3_io_methods) {
        table.xShmMap = {
            FaultyFile.behind($0)?.mapSharedMemory(region: $1, size: $2, extend: $3, address: $4) ?? SQLITE_MISUSE
        }
        table.xShmLock = { FaultyFile.behind($0)?.lockSharedMemory(offset: $1, count: $2, flags: $3) ?? SQLITE_MISUSE }
        table.xShmBarrier = { pointer in
            guard let file = FaultyFile.behind(pointer) else { return }
            file.methods.xShmBarrier?(file.real)
        }
        table.xShmUnmap = { pointer, isDeleted in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.methods.xShmUnmap?(file.real, isDeleted) ?? SQLITE_OK
        }
        table.xFetch = { pointer, offset, count, address in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.methods.xFetch(file.real, offset, count, address)
        }
        table.xUnfetch = { pointer, offset, address in
            guard let file = FaultyFile.behind(pointer) else { return SQLITE_MISUSE }
            return file.methods.xUnfetch(file.real, offset, address)
        }
    }
}
