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
    @inline(__always)
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if TSAN
            lock.lock()
            defer { lock.unlock() }
            return try body(&value)
        #else
            return try mutex.withLock { (_) throws(Failure) in Carried(value: try body(&value)) }.value
        #endif
    }
}

// Unchecked because `Mutex` asks for a `sending` result, which a value that lives as long as its lock need not be: what
// leaves the lock is up to the caller.
private struct Carried<Value>: @unchecked Sendable {
    let value: Value
}
