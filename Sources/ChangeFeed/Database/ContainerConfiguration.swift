#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Container {
    /// What a container is given beside its store. Every property has a default: make one and set what differs.
    public struct Configuration: Sendable {
        /// The bounds of requests, records and pages.
        public var limits = Limits.cloudKit
        /// How long the feed remembers what was deleted.
        public var retention = RetentionPolicy.standard
        /// Whether record types and keys that the schema does not have are learned or refused (rule R5).
        public var environment = Schema.Environment.development
        /// Behaviour of CloudKit's that is left out by default.
        public var compatibility = Compatibility()
        /// How encrypted values are sealed; without one they are refused (rule R10).
        public var encryption: FieldEncryption?
        /// How many bytes a user's private database may take; nil for any number.
        public var quota: @Sendable (_ userID: String) -> Int? = { _ in nil }
        /// The server's calendar clock: the dates of records and zones. It decides no conflict.
        public var now: @Sendable () -> Date = { Date() }
        /// The clock by which requests that wait come to their end.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The source of epoch nonces.
        public var randomness: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

        /// CloudKit's limits, the system's clocks and its randomness.
        public init() {}

        /// A configuration that differs from the usual one in these.
        public init(
            limits: Limits = .cloudKit,
            now: @escaping @Sendable () -> Date = { Date() },
            randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
        ) {
            self.limits = limits
            self.now = now
            self.randomness = randomness
        }
    }
}
