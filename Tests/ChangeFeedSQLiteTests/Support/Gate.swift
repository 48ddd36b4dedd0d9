import Dispatch

/// Holds a transaction's body up until a test lets it go on.
final class Gate: Sendable {
    private let entered = AsyncStream<Void>.makeStream()
    private let opened = DispatchSemaphore(value: 0)

    func waitUntilOpen() {
        entered.continuation.finish()
        opened.wait()
    }

    func untilEntered() async {
        for await _ in entered.stream {}
    }

    func open() {
        opened.signal()
    }
}
