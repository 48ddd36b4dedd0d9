/// The time that one kind of work takes within another.
struct Stopwatch {
    private var counted = Duration.zero
    private var began: ContinuousClock.Instant?

    /// What has been counted between each start and the stop after it.
    var seconds: Double { counted / .seconds(1) }

    mutating func start() {
        began = .now
    }

    mutating func stop() {
        if let began { counted += began.duration(to: .now) }
        began = nil
    }
}
