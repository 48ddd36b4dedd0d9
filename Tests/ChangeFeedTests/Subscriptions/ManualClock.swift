import ChangeFeed

/// A clock that stands still until it is moved, and says when somebody sleeps by it.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Swift.Duration = .zero

        func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant()
        var lastNumber = 0
        var sleepers: [(number: Int, deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Those who waited for as many sleepers as there are now.
        mutating func satisfiedWatchers() -> [CheckedContinuation<Void, Never>] {
            let satisfied = watchers.filter { $0.count <= sleepers.count }.map(\.continuation)
            watchers.removeAll { $0.count <= sleepers.count }
            return satisfied
        }
    }

    private let state = Locked(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Swift.Duration { .nanoseconds(1) }
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let watchers: [CheckedContinuation<Void, Never>] = state.withLock { state in
                    if Task.isCancelled {
                        continuation.resume(throwing: CancellationError())
                    } else if deadline <= state.now {
                        continuation.resume()
                    } else {
                        state.sleepers.append((number, deadline, continuation))
                    }
                    return state.satisfiedWatchers()
                }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let index = state.sleepers.firstIndex { $0.number == number }
                return index.map { state.sleepers.remove(at: $0) }
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Moves the time on and wakes those who slept until then.
    func advance(by duration: Swift.Duration) {
        let awake = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let awake = state.sleepers.filter { $0.deadline <= now }
            state.sleepers.removeAll { $0.deadline <= now }
            return awake
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }

    /// Returns once so many sleep.
    func sleepers(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let watchers = state.withLock { state in
                state.watchers.append((count, continuation))
                return state.satisfiedWatchers()
            }
            for watcher in watchers { watcher.resume() }
        }
    }
}
