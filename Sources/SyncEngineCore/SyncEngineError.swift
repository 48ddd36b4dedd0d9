import ChangeFeed

/// What went wrong in a sync engine itself, or the error of a request that it made.
public struct SyncEngineError: Error, Sendable, CustomStringConvertible {
    /// What kind of error it is.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case requestFailed, cancelled, reentrantCall, stopped, staleState, stateInUse, damagedState, storeFailed
            case conflictNotResolved, sendFailed, handlerFailed, unsupportedZone
        }

        private let kind: Kind

        /// A request to the server failed: see ``SyncEngineError/underlying``.
        public static let requestFailed = Code(kind: .requestFailed)
        /// The caller's task was cancelled, or ``SyncEngine/cancelOperations()`` was called.
        public static let cancelled = Code(kind: .cancelled)
        /// The call was made from within a handler of the same engine, which would wait for itself (section 6.11).
        public static let reentrantCall = Code(kind: .reentrantCall)
        /// The engine has been stopped.
        public static let stopped = Code(kind: .stopped)
        /// Another engine has written the state since this one read it (section 6.10).
        public static let staleState = Code(kind: .staleState)
        /// Another process has the state's file open.
        public static let stateInUse = Code(kind: .stateInUse)
        /// Stored bytes are no state of an engine.
        public static let damagedState = Code(kind: .damagedState)
        /// The state could not be stored.
        public static let storeFailed = Code(kind: .storeFailed)
        /// The server refused one version of a record twice: the resolution has to start from the server's record.
        public static let conflictNotResolved = Code(kind: .conflictNotResolved)
        /// Something was not sent, and will not be by itself: see ``SyncEngineError/outcome``.
        public static let sendFailed = Code(kind: .sendFailed)
        /// The delegate threw while it handled a page of database changes or an account change.
        public static let handlerFailed = Code(kind: .handlerFailed)
        /// The zone does not support change tracking: what is sent to it would never be fetched (rule Z2).
        public static let unsupportedZone = Code(kind: .unsupportedZone)

        /// The code's name.
        public var description: String { kind.rawValue }
    }

    private final class Context: Sendable {
        let code: Code
        let message: String
        let recordID: Record.ID?
        let underlying: ChangeFeedError?
        let outcome: SyncEngine.SendOutcome?

        init(
            _ code: Code, _ message: String, _ recordID: Record.ID?, _ underlying: ChangeFeedError?,
            _ outcome: SyncEngine.SendOutcome?
        ) {
            self.code = code
            self.message = message
            self.recordID = recordID
            self.underlying = underlying
            self.outcome = outcome
        }
    }

    private let context: Context

    /// An error from its parts.
    public init(
        _ code: Code, _ message: String, recordID: Record.ID? = nil, underlying: ChangeFeedError? = nil,
        outcome: SyncEngine.SendOutcome? = nil
    ) {
        context = Context(code, message, recordID, underlying, outcome)
    }

    /// What kind of error it is.
    public var code: Code { context.code }
    /// What happened, to which item, and what to do.
    public var message: String { context.message }
    /// The record that it is about.
    public var recordID: Record.ID? { context.recordID ?? context.underlying?.recordID }
    /// What the server or the feed said.
    public var underlying: ChangeFeedError? { context.underlying }
    /// Of a send in which something failed, all that came of it.
    public var outcome: SyncEngine.SendOutcome? { context.outcome }

    /// Code, message and what the server said.
    public var description: String {
        "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "")
    }
}

extension SyncEngineError {
    static let stoppedEngine = SyncEngineError(.stopped, "The engine has been stopped: make a new one.")
    static let cancelledCall = SyncEngineError(.cancelled, "The call was cancelled.")

    static func requestFailed(_ error: ChangeFeedError) -> SyncEngineError {
        SyncEngineError(.requestFailed, "A request failed: \(error.message)", underlying: error)
    }
}
