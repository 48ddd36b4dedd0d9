import ChangeFeed

/// How a command ends, as scripts see it.
enum ExitStatus: Int32, Sendable {
    /// It did what was asked, and what it checked holds.
    case success = 0
    /// It did what was asked, and what it checked does not hold.
    case differences = 1
    /// It was asked for something it cannot do: bad arguments, bad input.
    case refused = 2
    /// Nobody read its output to the end: 128 + SIGPIPE, as a shell reports it.
    case outputClosed = 141
}

/// One of the things that `changefeed` does.
struct Subcommand: Sendable {
    let name: String
    /// What it does, in one line.
    let summary: String
    /// What its help says below the usage line, before the options.
    let discussion: String
    /// Its positional arguments as the usage line shows them, such as "[REPOSITORY]".
    let operands: String
    /// Its options. `--help` is not among them: every subcommand has it.
    let options: [Option]
    let run: @Sendable (Arguments, any Console) async throws -> ExitStatus

    /// What `--help` prints.
    var help: String {
        let help = Option.flag("help", "print this")
        let rows = (options + [help]).map { option in
            switch option.kind {
            case .flag: (label: "--\(option.name)", help: option.help)
            case .number: (label: "--\(option.name) N", help: option.help)
            case .text(let word): (label: "--\(option.name) \(word)", help: option.help)
            }
        }
        return """
            usage: changefeed \(name) \(operands) [OPTIONS]

            \(discussion)

            options:
            \(alignedLines(rows))

            """
    }
}

/// The command `changefeed`: finds the subcommand that is asked for, runs it, and turns its errors into one sentence
/// and an exit status.
struct ChangeFeedTool: Sendable {
    let subcommands: [Subcommand]
    let console: any Console

    func run(_ arguments: [String]) async -> ExitStatus {
        do {
            return try await dispatch(arguments)
        } catch let error as OutputError {
            switch error {
            case .closed:
                return .outputClosed
            case .failed(let reason):
                complain("changefeed: the output cannot be written: \(reason)")
                return .refused
            }
        } catch {
            complain("changefeed: \(error)")
            return .refused
        }
    }

    private func dispatch(_ arguments: [String]) async throws -> ExitStatus {
        guard let name = arguments.first else {
            complain(help)
            return .refused
        }
        if name == "--help" || name == "-h" {
            try console.write(help, to: .output)
            return .success
        }
        guard let subcommand = subcommands.first(where: { $0.name == name }) else {
            let kind = name.hasPrefix("-") ? "option" : "subcommand"
            complain("changefeed: there is no \(kind) \(shown(name)); see changefeed --help")
            return .refused
        }
        let rest = Array(arguments.dropFirst())
        if Arguments.askForHelp(rest) {
            try console.write(subcommand.help, to: .output)
            return .success
        }
        do {
            return try await subcommand.run(Arguments(parsing: rest, options: subcommand.options), console)
        } catch let error as UsageError {
            complain("changefeed \(name): \(error.sentence); see changefeed \(name) --help")
        } catch let error as GitError {
            complain("changefeed \(name): \(error.sentence)")
        } catch let error as ChangeFeedError {
            complain("changefeed \(name): \(error.message)")
        }
        return .refused
    }

    private var help: String {
        """
        usage: changefeed SUBCOMMAND [ARGUMENTS]

        subcommands:
        \(alignedLines(subcommands.map { (label: $0.name, help: $0.summary) }))

        changefeed SUBCOMMAND --help tells more.

        """
    }

    private func complain(_ text: String) {
        // The error stream never throws, by the console's contract.
        try? console.write(text.hasSuffix("\n") ? text : text + "\n", to: .error)
    }
}

/// Labels and what they mean, in two left-aligned columns.
private func alignedLines(_ rows: [(label: String, help: String)]) -> String {
    let width = rows.map(\.label.count).max() ?? 0
    return rows.map { row in
        "  " + row.label + String(repeating: " ", count: width - row.label.count + 2) + row.help
    }.joined(separator: "\n")
}
