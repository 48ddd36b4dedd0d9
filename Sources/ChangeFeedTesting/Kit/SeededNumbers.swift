import ChangeFeed

/// Numbers that look random and are the same for the same seed, on every machine: for a configuration's `randomness`.
public final class SeededNumbers: RandomNumberGenerator, Sendable {
    private let generator: Locked<SeededGenerator>

    /// Numbers from a seed.
    public init(seed: UInt64) {
        generator = Locked(SeededGenerator(seed: seed))
    }

    /// The next number.
    public func next() -> UInt64 { generator.withLock { $0.next() } }
}
