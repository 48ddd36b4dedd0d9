import CSQLite
import Foundation

extension sqlite3_vfs {
    /// The real file system with opening, deleting and looking replaced.
    ///
    /// What is left of it (randomness, time, sleep, libraries, full names) ignores which file system it is called for.
    init(faulty name: UnsafePointer<CChar>, over real: UnsafeMutablePointer<sqlite3_vfs>) {
        self = real.pointee
        pNext = nil
        zName = name
        szOsFile = Int32(FaultyFile.realOffset) + real.pointee.szOsFile
        xOpen = { vfs, name, file, flags, outFlags in
            guard let fileSystem = FaultyFileSystem.behind(vfs), let file else { return SQLITE_MISUSE }
            return fileSystem.open(name, into: file, flags: flags, outFlags: outFlags)
        }
        xDelete = { vfs, name, isDurable in
            guard let fileSystem = FaultyFileSystem.behind(vfs), let name else { return SQLITE_MISUSE }
            return fileSystem.delete(name, durably: isDurable)
        }
        xAccess = { vfs, name, flags, outcome in
            guard let fileSystem = FaultyFileSystem.behind(vfs) else { return SQLITE_MISUSE }
            return fileSystem.access(name, flags: flags, outcome: outcome)
        }
    }
}

extension FaultyFileSystem {
    fileprivate static func behind(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> FaultyFileSystem? {
        guard let data = vfs?.pointee.pAppData else { return nil }
        return Unmanaged<FaultyFileSystem>.fromOpaque(data).takeUnretainedValue()
    }

    private static let kindsThatStay =
        SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL

    fileprivate func open(
        _ name: UnsafePointer<CChar>?, into file: UnsafeMutablePointer<sqlite3_file>, flags: Int32,
        outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        file.pointee.pMethods = nil
        let stays = flags & Self.kindsThatStay != 0 && flags & SQLITE_OPEN_DELETEONCLOSE == 0
        let path = stays ? name.map { String(cString: $0) } : nil
        // Under the lock as a whole, so that nobody writes between reading what a file holds and keeping account of it.
        return state.withLock { state in
            if case .fail(let code) = state.admit(.open) { return code }
            var exists: Int32 = 0
            if path != nil { _ = real.pointee.xAccess(real, name, SQLITE_ACCESS_EXISTS, &exists) }
            let realFile = FaultyFile.real(of: file)
            let code = real.pointee.xOpen(real, name, realFile, flags, outFlags)
            guard code == SQLITE_OK else { return code }
            if let path, state.mustAdopt(path) {
                state.adopt(exists == 0 ? nil : FaultyFile.content(of: realFile), at: path)
            }
            state.opened(path)
            FaultyFile(self, path: path, real: realFile).attach(to: file)
            return SQLITE_OK
        }
    }

    fileprivate func delete(_ name: UnsafePointer<CChar>, durably isDurable: Int32) -> Int32 {
        let answer = state.withLock { $0.delete(String(cString: name), durably: isDurable != 0) }
        return switch answer {
        case .perform: real.pointee.xDelete(real, name, 0)
        case .fail(let code): code
        }
    }

    fileprivate func access(
        _ name: UnsafePointer<CChar>?, flags: Int32, outcome: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        switch state.withLock({ $0.admit(.access) }) {
        case .perform: real.pointee.xAccess(real, name, flags, outcome)
        case .fail(let code): code
        }
    }
}
