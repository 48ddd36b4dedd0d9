import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A clock that stands still until a test moves it.
///
/// Who sleeps on it is woken in the order of deadlines, and among equal ones in the order of lying down.
public final class ManualClock: Clock, Sendable {
    /// A time of the clock: so long after its beginning.
    public struct Instant: InstantProtocol, Sendable {
        /// The time since the clock's beginning.
        public let elapsed: Duration

        /// A time from how long it is after the clock's beginning.
        public init(elapsed: Duration) {
            self.elapsed = elapsed
        }

        /// A later time.
        public func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
        /// How long it is to another time.
        public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
        /// Whether the left time is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
    }

    private struct Sleeper {
        let number: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Content {
        var now = Instant(elapsed: .zero)
        var sleepers: [Sleeper] = []
        /// Those who were cancelled before they lay down.
        var cancelled: Set<Int> = []
        var lastNumber = 0
        var deviceCount: UInt64 = 0
    }

    private let content = Locked(Content())
    private let beginning: Date

    /// A clock whose beginning is a date.
    public init(beginning: Date = Date(timeIntervalSince1970: 1_000_000_000)) {
        self.beginning = beginning
    }

    /// The present time.
    public var now: Instant { content.withLock { $0.now } }
    /// The present time as a date: for `Configuration.now`.
    public var date: Date {
        let (seconds, attoseconds) = now.elapsed.components
        return beginning.addingTimeInterval(Double(seconds) + Double(attoseconds) * 1e-18)
    }
    /// Any two times can be told apart.
    public var minimumResolution: Duration { .zero }
    /// Counts the devices that were made under this clock, so that no two draw the same numbers.
    func nextDeviceNumber() -> UInt64 {
        content.withLock { content in
            content.deviceCount += 1
            return content.deviceCount
        }
    }

    /// How many sleep.
    public var sleeperCount: Int { content.withLock { $0.sleepers.count } }

    /// Moves the clock, and wakes all whose time has come. They run in tasks of their own: wait for what they do.
    public func advance(by duration: Duration) {
        let woken = content.withLock { content -> [Sleeper] in
            content.now = content.now.advanced(by: duration)
            let now = content.now
            let woken = content.sleepers.filter { $0.deadline <= now }
            content.sleepers.removeAll { $0.deadline <= now }
            return woken.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Sleeps until the clock is moved to a time or past it.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = content.withLock { content in
            content.lastNumber += 1
            return content.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer = content.withLock { content -> Result<Void, any Error>? in
                    if content.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    if deadline <= content.now { return .success(()) }
                    content.sleepers.append(
                        Sleeper(number: number, deadline: deadline, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = content.withLock { content -> Sleeper? in
                guard let index = content.sleepers.firstIndex(where: { $0.number == number }) else {
                    content.cancelled.insert(number)
                    return nil
                }
                return content.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
