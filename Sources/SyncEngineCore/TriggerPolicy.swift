extension SyncEngine {
    /// What an engine does about each kind of trigger: a table, as a value.
    public struct TriggerPolicy: Sendable, Hashable, Codable {
        /// What a kind of trigger asks for.
        public enum Rule: String, Sendable, Hashable, Codable, CaseIterable {
            /// A fetch, then a send if there is something to be sent.
            case fetchAndSend
            /// A fetch.
            case fetch
            /// A send.
            case send
            /// No work; only a note that the database is worth asking.
            case note
            /// Nothing.
            case ignore
        }

        /// When an explicit fetch asks the server.
        public enum ExplicitFetch: String, Sendable, Hashable, Codable {
            /// Always (invariant 10).
            case always
            /// Only if something is known to have happened, as the original does (rule I4).
            case whenDirty
        }

        /// The rule for each kind; a kind that is not here is ignored.
        public var rules: [TriggerKind: Rule]
        /// When an explicit fetch asks the server.
        public var explicitFetch: ExplicitFetch
        /// Whether the engine sleeps on its clock and gives itself triggers.
        public var actsByItself: Bool
        /// After how long without a fetch the engine gives itself ``Trigger/periodic``; nil for never.
        public var period: Duration?
        /// How long the first repetition waits where the server does not say.
        public var firstRetryDelay: Duration
        /// The longest that a repetition waits where the server does not say more.
        public var longestRetryDelay: Duration

        /// A policy from its parts.
        public init(
            rules: [TriggerKind: Rule], explicitFetch: ExplicitFetch = .always, actsByItself: Bool = true,
            period: Duration? = nil, firstRetryDelay: Duration = .seconds(2),
            longestRetryDelay: Duration = .seconds(900)
        ) {
            self.rules = rules
            self.explicitFetch = explicitFetch
            self.actsByItself = actsByItself
            self.period = period
            self.firstRetryDelay = firstRetryDelay
            self.longestRetryDelay = longestRetryDelay
        }

        /// The rule for a kind.
        public subscript(kind: TriggerKind) -> Rule {
            get { rules[kind] ?? .ignore }
            set { rules[kind] = newValue }
        }

        /// Every trigger does what one would hope: hints, launches and returns to the foreground fetch, additions send,
        /// and once in fifteen minutes of silence the server is asked, because hints may be lost.
        public static let automatic = TriggerPolicy(
            rules: [
                .launch: .fetchAndSend, .push: .fetch, .enteredForeground: .fetchAndSend,
                .networkBecameAvailable: .fetchAndSend, .accountChanged: .fetchAndSend, .pendingChangesAdded: .send,
                .periodic: .fetchAndSend, .retryDue: .fetchAndSend,
            ], period: .seconds(900))

        /// Nothing happens by itself, also no repetition: only explicit calls do anything (rule I6). An account change
        /// closes the gate all the same.
        public static let manual = TriggerPolicy(
            rules: [.push: .note, .enteredForeground: .note, .launch: .note], actsByItself: false)

        /// As the original behaves (rules I4 and I5): an engine with a saved state asks the database only after a hint,
        /// after a return to the foreground that it saw, or after it has sent something itself. An explicit fetch may
        /// thus do nothing; here its outcome says so.
        public static let cloudKit = TriggerPolicy(
            rules: [
                .launch: .ignore, .push: .fetch, .enteredForeground: .fetch, .networkBecameAvailable: .send,
                .accountChanged: .fetchAndSend, .pendingChangesAdded: .send, .retryDue: .fetchAndSend,
            ], explicitFetch: .whenDirty)

        /// The preset's name, for the journal.
        var name: String {
            switch self {
            case .automatic: "automatic"
            case .manual: "manual"
            case .cloudKit: "cloudKit"
            default: "custom"
            }
        }
    }
}
