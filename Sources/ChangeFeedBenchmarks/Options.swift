/// What the command line asks for.
struct Options {
    private(set) var isQuick = false
    private(set) var asksForJSON = false
    private(set) var asksForHelp = false
    /// The figures to measure; nil for all.
    private var only: Set<String>?

    /// Takes the arguments apart; `ids` are the figures there are.
    init(parsing arguments: [String], ids: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--quick": isQuick = true
            case "--json": asksForJSON = true
            case "--help", "-h": asksForHelp = true
            case "--only":
                guard let prefix = rest.popFirst() else {
                    throw UsageError(sentence: "--only needs the id of a figure, or how some ids begin")
                }
                only = try (only ?? []).union(Options.ids(matching: prefix, among: ids))
            default:
                let kind = argument.hasPrefix("-") ? "option" : "argument"
                throw UsageError(sentence: "there is no \(kind) \"\(argument)\"; see changefeed-benchmarks --help")
            }
        }
    }

    /// Whether a figure is asked for.
    func wants(_ id: String) -> Bool {
        only?.contains(id) ?? true
    }

    /// An id that is given in full means that figure alone, though others may begin alike.
    private static func ids(matching prefix: String, among ids: [String]) throws(UsageError) -> [String] {
        if ids.contains(prefix) { return [prefix] }
        let matching = ids.filter { $0.hasPrefix(prefix) }
        guard !matching.isEmpty else {
            throw UsageError(
                sentence: "no figure has an id that begins with \"\(prefix)\"; see changefeed-benchmarks --help")
        }
        return matching
    }

    /// What `--help` prints.
    static func help(ids: [String]) -> String {
        """
        usage: changefeed-benchmarks [OPTIONS]

        Measures the feed, and beside it the same work done without it. For "memory" that is plain Swift: a dictionary
        and an append-only log. For "sqlite" it is SQLite through its own functions, with one table by name and an
        index by position; groupCommit16 is compared with one writer, readAfterRewrite with the read before, and
        readAmongTombstones with a zone that has none. Both sides take turns; each figure is the median of its rounds.
        Rates are better when higher, times and sizes when lower; the ratio is the feed's figure divided by the other.

        options:
          --quick           fewer rounds over the same amounts
          --json            one object on standard output in place of the table
          --only ID-PREFIX  measure only this figure, or those whose ids begin so; may be given again
          --help            print this

        figures:
        \(ids.map { "  " + $0 }.joined(separator: "\n"))
        """
    }
}

/// A command line that cannot be followed, as one sentence that names the argument at fault.
struct UsageError: Error {
    let sentence: String
}
