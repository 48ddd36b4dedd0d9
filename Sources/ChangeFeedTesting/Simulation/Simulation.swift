import ChangeFeed
import Dispatch
import SyncEngineCore

/// Devices, a server and everything that can go wrong between them, from a seed.
///
/// Users create, change, delete and move records on several devices; zones come and go; accounts switch; the server discards
/// history, is restarted and is put back to an older copy; hints and answers are lost, requests fail with every code,
/// calls are cancelled, handlers throw, devices die at any event. Then everything that went wrong is over, and all
/// must drain. Checked throughout: nothing acknowledged is lost or there twice, nothing that was deleted comes back,
/// nobody sees another user's records, every trigger is decided once, journals are whole and agree with the requests,
/// every stored state can be read, and in the end each device has what the server has.
///
/// Equal seeds give equal runs, to the byte of the journals, with any number of cores: everything runs on one thread.
public struct Simulation: Sendable {
    /// The seed: of the server, of the devices' rules, and of the script unless one was given.
    public let seed: UInt64
    /// How many devices there are.
    public let deviceCount: Int
    /// What happens.
    public let script: [SimulationStep]
    private let storage: @Sendable () -> SimulationStore

    /// A simulation of so many steps that follow from the seed.
    /// `storage` gives a new, empty store for each run; nil stands for one in memory.
    public init(
        seed: UInt64, devices: Int = 3, steps: Int = 300, storage: (@Sendable () -> SimulationStore)? = nil
    ) {
        var numbers = SeededGenerator(seed: seed, step: 1)
        self.init(
            seed: seed, devices: devices, script: (0..<max(0, steps)).map { _ in .random(&numbers) }, storage: storage)
    }

    /// A simulation of given steps, such as those that a failure has printed.
    public init(
        seed: UInt64, devices: Int = 3, script: [SimulationStep], storage: (@Sendable () -> SimulationStore)? = nil
    ) {
        self.seed = seed
        deviceCount = max(1, devices)
        self.script = script
        self.storage = storage ?? { .memory(seed: seed) }
    }

    /// Runs it. Throws a ``SimulationFailure`` with a script as short as was found if anything is wrong, or what the
    /// store threw when it was opened.
    @discardableResult
    public func run() async throws -> SimulationReport {
        try await withCheckedThrowingContinuation { continuation in
            // The one thread may wait for a store, so it is none of the pool's.
            DispatchQueue.global().async { continuation.resume(with: Result { try runHere() }) }
        }
    }

    /// Runs it on the calling thread, and makes the script shorter if it fails.
    func runHere() throws -> SimulationReport {
        do {
            return try attempt(script)
        } catch let failure as SimulationFailure {
            throw shortened(failure)
        }
    }

    private func attempt(_ script: [SimulationStep]) throws -> SimulationReport {
        let run = try SimulationRun(seed: seed, deviceCount: deviceCount, storage: storage())
        do {
            for step in script { try run.take(step) }
            try run.drain()
            return run.report
        } catch let finding as SimulationOracle.Finding {
            throw SimulationFailure(
                seed: seed, step: run.report.steps, sentence: finding.sentence,
                script: Array(script.prefix(run.report.steps)), history: run.lastEvents(), deviceCount: deviceCount)
        }
    }

    /// Leaves out whatever is not needed for a failure: halves, quarters and so on, down to single steps.
    private func shortened(_ failure: SimulationFailure) -> SimulationFailure {
        var best = failure
        var attempts = 400
        var size = max(1, best.script.count / 2)
        while attempts > 0 {
            var start = 0
            var hasShrunk = false
            while start < best.script.count, attempts > 0 {
                attempts -= 1
                var script = best.script
                script.removeSubrange(start..<min(start + size, script.count))
                do {
                    _ = try attempt(script)
                    start += size
                } catch let shorter as SimulationFailure {
                    best = shorter
                    hasShrunk = true
                } catch {
                    start += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        return best
    }
}
