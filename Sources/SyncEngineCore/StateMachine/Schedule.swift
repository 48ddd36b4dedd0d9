/// When something is to be done that nobody asks for at that moment.
///
/// The server's wish to be left alone holds for automatic triggers, grows under repeated refusals with the server's
/// value as a floor, and arms one repetition (case B07).
struct Schedule: Sendable {
    /// What is to be repeated.
    struct Work: OptionSet, Hashable, Sendable {
        let rawValue: UInt8
        static let fetch = Work(rawValue: 1)
        static let send = Work(rawValue: 2)

        var names: String {
            [contains(.fetch) ? "fetch" : nil, contains(.send) ? "send" : nil].compactMap { $0 }.joined(
                separator: " and ")
        }
    }

    /// Until when automatic work waits.
    private(set) var coolsUntil: Duration?
    /// What is to be done then.
    private(set) var wanted: Work = []
    /// Who it was that refused.
    enum Refuser: Sendable {
        case server
        /// A handler that threw.
        case app
    }

    private struct Cause: Hashable, Sendable {
        let work: Work
        let refuser: Refuser
    }

    /// How long the last of a row of refusals has waited.
    private var lastDelays: [Cause: Duration] = [:]
    /// When the server was last asked for changes of the database.
    var lastFetch: Duration = .zero

    /// Gives how long to wait.
    mutating func refused(
        _ retryAfter: Duration?, wants work: Work, now: Duration, policy: SyncEngine.TriggerPolicy, jitter: Double,
        by refuser: Refuser
    ) -> Duration {
        wanted.formUnion(work)
        let cause = Cause(work: work, refuser: refuser)
        let lastDelay = lastDelays[cause]
        let doubled = lastDelay.map { min($0 * 2, policy.longestRetryDelay) } ?? policy.firstRetryDelay
        var delay = max(doubled, policy.firstRetryDelay)
        if let retryAfter {
            // The first refusal waits just as long as the server says.
            delay = lastDelay == nil ? max(retryAfter, .zero) : max(retryAfter, delay)
        } else {
            delay += delay * (jitter * 0.25)
        }
        lastDelays[cause] = max(delay, lastDelay ?? .zero)
        coolsUntil = max(coolsUntil ?? .zero, now + delay)
        return (coolsUntil ?? now) - now
    }

    /// A request was answered, with nothing in it to be repeated: the next refusal of such work begins anew.
    mutating func answered(_ work: Work, by refuser: Refuser = .server) {
        lastDelays[Cause(work: work, refuser: refuser)] = nil
        if wanted.isEmpty { coolsUntil = nil }
    }

    /// Some work is done, so that it is not repeated.
    mutating func done(_ work: Work) {
        wanted.subtract(work)
        if wanted.isEmpty { coolsUntil = nil }
    }

    /// More is to be done when the wait is over.
    mutating func wait(for work: Work) { wanted.formUnion(work) }

    /// The account is another: what was to be repeated is no more.
    mutating func reset() {
        coolsUntil = nil
        wanted = []
        lastDelays = [:]
    }

    /// How long automatic work still has to wait; nil if it need not.
    func remaining(at now: Duration) -> Duration? {
        guard let coolsUntil, coolsUntil > now else { return nil }
        return coolsUntil - now
    }
}
