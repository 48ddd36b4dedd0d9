/// An option that a subcommand takes.
struct Option: Sendable {
    enum Kind: Sendable {
        /// Given or not.
        case flag
        /// A whole number within these bounds.
        case number(ClosedRange<UInt64>)
        /// Any text; the word stands for it in the help.
        case text(String)
    }

    /// Its name without the two dashes.
    let name: String
    let kind: Kind
    /// What it does, in a few words and with its default.
    let help: String

    static func flag(_ name: String, _ help: String) -> Option {
        Option(name: name, kind: .flag, help: help)
    }

    static func number(_ name: String, _ range: ClosedRange<UInt64>, _ help: String) -> Option {
        Option(name: name, kind: .number(range), help: help)
    }

    static func text(_ name: String, _ word: String, _ help: String) -> Option {
        Option(name: name, kind: .text(word), help: help)
    }
}

/// A command line that cannot be followed, as one sentence that names the argument at fault.
struct UsageError: Error, Equatable {
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

/// A subcommand's arguments, taken apart: `--name`, `--name value` and `--name=value` in any order among the other
/// arguments; `--` ends the options. Of an option given twice, the last counts.
struct Arguments: Equatable, Sendable {
    private(set) var flags: Set<String> = []
    private(set) var numbers: [String: UInt64] = [:]
    private(set) var texts: [String: String] = [:]
    private(set) var positionals: [String] = []

    init(parsing arguments: [String], options: [Option]) throws(UsageError) {
        var rest = arguments[...]
        var optionsEnded = false
        while let argument = rest.popFirst() {
            if optionsEnded || !argument.hasPrefix("-") || argument == "-" {
                positionals.append(argument)
            } else if argument == "--" {
                optionsEnded = true
            } else {
                try takeOption(argument, from: options, rest: &rest)
            }
        }
    }

    /// Whether `arguments` ask for help, wherever among the options.
    static func askForHelp(_ arguments: some Sequence<String>) -> Bool {
        arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
    }

    /// The number given for an option, if any; `Int.max` where it is larger than an `Int`.
    func count(_ name: String) -> Int? {
        numbers[name].map { Int(clamping: $0) }
    }

    private mutating func takeOption(
        _ argument: String,
        from options: [Option],
        rest: inout ArraySlice<String>
    ) throws(UsageError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let option = options.first(where: { "--" + $0.name == parts[0] }) else {
            throw UsageError("there is no option \(shown(parts[0]))")
        }
        let attached = parts.count == 2 ? parts[1] : nil
        switch option.kind {
        case .flag:
            guard attached == nil else { throw UsageError("--\(option.name) takes no value") }
            flags.insert(option.name)
        case .number(let range):
            guard let value = attached ?? rest.popFirst() else {
                throw UsageError("--\(option.name) needs a value: \(Self.describe(range))")
            }
            guard let number = Self.number(value), range.contains(number) else {
                throw UsageError("--\(option.name) takes \(Self.describe(range)), not \(shown(value))")
            }
            numbers[option.name] = number
        case .text(let word):
            guard let value = attached ?? rest.popFirst() else {
                throw UsageError("--\(option.name) needs a value: \(word)")
            }
            texts[option.name] = value
        }
    }

    /// The number that `text` writes in decimal digits and nothing else; nil where it is none, or too large.
    private static func number(_ text: String) -> UInt64? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? UInt64(text) : nil
    }

    private static func describe(_ range: ClosedRange<UInt64>) -> String {
        range.upperBound >= UInt64(Int.max)
            ? "a whole number from \(range.lowerBound) up"
            : "a whole number from \(range.lowerBound) to \(range.upperBound)"
    }
}

/// An argument as it may be shown in a sentence.
func shown(_ argument: String) -> String {
    "\"\(PathText.printable(Array(argument.utf8)))\""
}
