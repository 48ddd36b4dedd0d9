import Dispatch

/// A thread on which tasks run in the order in which they were made, each as far as it gets without waiting.
final class OneThread: TaskExecutor {
    private let queue = DispatchQueue(label: "ChangeFeedSQLiteTests.one-thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
