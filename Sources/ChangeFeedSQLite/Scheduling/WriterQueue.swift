import ChangeFeed
import Dispatch

/// The queue of those who write. It runs the bodies of concurrent callers one after the other, on a thread of its own,
/// and brings those that have come together to the disk with one commit.
///
/// Each body is still all or nothing by itself: from the second of a group on, it runs within a savepoint. No caller is
/// answered before the commit that holds its write.
final class WriterQueue: Sendable {
    typealias Call = any PendingCall<SQLiteWriter>

    /// The most bodies that one commit holds.
    private static let groupBound = 256

    private struct State: Sendable {
        var waiting: [Call] = []
        /// Whether the queue is at work, or about to be.
        var isAtWork = false
        var isClosed = false
    }

    private let path: String
    private let queue = DispatchQueue(label: "ChangeFeedSQLite.writer")
    private let state = Locked(State())
    // Unsafe because the class is not Sendable: it is touched on the queue only.
    private nonisolated(unsafe) var writer: SQLiteWriter?

    init(_ writer: SQLiteWriter, path: String) {
        self.writer = writer
        self.path = path
    }

    /// Takes a call in. It is answered in any case.
    func submit(_ call: Call) {
        enum Next { case start, nothing, refuse }
        let next: Next = state.withLock { state in
            if state.isClosed { return .refuse }
            state.waiting.append(call)
            if state.isAtWork { return .nothing }
            state.isAtWork = true
            return .start
        }
        switch next {
        case .start: queue.async { self.work() }
        case .nothing: break
        case .refuse: call.answer(.closed(path))
        }
    }

    /// Runs something on the writing connection while no transaction is open. Does not wait for its turn among the
    /// writes that come after it.
    func outsideTransactions<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteWriter) throws(ChangeFeedError) -> Result
    ) async throws(ChangeFeedError) -> Result {
        let answer: Swift.Result<Result, ChangeFeedError> = await withUnsafeContinuation { continuation in
            queue.async { [self] in
                guard let writer else { return continuation.resume(returning: .failure(.closed(path))) }
                do throws(ChangeFeedError) {
                    continuation.resume(returning: .success(try body(writer)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try answer.get()
    }

    /// Refuses what comes from now on, lets finish what has come, and closes the connection.
    func close() async {
        state.withLock { $0.isClosed = true }
        await withUnsafeContinuation { continuation in
            queue.async { [self] in
                work()
                writer = nil
                continuation.resume()
            }
        }
    }
}

// MARK: - At work

extension WriterQueue {
    private func work() {
        while let first = next(orEnd: true) {
            guard let writer else {
                first.answer(.closed(path))
                continue
            }
            commitGroup(beginningWith: first, on: writer)
        }
    }

    private func next(orEnd endsWork: Bool) -> Call? {
        state.withLock { state in
            if state.waiting.isEmpty {
                if endsWork { state.isAtWork = false }
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    /// Runs one transaction, with all that wait while it is open.
    private func commitGroup(beginningWith first: Call, on writer: SQLiteWriter) {
        do throws(ChangeFeedError) {
            try writer.begin()
        } catch {
            return first.answer(error)
        }
        var done: [Call] = []
        var following: Call? = first
        while let call = following {
            do throws(Failure) {
                try run(call, on: writer, isFirst: done.isEmpty)
                done.append(call)
            } catch {
                call.answer(error.cause)
                if error.endsTransaction {
                    writer.rollBack()
                    for call in done { call.answer(error.cause) }
                    return
                }
            }
            following = done.count < WriterQueue.groupBound ? next(orEnd: false) : nil
        }
        do throws(ChangeFeedError) {
            try writer.commit()
            for call in done { call.answer(nil) }
        } catch {
            writer.rollBack()
            for call in done { call.answer(error) }
        }
    }

    private struct Failure: Error {
        let cause: ChangeFeedError
        /// Whether what others did in the same transaction is gone too.
        let endsTransaction: Bool
    }

    private func run(_ call: Call, on writer: SQLiteWriter, isFirst: Bool) throws(Failure) {
        var savepoint: StoreSavepoint?
        do throws(ChangeFeedError) {
            // Before the first there is nothing to go back to.
            if !isFirst { savepoint = try writer.savepoint() }
            try call.run(writer)
            try writer.releaseSavepoints()
        } catch {
            // A write that could not be carried out makes SQLite take back everything.
            guard let savepoint, !writer.connection.isInAutocommit else {
                throw Failure(cause: error, endsTransaction: true)
            }
            do throws(ChangeFeedError) {
                try writer.rollBack(to: savepoint)
                try writer.releaseSavepoints()
            } catch {
                throw Failure(cause: error, endsTransaction: true)
            }
            throw Failure(cause: error, endsTransaction: false)
        }
    }
}

extension ChangeFeedError {
    static func closed(_ path: String) -> ChangeFeedError {
        ChangeFeedError(.serviceUnavailable, "The store \"\(path)\" is closed. Open it anew.")
    }
}
