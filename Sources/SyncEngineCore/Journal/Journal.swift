import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where an engine's journal goes.
public protocol JournalSink: Sendable {
    /// Takes an entry. Called in the order of the entries' numbers, one at a time, outside of every lock of the engine.
    func write(_ entry: SyncEngine.JournalEntry)
}

extension SyncEngine {
    /// What happened in an engine, and why. The latest entries are kept; sinks get all of them.
    public final class Journal: Sendable {
        private struct Content {
            var entries: [JournalEntry] = []
            /// Where the oldest of `entries` stands, once there are as many as may be kept.
            var oldest = 0
            var lastNumber = 0
            var unwritten: [JournalEntry] = []
            var isWriting = false
            var waitingForSinks: [CheckedContinuation<Void, Never>] = []
        }

        private let content = Locked(Content())
        private let limit: Int
        private let sinks: [any JournalSink]
        private let now: @Sendable () -> Date

        init(keeping limit: Int, sinks: [any JournalSink], now: @escaping @Sendable () -> Date) {
            self.limit = max(1, limit)
            self.sinks = sinks
            self.now = now
        }

        /// The latest entries, oldest first: at most as many as ``SyncEngine/Configuration/journalLimit``.
        public var entries: [JournalEntry] {
            content.withLock { content in
                Array(content.entries[content.oldest...] + content.entries[..<content.oldest])
            }
        }

        /// Called under the lock of the machine, so that entries stand in the order in which things happened.
        func append(_ notes: [Basis.Note]) {
            if notes.isEmpty { return }
            let time = now()
            content.withLock { content in
                for note in notes {
                    content.lastNumber += 1
                    let entry = JournalEntry(number: content.lastNumber, time: time, pass: note.pass, event: note.event)
                    if content.entries.count < limit {
                        content.entries.append(entry)
                    } else {
                        content.entries[content.oldest] = entry
                        content.oldest = (content.oldest + 1) % limit
                    }
                    if !sinks.isEmpty { content.unwritten.append(entry) }
                }
            }
        }

        /// Gives the sinks what they have not had. Whoever comes while somebody else is at it leaves it to him.
        func flush() {
            if sinks.isEmpty { return }
            while true {
                let (batch, done) = content.withLock {
                    content -> ([JournalEntry], [CheckedContinuation<Void, Never>]) in
                    if content.isWriting { return ([], []) }
                    if content.unwritten.isEmpty {
                        defer { content.waitingForSinks = [] }
                        return ([], content.waitingForSinks)
                    }
                    content.isWriting = true
                    defer { content.unwritten = [] }
                    return (content.unwritten, [])
                }
                for waiter in done { waiter.resume() }
                if batch.isEmpty { return }
                for entry in batch {
                    for sink in sinks { sink.write(entry) }
                }
                content.withLock { $0.isWriting = false }
            }
        }

        /// Waits until the sinks have had everything.
        func flushed() async {
            if sinks.isEmpty { return }
            flush()
            await withCheckedContinuation { continuation in
                let isDone = content.withLock { content in
                    if !content.isWriting, content.unwritten.isEmpty { return true }
                    content.waitingForSinks.append(continuation)
                    return false
                }
                if isDone { continuation.resume() } else { flush() }
            }
        }
    }
}
