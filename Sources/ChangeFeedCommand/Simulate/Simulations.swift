import ChangeFeed
import ChangeFeedSQLite
import ChangeFeedTesting
import Foundation
import SyncEngineCore

/// Many simulations, as many at a time as there are cores.
struct Simulations: Sendable {
    let options: SimulateOptions

    init(_ options: SimulateOptions) {
        self.options = options
    }

    func run(on console: any Console) async throws -> ExitStatus {
        let begin = ContinuousClock.now
        let channel: OutputChannel = options.json ? .error : .output
        let count = options.seeds.upperBound - options.seeds.lowerBound
        if options.seconds != nil || count >= 1 << 32 {
            try console.write("seeds from \(options.seeds.lowerBound) on\n", to: channel)
        }
        var bar = ProgressBar(
            "simulating", unit: "seeds", total: Int(clamping: count &+ 1), on: channel, of: console)
        var summary = SimulationReport()
        var failure: SimulationFailure?
        var next: UInt64? = options.seeds.lowerBound
        var done = 0
        try await withThrowingTaskGroup(of: Result<SimulationReport, SimulationFailure>.self) { group in
            var running = 0
            let width = max(1, ProcessInfo.processInfo.activeProcessorCount)
            while true {
                let isOver = options.seconds.map { begin.duration(to: .now) >= .seconds($0) } ?? false
                while running < width, let seed = next, !isOver, failure == nil {
                    next = seed == options.seeds.upperBound ? nil : seed + 1
                    running += 1
                    group.addTask { try await attempt(seed) }
                }
                guard let result = try await group.next() else { break }
                running -= 1
                done += 1
                switch result {
                case .success(let report): summary.add(report)
                case .failure(let found):
                    if failure.map({ found.seed < $0.seed }) ?? true { failure = found }
                }
                if options.seconds == nil { try bar.advance(to: done) }
            }
        }
        try bar.close()
        let seconds = begin.duration(to: .now)
        let result = SimulationSummary(
            summary, failure,
            seconds: Double(seconds.components.seconds) + Double(seconds.components.attoseconds) * 1e-18)
        try console.write(options.json ? try InspectRequest.object(result) : result.text(summary), to: .output)
        if let failure { try console.write("\(failure)\n", to: channel) }
        return failure == nil ? .success : .differences
    }

    private func attempt(_ seed: UInt64) async throws -> Result<SimulationReport, SimulationFailure> {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "changefeed-simulation-\(UUID().uuidString)")
        defer { if options.isInFile { try? FileManager.default.removeItem(at: folder) } }
        var storage: (@Sendable () -> SimulationStore)?
        if options.isInFile { storage = { Simulations.store(in: folder, seed: seed) } }
        let simulation = Simulation(
            seed: seed, devices: options.devices, steps: options.steps, storage: storage)
        do {
            return .success(try await simulation.run())
        } catch let failure as SimulationFailure {
            return .failure(failure)
        }
    }

    /// A store in a new file for each run of a simulation; restarts open the same one.
    private static func store(in folder: URL, seed: UInt64) -> SimulationStore {
        let file = folder.appending(path: UUID().uuidString)
        let numbers = SeededNumbers(seed: seed)
        return SimulationStore(
            open: {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                return try await SQLiteStore.open(
                    at: file, configuration: .init(durability: .normal, readers: 1, randomness: { numbers.next() }))
            },
            close: { store in await (store as? SQLiteStore)?.close() })
    }
}

/// What is printed of simulations.
struct SimulationSummary: Encodable {
    let runs: Int
    let steps: Int
    let edits: Int
    let requests: Int
    let seconds: Double
    let faults: [String: Int]
    /// How many of the pairs of a trigger and a situation came up, and how many of a request and an error's code.
    let triggerSituations: Int
    let requestErrors: Int
    let failedSeed: UInt64?
    let digest: UInt64

    init(_ report: SimulationReport, _ failure: SimulationFailure?, seconds: Double) {
        runs = report.runs
        steps = report.steps
        edits = report.edits
        requests = report.requests
        self.seconds = seconds
        faults = report.faults
        triggerSituations = report.triggers.count
        requestErrors = report.errors.count
        failedSeed = failure?.seed
        digest = report.digest
    }

    func text(_ report: SimulationReport) -> String {
        var table = Table()
        table.add("simulations", runs)
        table.add("steps", steps)
        table.add("edits", edits)
        table.add("requests", requests)
        for (name, count) in faults.sorted(by: { ($0.value, $1.key) > ($1.value, $0.key) }) { table.add(name, count) }
        table.add("simulations a second", Double(runs) / max(seconds, 0.001), places: 1)
        return table.text + "\n" + triggers(report) + "\n" + errors(report) + "\n"
            + (failedSeed.map { "seed \($0) failed\n" } ?? "all is well\n")
    }

    private func triggers(_ report: SimulationReport) -> String {
        let situations = SyncEngine.Situation.allCases
        var grid = Grid(["trigger"] + situations.map(\.rawValue))
        for trigger in SyncEngine.TriggerKind.allCases {
            let counts = situations.map { situation in
                report.triggers.first { $0.key.trigger == trigger && $0.key.situation == situation }?.value ?? 0
            }
            grid.add([.text(trigger.rawValue)] + counts.map { .number($0) })
        }
        return grid.text
    }

    private func errors(_ report: SimulationReport) -> String {
        let requests = FaultPlan.Request.allCases.filter { request in
            report.errors.contains { $0.key.request == request }
        }
        var grid = Grid(["error"] + requests.map(\.rawValue))
        for code in ChangeFeedError.Code.allCases {
            let counts = requests.map { request in
                report.errors.first { $0.key.request == request && $0.key.code == code }?.value ?? 0
            }
            if counts.contains(where: { $0 > 0 }) { grid.add([.text("\(code)")] + counts.map { .number($0) }) }
        }
        return grid.text
    }
}
