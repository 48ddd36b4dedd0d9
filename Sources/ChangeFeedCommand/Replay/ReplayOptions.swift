import ChangeFeedSQLite

/// What `changefeed replay` was asked to do.
struct ReplayOptions: Equatable, Sendable {
    /// A path in the repository whose history is replayed.
    var repository = "."
    /// The most results on a page of an incremental fetch; at least 1.
    var pageLimit = 200
    /// The most items in one modify; 1...`maximumBatch`.
    var batchLimit = maximumBatch
    /// What the moments of the fetches are drawn from.
    var seed: UInt64 = 1
    /// How many of the oldest commits are replayed; nil for all.
    var maxCommits: Int?
    /// The file of the store; nil for one in memory.
    var store: String?
    /// What of the store is sure to be there after a crash.
    var durability = SQLiteStore.Configuration.Durability.full
    /// The file that the devices' journals are written to; nil for none.
    var journal: String?
    /// Whether the result is one JSON object on the standard output.
    var json = false

    /// The most items that the feed takes in one modify.
    static let maximumBatch = 400

    static let options: [Option] = [
        .number("limit", 1...UInt64(Int.max), "results on a page of a fetch, at most (200)"),
        .number("batch", 1...UInt64(maximumBatch), "items in one modify, at most (\(maximumBatch), which is the most)"),
        .number("seed", 0...UInt64.max, "what the moments of the fetches are drawn from (1)"),
        .number("max-commits", 1...UInt64(Int.max), "replay the N oldest commits only (all)"),
        .text("store", "FILE", "keep the feed in this file, and go on from what it has (in memory)"),
        .text("durability", "LEVEL", "what of FILE survives a loss of power: full or normal, all or most (full)"),
        .text("journal", "FILE", "write what the devices' engines did, and why, to this file as JSON Lines"),
        .flag("json", "print the result as one JSON object, and progress on the standard error"),
    ]

    init() {}

    init(_ arguments: Arguments) throws(UsageError) {
        if arguments.positionals.count > 1 {
            throw UsageError("one repository at a time: \(shown(arguments.positionals[1])) is one argument too many")
        }
        if let path = arguments.positionals.first {
            if path.isEmpty { throw UsageError("the repository's path is empty") }
            repository = path
        }
        pageLimit = arguments.count("limit") ?? pageLimit
        batchLimit = arguments.count("batch") ?? batchLimit
        seed = arguments.numbers["seed"] ?? seed
        maxCommits = arguments.count("max-commits")
        store = arguments.texts["store"]
        if store?.isEmpty == true { throw UsageError("the path of --store is empty") }
        journal = arguments.texts["journal"]
        if journal?.isEmpty == true { throw UsageError("the path of --journal is empty") }
        if let level = arguments.texts["durability"] {
            guard store != nil else { throw UsageError("--durability needs --store") }
            switch level {
            case "full": durability = .full
            case "normal": durability = .normal
            default: throw UsageError("--durability takes full or normal, not \(shown(level))")
            }
        }
        json = arguments.flags.contains("json")
    }
}
