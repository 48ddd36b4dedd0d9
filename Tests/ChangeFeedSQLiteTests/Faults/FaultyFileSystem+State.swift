import CSQLite
import ChangeFeedTesting
import Foundation

extension FaultyFileSystem {
    /// The plan and the disk beside it, behind the file system's one lock.
    ///
    /// Each method is asked before the operation is done, notes what it may do to the disk, and answers what to do.
    struct State {
        var plan = FaultPlan()
        private var disk = SimulatedDisk()
        private var handles: [String: Int] = [:]
        private(set) var openFileCount = 0
    }

    enum Answer: Equatable {
        case perform
        case fail(code: Int32)
    }

    enum WriteAnswer: Equatable {
        case perform
        case fail(code: Int32, afterWriting: Int)
    }
}

extension FaultyFileSystem.State {
    typealias Operation = FaultyFileSystem.Operation
    typealias Answer = FaultyFileSystem.Answer

    /// For operations that leave the disk as it is, or whose effect is noted when they are done.
    mutating func admit(_ operation: Operation) -> Answer {
        switch plan.admit(operation) {
        case .perform: .perform
        case .fail(let code), .interrupt(let code), .ignore(let code): .fail(code: code)
        }
    }

    /// Whether the file is open under no other handle: then it may have changed behind this file system's back.
    func mustAdopt(_ path: String) -> Bool {
        handles[path] == nil
    }

    /// The file, not open until now, holds this; nil when it was just created.
    mutating func adopt(_ content: Data?, at path: String) {
        disk.adopt(content, at: path)
        if content == nil { disk.note(.create, at: path) }
    }

    mutating func opened(_ path: String?) {
        openFileCount += 1
        if let path { handles[path, default: 0] += 1 }
    }

    mutating func closed(_ path: String?) {
        openFileCount -= 1
        guard let path, let count = handles[path] else { return }
        handles[path] = count == 1 ? nil : count - 1
    }

    /// - Parameter path: nil for a temporary file, which no loss of power leaves behind
    mutating func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to path: String?
    ) -> FaultyFileSystem.WriteAnswer {
        func noteFirst(_ count: Int) {
            guard let path else { return }
            disk.note(.write(offset: offset, bytes: Data(bytes.prefix(count))), at: path)
        }
        switch plan.admit(.write) {
        case .perform:
            noteFirst(bytes.count)
            return .perform
        case .fail(let code):
            noteFirst(bytes.count / 2)
            return .fail(code: code, afterWriting: bytes.count / 2)
        case .interrupt(let code):
            noteFirst(bytes.count)
            return .fail(code: code, afterWriting: 0)
        case .ignore(let code):
            return .fail(code: code, afterWriting: 0)
        }
    }

    mutating func truncate(_ path: String?, to size: Int) -> Answer {
        noting(.truncate(size: size), at: path, .truncate)
    }

    /// - Parameter durably: whether the directory is synced after it
    mutating func delete(_ path: String, durably: Bool) -> Answer {
        let answer = noting(.delete, at: path, .delete)
        if answer == .perform, durably { disk.syncNames() }
        return answer
    }

    /// Syncs the simulated disk; a real sync has nothing to add.
    mutating func sync(_ path: String?) -> Int32 {
        let verdict = plan.admit(.sync)
        guard let path else { return verdict.code }
        switch verdict {
        case .perform: disk.sync(path)
        case .fail: disk.syncFailed(path)
        case .interrupt, .ignore: break
        }
        return verdict.code
    }

    mutating func losePower(seed: UInt64) throws(FaultyFileSystem.Failure) -> SimulatedDisk.Loss {
        guard openFileCount == 0 else { throw .filesAreOpen(count: openFileCount) }
        var generator = SeededGenerator(seed: seed)
        plan.restorePower()
        return disk.losePower(using: &generator)
    }

    private mutating func noting(_ change: SimulatedDisk.Change, at path: String?, _ operation: Operation) -> Answer {
        let verdict = plan.admit(operation)
        switch verdict {
        case .perform, .interrupt:
            if let path { disk.note(change, at: path) }
        case .fail, .ignore:
            break
        }
        return verdict == .perform ? .perform : .fail(code: verdict.code)
    }
}

extension FaultPlan.Verdict {
    fileprivate var code: Int32 {
        switch self {
        case .perform: SQLITE_OK
        case .fail(let code), .interrupt(let code), .ignore(let code): code
        }
    }
}
