import ChangeFeed
import SyncEngineCore

/// Counts from an engine's journal what a device fetches for, notes what failed, and hands the entries on.
final class FetchTally: JournalSink {
    /// A request or a page that failed.
    struct Failure: Sendable {
        let text: String
        /// Whether the device itself refused it.
        let isOfHandler: Bool
    }

    private struct Content {
        var counts: [String: Int] = [:]
        var failure: Failure?
    }

    private let device: String
    private let journal: ReplayJournal?
    private let content = Locked(Content())

    init(device: String, journal: ReplayJournal?) {
        self.device = device
        self.journal = journal
    }

    /// How many fetches there were, by the trigger; "call" for those that were called for.
    var counts: [String: Int] { content.withLock { $0.counts } }
    /// The first thing that failed.
    var failure: Failure? { content.withLock { $0.failure } }

    /// Forgets what failed: the process is gone.
    func forgetFailure() { content.withLock { $0.failure = nil } }

    func write(_ entry: SyncEngine.JournalEntry) {
        journal?.write(entry, of: device)
        switch entry.event {
        case .began("fetch", _, let triggers):
            content.withLock { $0.counts[triggers.first?.rawValue ?? "call", default: 0] += 1 }
        case .failed(let what, let code, _):
            content.withLock { $0.failure = $0.failure ?? Failure(text: "\(what): \(code)", isOfHandler: false) }
        case .refused(let what, _, let error):
            content.withLock { $0.failure = $0.failure ?? Failure(text: "\(what): \(error)", isOfHandler: true) }
        default: break
        }
    }
}
