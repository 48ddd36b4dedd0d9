import ChangeFeed

/// Writes a journal to the standard error, one line an entry: for the eye, while something is being looked for.
public struct StandardErrorJournalSink: JournalSink {
    private let name: String

    /// Begins each line with a name, such as the device's.
    public init(name: String = "sync") {
        self.name = name
    }

    /// Writes an entry. Whether somebody reads it changes nothing.
    public func write(_ entry: SyncEngine.JournalEntry) {
        complain("\(name) \(entry)\n")
    }
}
