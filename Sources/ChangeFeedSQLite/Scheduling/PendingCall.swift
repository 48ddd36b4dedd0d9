import ChangeFeed

/// A call that waits for a connection, and for its answer.
protocol PendingCall<Transaction>: AnyObject, Sendable {
    associatedtype Transaction
    /// Runs the body and keeps its result. What the body throws is to be taken back, and then answered.
    func run(_ transaction: Transaction) throws(ChangeFeedError)
    /// Answers the caller: with the result that was kept, or with an error.
    func answer(_ error: ChangeFeedError?)
}

/// A body with a result, and the caller who waits for it.
// Unchecked because the compiler cannot see that the result is touched only where the call runs.
final class BodyCall<Transaction, Result: Sendable>: PendingCall, @unchecked Sendable {
    typealias Continuation = UnsafeContinuation<Swift.Result<Result, ChangeFeedError>, Never>

    private var body: (@Sendable (Transaction) throws(ChangeFeedError) -> Result)?
    private let continuation: Continuation
    private var result: Result?

    init(
        _ continuation: Continuation, _ body: @escaping @Sendable (Transaction) throws(ChangeFeedError) -> Result
    ) {
        self.body = body
        self.continuation = continuation
    }

    func run(_ transaction: Transaction) throws(ChangeFeedError) {
        result = try body.map { (body) throws(ChangeFeedError) in try body(transaction) }
    }

    func answer(_ error: ChangeFeedError?) {
        // The caller is to be the only one who holds what it was given, and what it gave, from here on.
        body = nil
        if let error {
            result = nil
            continuation.resume(returning: .failure(error))
        } else if let result = result.take() {
            continuation.resume(returning: .success(consume result))
        } else {
            continuation.resume(
                returning: .failure(ChangeFeedError(.internalError, "A transaction was answered before it had run.")))
        }
    }
}
