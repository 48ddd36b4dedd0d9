#if TSAN
    import Foundation
#else
    import Synchronization
#endif

/// One lock round one value: the only lock of the package.
///
/// The thread sanitizer on Linux cannot see into `Mutex` and reports races that are none, so its build
/// (`-Xswiftc -DTSAN`) locks with an `NSLock` instead.
// Unchecked because the compiler cannot see that `value` is touched only between lock and unlock.
package final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    #if TSAN
        private let lock = NSLock()
    #else
        private let mutex = Mutex(())
    #endif

    package init(_ value: Value) {
        self.value = value
    }

    /// Runs `body` with exclusive access to the value. The body must not call back into the same lock.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if TSAN
            lock.lock()
            defer { lock.unlock() }
            return try body(&value)
        #else
            // The result leaves through a local because `Mutex` asks for a `sending` one, which a value
            // that lives as long as this lock need not be.
            var result: Swift.Result<Result, Failure>?
            mutex.withLock { _ in
                do throws(Failure) {
                    result = .success(try body(&value))
                } catch {
                    result = .failure(error)
                }
            }
            guard let result else { preconditionFailure("a mutex ran its body no time") }
            return try result.get()
        #endif
    }
}
