import ChangeFeed
import SyncEngineCore

/// An app of an engine that keeps as little as it can: a sum over what was fetched, and the records that it sends.
final class EngineApp: SyncEngineDelegate {
    private struct Content {
        var sum: Int64 = 0
        var records: [Record.ID: Record] = [:]
        var conflictCount = 0
    }

    private let content = Locked(Content())

    /// A sum over one field of all records that were fetched since it was last taken.
    func takeSum() -> Int64 {
        content.withLock { content in
            defer { content.sum = 0 }
            return content.sum
        }
    }

    /// How many conflicts there were.
    var conflictCount: Int { content.withLock { $0.conflictCount } }

    func keep(_ records: [Record]) {
        content.withLock { content in for record in records { content.records[record.recordID] = record } }
    }

    func handleEvent(_ event: SyncEngine.Event, context: SyncEngine.EventContext) async throws {
        switch event {
        case .fetchedRecordZoneChanges(let changes):
            let sum = changes.changes.sumOfViewCounts
            content.withLock { $0.sum &+= sum }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { content.withLock { $0.records[record.recordID] = nil } }
            for failure in sent.failedRecordSaves {
                guard var server = failure.error.serverRecord else { continue }
                server.viewCount = failure.record.viewCount
                let resolved = server
                content.withLock { content in
                    content.conflictCount += 1
                    content.records[resolved.recordID] = resolved
                }
                context.state.add(pendingRecordZoneChanges: [.saveRecord(resolved.recordID)])
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext
    ) async -> SyncEngine.RecordZoneChangeBatch? {
        await SyncEngine.RecordZoneChangeBatch(context) { recordID in
            content.withLock { $0.records[recordID] }.map { .record($0) } ?? .gone
        }
    }

    /// An engine for the app, which acts only when it is told to.
    func engine(of database: Database, store: (any StateStore)? = nil) throws -> SyncEngine {
        var configuration = SyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: self, policy: .manual)
        configuration.stateStore = store
        configuration.limits.resultsPerPage = FeedZone.pageSize
        return try SyncEngine(configuration)
    }
}
