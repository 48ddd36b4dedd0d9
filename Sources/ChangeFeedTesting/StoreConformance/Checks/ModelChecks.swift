import ChangeFeed

extension StoreConformance.Check {
    /// Everything at once, by chance.
    static let model = [random]

    private static let random = Self(
        "model.random", "After any sequence of operations the store holds what an obvious model holds."
    ) { trial in
        var trial = trial
        var model = ModelStore()
        var history: [String] = []
        var done = 0
        var number = 0
        while done < 1500 {
            var random = SeededGenerator(seed: trial.seed, step: number)
            let count = 1 + random.below(28)
            let fails = random.once(in: 5)
            let reopens = random.once(in: 12)
            let transaction = ModelTransaction(model: model, random: random, payloads: trial.payloads)
            do {
                let outcome = try await trial.run(transaction, operations: count, fails: fails)
                model = outcome.model
                history += fails ? ["a write of \(count) operations that throws"] : outcome.log + ["commit"]
                history = history.suffix(30)
                if reopens, trial.reopening != nil {
                    trial = try await trial.reopened()
                    history.append("open again")
                }
                let (expected, later) = (model, SeededGenerator(seed: trial.seed, step: -1 - number))
                try await trial.read { reader in
                    var random = later
                    try expected.compare(with: reader, &random)
                }
            } catch var mismatch as Mismatch {
                mismatch.step = "in transaction \(number), after \(done) operations, \(mismatch.step)"
                mismatch.history = Array((history + mismatch.history).suffix(30))
                throw mismatch
            }
            done += count
            number += 1
        }
    }
}

extension Trial {
    /// Runs a random transaction, and gives it as it is at its end.
    fileprivate func run(
        _ transaction: ModelTransaction, operations: Int, fails: Bool
    ) async throws -> ModelTransaction {
        let body: @Sendable (any StoreWriter) throws -> ModelTransaction = { writer in
            var transaction = transaction
            do {
                for _ in 0..<operations { try transaction.step(writer) }
                // The read that follows looks at all; within the write now and then is enough.
                if transaction.random.once(in: 4) {
                    try transaction.model.compare(with: writer, &transaction.random)
                }
            } catch var mismatch as Mismatch {
                mismatch.history = transaction.log
                throw mismatch
            }
            return transaction
        }
        if !fails { return try await write(body) }
        try await writeInVain { writer in _ = try body(writer) }
        return transaction
    }
}
