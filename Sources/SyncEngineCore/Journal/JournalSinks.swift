import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes a journal as JSON Lines: one object an entry, keys sorted, dates in seconds since 1970.
public final class JSONLinesJournalSink: JournalSink {
    private let encoder: Locked<JSONEncoder>
    private let write: @Sendable (Data) -> Void

    /// Gives each line, with its line feed, to a function.
    public init(_ write: @escaping @Sendable (Data) -> Void) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .secondsSince1970
        self.encoder = Locked(encoder)
        self.write = write
    }

    /// Writes an entry.
    public func write(_ entry: SyncEngine.JournalEntry) {
        guard var line = encoder.withLock({ try? $0.encode(entry) }) else { return }
        line.append(0x0A)
        write(line)
    }

    /// Reads one line of a journal.
    public static func entry(ofLine line: Data) throws -> SyncEngine.JournalEntry {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return try decoder.decode(SyncEngine.JournalEntry.self, from: line)
    }
}
