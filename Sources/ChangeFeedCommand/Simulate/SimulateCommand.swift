import ChangeFeed
import ChangeFeedSQLite
import ChangeFeedTesting
import Foundation
import SyncEngineCore

extension Subcommand {
    /// `changefeed simulate`: devices, a server and everything that can go wrong between them.
    static let simulate = Subcommand(
        name: "simulate",
        summary: "let everything go wrong between devices and a server, and look whether all is well in the end",
        discussion: """
            Runs one simulation for each seed: users edit on several devices, zones come and go, accounts switch, the
            server forgets, restarts and is put back, hints and answers are lost, requests fail with every code, calls
            are cancelled, devices die at any event. Then the faults stop, and every device must end with what the server
            has, with nothing lost, doubled or risen from the dead. A seed that fails is shortened to a script that is
            printed as a test. Equal seeds give equal runs.

            Exit status: 0 where all is well, 1 where a seed fails, 2 for bad arguments.
            """,
        operands: "",
        options: SimulateOptions.options
    ) { arguments, console in
        let options = try SimulateOptions(arguments)
        return try await Simulations(options).run(on: console)
    }
}

/// What `changefeed simulate` was asked to do.
struct SimulateOptions: Equatable, Sendable {
    /// The first and the last seed.
    var seeds: ClosedRange<UInt64> = 1...100
    /// How many devices there are; at least 1.
    var devices = 5
    /// How many steps each simulation has.
    var steps = 300
    /// After how many seconds no other seed is begun; nil for never.
    var seconds: Int?
    /// Whether the server's records are in a file.
    var isInFile = false
    var json = false

    static let options: [Option] = [
        .text("seeds", "A..B", "the seeds from A to B, A alone, or `random` for any (1..100)"),
        .number("devices", 1...100, "how many devices there are (5)"),
        .number("steps", 0...1_000_000, "how many steps each simulation has (300)"),
        .number("seconds", 1...1_000_000, "begin no other seed after this time (never)"),
        .text("store", "KIND", "where the server keeps its records: memory or sqlite (memory)"),
        .flag("json", "print the result as one JSON object, and progress on the standard error"),
    ]

    init() {}

    init(_ arguments: Arguments) throws(UsageError) {
        if let extra = arguments.positionals.first { throw UsageError("\(shown(extra)) is one argument too many") }
        devices = arguments.count("devices") ?? devices
        steps = arguments.count("steps") ?? steps
        seconds = arguments.count("seconds")
        switch arguments.texts["store"] {
        case nil, "memory": isInFile = false
        case "sqlite": isInFile = true
        case let other?: throw UsageError("--store takes memory or sqlite, not \(shown(other))")
        }
        json = arguments.flags.contains("json")
        if let text = arguments.texts["seeds"] { seeds = try Self.seeds(text, isTimed: seconds != nil) }
    }

    private static func seeds(_ text: String, isTimed: Bool) throws(UsageError) -> ClosedRange<UInt64> {
        if text == "random" {
            let first = UInt64.random(in: 1...(1 << 48))
            return first...(first + (isTimed ? 1 << 32 : 99))
        }
        let parts = text.split(separator: "..", omittingEmptySubsequences: false).map { UInt64($0) }
        if parts.count == 1, let seed = parts[0] { return seed...seed }
        guard parts.count == 2, let first = parts[0], let last = parts[1], first <= last else {
            throw UsageError("--seeds takes A..B with A not above B, a seed, or random, not \(shown(text))")
        }
        return first...last
    }
}
