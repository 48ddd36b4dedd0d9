import ChangeFeed
import Dispatch

/// Runs all tasks of a simulation on the one thread that asks for it, in the order in which they became ready: with any
/// number of cores the same thing happens.
final class SimulationExecutor: TaskExecutor {
    private struct Content {
        var jobs: [UnownedJob] = []
        var first = 0
        /// How many requests are with a store that has threads of its own.
        var outside = 0
        var isWaiting = false
    }

    private let content = Locked(Content())
    private let wakeUp = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isWaiting = content.withLock { content in
            content.jobs.append(job)
            defer { content.isWaiting = false }
            return content.isWaiting
        }
        if isWaiting { wakeUp.signal() }
    }

    /// Says that a request has been given to somebody else's threads, so that it is waited for.
    func goesOutside() { content.withLock { $0.outside += 1 } }
    func isBack() { content.withLock { $0.outside -= 1 } }

    /// So many jobs are never needed between two steps: what goes on after them goes on for ever.
    private static let limit = 300_000

    /// Runs what is ready until nothing is and nothing comes. Gives false if that does not come about.
    func drain() -> Bool {
        for _ in 0..<SimulationExecutor.limit {
            guard let job = nextJob(waits: false) else { return true }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return false
    }

    /// Runs a body to its end, and whatever else becomes ready meanwhile.
    func run<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
        let result = Locked<Result?>(nil)
        Task(executorPreference: self) {
            let value = await body()
            result.withLock { $0 = value }
        }
        while true {
            if let value = result.withLock({ $0 }) { return value }
            nextJob(waits: true)?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private func nextJob(waits: Bool) -> UnownedJob? {
        while true {
            let (job, isOver) = content.withLock { content -> (UnownedJob?, Bool) in
                guard content.first < content.jobs.count else {
                    if !waits, content.outside == 0 { return (nil, true) }
                    content.isWaiting = true
                    return (nil, false)
                }
                let job = content.jobs[content.first]
                content.first += 1
                if content.first == content.jobs.count {
                    content.jobs.removeAll(keepingCapacity: true)
                    content.first = 0
                }
                return (job, false)
            }
            if let job { return job }
            if isOver { return nil }
            wakeUp.wait()
        }
    }
}
