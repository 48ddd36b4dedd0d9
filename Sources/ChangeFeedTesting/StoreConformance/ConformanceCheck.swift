extension StoreConformance {
    /// One promise of the storage port, and how a store is held to it.
    public struct Check: Sendable, Identifiable {
        /// What a check needs beside a store.
        public enum Requirement: Sendable, Hashable {
            /// Nothing.
            case nothing
            /// A way to close the store and open it again.
            case reopening
            /// That the store can be put back to an earlier state.
            case snapshots
        }

        /// The check's name: a subject and a promise, such as `links.kinds`.
        public let id: String
        /// The promise, as a sentence.
        public let sentence: String
        /// What the check needs beside a store; where that is missing, the check is left out.
        public let requirement: Requirement
        let body: @Sendable (Trial) async throws -> Void

        init(
            _ id: String, _ sentence: String, needs requirement: Requirement = .nothing,
            _ body: @escaping @Sendable (Trial) async throws -> Void
        ) {
            self.id = id
            self.sentence = sentence
            self.requirement = requirement
            self.body = body
        }
    }

    /// A promise that a store does not keep.
    public struct Failure: Error, Sendable {
        /// The promise.
        public let check: Check
        /// The seed with which the check failed.
        public let seed: UInt64
        /// What the check was doing.
        public let step: String
        /// What a store that keeps the promise gives.
        public let expected: String
        /// What this store gave.
        public let found: String
        /// What was done to the store before, latest last, where the check is a random one.
        public let history: [String]
    }
}

extension StoreConformance.Check: CustomStringConvertible {
    /// The name and the promise.
    public var description: String { "\(id): \(sentence)" }
}

extension StoreConformance.Failure: Hashable {
    /// Whether both are the same finding.
    public static func == (left: Self, right: Self) -> Bool {
        left.check.id == right.check.id && left.seed == right.seed && left.step == right.step
            && left.expected == right.expected && left.found == right.found && left.history == right.history
    }

    /// Hashes the check, the seed and the step.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(check.id)
        hasher.combine(seed)
        hasher.combine(step)
    }
}

extension StoreConformance.Failure: CustomStringConvertible {
    /// The promise, how it was broken, and how to see only that again.
    public var description: String {
        let past = history.isEmpty ? "" : "\nBefore that:\n" + history.map { "    \($0)\n" }.joined()
        return """
            "\(check.sentence)" is not kept: \(step), expected \(expected), found \(found). \
            Only this again: StoreConformance(seed: \(seed)) { … }.run(only: ["\(check.id)"]).\(past)
            """
    }
}
