/// A clock as the engine uses it: the time since the engine was made.
struct EngineClock: Sendable {
    /// The time since the engine was made.
    let elapsed: @Sendable () -> Duration
    /// Sleeps until that time; throws if the task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init(_ clock: any Clock<Duration>) {
        self = EngineClock.opened(clock)
    }

    private init(
        elapsed: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.elapsed = elapsed
        self.sleep = sleep
    }

    private static func opened<C: Clock<Duration>>(_ clock: C) -> EngineClock {
        let start = clock.now
        return EngineClock(
            elapsed: { start.duration(to: clock.now) },
            sleep: { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) })
    }
}
