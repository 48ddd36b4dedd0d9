/// How far a piece of work has come: one line that is redrawn where a terminal shows it, else a plain line for each
/// tenth of the work.
///
/// What it writes depends on the work done alone, never on the time it took.
struct ProgressBar {
    private let title: String
    private let unit: String
    private let total: Int
    private let channel: OutputChannel
    private let console: any Console
    private let columns: Int?
    private var writtenStep = 0
    private var isOnLine = false

    /// A bar for `total` units of work (a plural: "commits"), called `title` (a participle: "replaying").
    init(_ title: String, unit: String, total: Int, on channel: OutputChannel, of console: any Console) {
        self.title = title
        self.unit = unit
        self.total = max(total, 1)
        self.channel = channel
        self.console = console
        columns = console.columns(of: channel)
    }

    /// Shows that `done` of the work is done, where that makes a visible difference.
    mutating func advance(to done: Int) throws(OutputError) {
        let done = min(max(done, 0), total)
        let steps = columns == nil ? 10 : 200
        // In floating point: the product of two large counts would overflow.
        let step = Int(Double(done) / Double(total) * Double(steps))
        guard step > writtenStep || (columns != nil && !isOnLine) else { return }
        writtenStep = step
        if let columns {
            isOnLine = true
            try console.write("\r" + line(done, columns: columns) + "\u{1B}[K", to: channel)
        } else {
            try console.write(title + " " + counts(done) + "\n", to: channel)
        }
    }

    /// Leaves the bar as it stands and goes on to the next line, so that other text can follow.
    mutating func close() throws(OutputError) {
        guard isOnLine else { return }
        isOnLine = false
        try console.write("\n", to: channel)
    }

    private func counts(_ done: Int) -> String {
        let percent = Int(Double(done) / Double(total) * 100)
        return "\(percent) % (\(NumberText.grouped(done)) of \(NumberText.grouped(total)) \(unit))"
    }

    /// The line on a terminal. One character stays free: a cursor past the last column would begin a new line.
    private func line(_ done: Int, columns: Int) -> String {
        let words = title + " " + counts(done)
        let barWidth = min(columns - words.count - 4, 40)
        guard barWidth >= 5 else { return String(words.prefix(max(columns - 1, 0))) }
        let filled = Int(Double(done) / Double(total) * Double(barWidth))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: barWidth - filled)
        return "\(title) [\(bar)] \(counts(done))"
    }
}
