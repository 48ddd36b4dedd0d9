import ChangeFeed
import SyncEngineCore

/// What came of a simulation in which nothing was wrong.
public struct SimulationReport: Sendable, Hashable {
    /// A trigger in a situation.
    public struct TriggerSituation: Sendable, Hashable {
        /// The trigger.
        public let trigger: SyncEngine.TriggerKind
        /// What the engine was doing.
        public let situation: SyncEngine.Situation

        init(_ trigger: SyncEngine.TriggerKind, _ situation: SyncEngine.Situation) {
            self.trigger = trigger
            self.situation = situation
        }
    }

    /// An error of a request.
    public struct RequestError: Sendable, Hashable {
        /// The request.
        public let request: FaultPlan.Request
        /// Its error's code.
        public let code: ChangeFeedError.Code

        init(_ request: FaultPlan.Request, _ code: ChangeFeedError.Code) {
            self.request = request
            self.code = code
        }
    }

    /// How many simulations these are the sums of.
    public internal(set) var runs = 0
    /// How many steps were taken.
    public internal(set) var steps = 0
    /// How many requests the devices made.
    public internal(set) var requests = 0
    /// How many edits the users made.
    public internal(set) var edits = 0
    /// What went wrong how many times, by kind.
    public internal(set) var faults: [String: Int] = [:]
    /// How many times each trigger came in each situation.
    public internal(set) var triggers: [TriggerSituation: Int] = [:]
    /// How many times each request failed with each code because the script said so.
    public internal(set) var errors: [RequestError: Int] = [:]
    /// A digest of everything that the engines' journals say: equal for equal seeds, on every machine.
    public internal(set) var digest: UInt64 = 0

    /// Nothing yet.
    public init() {}

    /// Adds what came of another.
    public mutating func add(_ other: SimulationReport) {
        runs += other.runs
        steps += other.steps
        requests += other.requests
        edits += other.edits
        faults.merge(other.faults, uniquingKeysWith: +)
        triggers.merge(other.triggers, uniquingKeysWith: +)
        errors.merge(other.errors, uniquingKeysWith: +)
        digest = digest &+ other.digest
    }
}

/// What was wrong in a simulation.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
    /// The seed.
    public let seed: UInt64
    /// After how many steps it showed.
    public let step: Int
    /// What is not as it must be, with the device.
    public let sentence: String
    /// A script that shows it, as short as one was found.
    public let script: [SimulationStep]
    /// The last things that happened.
    public let history: [String]
    let deviceCount: Int

    /// The sentence, and a test to be pasted.
    public var description: String {
        let steps = script.map { "            \($0),\n" }.joined()
        return """
            \(sentence) (seed \(seed), after step \(step))
            \(history.map { "  \($0)\n" }.joined())
                func testSimulationSeed\(seed)() async throws {
                    try await Simulation(seed: \(seed), devices: \(deviceCount), script: [
            \(steps)        ]).run()
                }
            """
    }
}
