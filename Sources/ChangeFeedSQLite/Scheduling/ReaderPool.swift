import ChangeFeed
import Dispatch

/// Those who read: a few connections, each on a thread of its own, and the calls that wait for one of them.
///
/// It is also a task executor. A task that prefers it runs on the readers' threads, and what it reads is read there and
/// then, without a change of threads for each call.
final class ReaderPool: TaskExecutor {
    typealias Call = any PendingCall<SQLiteReader>

    private enum Work: Sendable {
        case call(Call)
        case job(UnownedJob)
    }

    /// A connection and its thread.
    private final class Reader: Sendable {
        // Unsafe because the class is not Sendable: it is touched on the queue only.
        nonisolated(unsafe) var session: SQLiteReader?
        let queue = DispatchQueue(label: "ChangeFeedSQLite.reader")
        unowned let pool: ReaderPool

        init(_ session: SQLiteReader, of pool: ReaderPool) {
            self.session = session
            self.pool = pool
            queue.setSpecific(key: ReaderPool.current, value: Unowned(self))
        }
    }

    // A queue that held its reader would never let go of it.
    private struct Unowned: Sendable {
        unowned let reader: Reader

        init(_ reader: Reader) {
            self.reader = reader
        }
    }

    private static let current = DispatchSpecificKey<Unowned>()

    private struct State: Sendable {
        var all: [Reader] = []
        var idle: [Reader] = []
        var waiting: [Work] = []
    }

    private let path: String
    private let state = Locked(State())

    init(_ sessions: [SQLiteReader], path: String) {
        self.path = path
        let readers = sessions.map { Reader($0, of: self) }
        state.withLock { state in
            state.all = readers
            state.idle = readers
        }
    }

    /// Takes a call in, and runs it here if this is one of the pool's threads. It is answered in any case.
    func submit(_ call: Call) {
        if let reader = here {
            perform(call, on: reader)
        } else {
            submit(.call(call))
        }
    }

    /// The reader whose thread this is.
    private var here: Reader? {
        guard let reader = DispatchQueue.getSpecific(key: ReaderPool.current)?.reader, reader.pool === self
        else { return nil }
        return reader
    }

    /// Runs a task's next stretch.
    func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    private func submit(_ work: Work) {
        let reader = state.withLock { state in
            let reader = state.idle.popLast()
            if reader == nil { state.waiting.append(work) }
            return reader
        }
        guard let reader else { return }
        reader.queue.async { [self] in
            var next: Work? = work
            while let work = next {
                switch work {
                case .call(let call): perform(call, on: reader)
                case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
                }
                next = state.withLock { state in
                    if state.waiting.isEmpty {
                        state.idle.append(reader)
                        return nil
                    }
                    return state.waiting.removeFirst()
                }
            }
        }
    }

    private func perform(_ call: Call, on reader: Reader) {
        guard let session = reader.session else { return call.answer(.closed(path)) }
        do throws(ChangeFeedError) {
            try session.beginReading()
            defer { session.endReading() }
            try call.run(session)
        } catch {
            return call.answer(error)
        }
        call.answer(nil)
    }

    /// Lets finish what runs, and closes the connections. What comes afterwards is answered with an error.
    func close() async {
        for reader in state.withLock({ $0.all }) {
            await withUnsafeContinuation { continuation in
                reader.queue.async {
                    reader.session = nil
                    continuation.resume()
                }
            }
        }
    }
}
