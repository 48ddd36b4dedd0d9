import ChangeFeed
import Foundation

@testable import ChangeFeedCommand

/// Where a replay is stopped: at its n-th step nothing more gets through, as if the process were gone.
final class StopPoint: Sendable {
    private let stopAt: Int?
    private let steps = Locked(0)
    private let writes = Locked(0)

    /// A point at step `stopAt`, from 1; nil never stops.
    init(at stopAt: Int?) {
        self.stopAt = stopAt
    }

    var hasStopped: Bool { steps.withLock { steps in stopAt.map { steps >= $0 } ?? false } }

    /// How many requests for records the store has carried out.
    var writeCount: Int { writes.withLock { $0 } }

    func step() throws(ChangeFeedError) {
        steps.withLock { $0 += 1 }
        if hasStopped { throw ChangeFeedError(.networkFailure, "Stopped.") }
    }

    /// `database`, with a step before and after each request that writes.
    func watching(_ database: any RecordDatabase) -> FaultyDatabase {
        var watched = FaultyDatabase(base: database)
        watched.step = { () throws(ChangeFeedError) in try self.step() }
        watched.spoilResults = { results in
            self.writes.withLock { $0 += 1 }
            return results
        }
        return watched
    }

    /// `storage`, with a step before and after each page that it keeps.
    func watching(_ storage: any DeviceStorage) -> any DeviceStorage {
        WatchedStorage(base: storage, point: self)
    }
}

private struct WatchedStorage: DeviceStorage {
    let base: any DeviceStorage
    let point: StopPoint

    func state() async throws(ReplayFailure) -> Data? {
        try await base.state()
    }

    func keep(_ state: Data?, after changes: [DeviceChange]) async throws(ReplayFailure) {
        try step()
        try await base.keep(state, after: changes)
        try step()
    }

    func files() async throws(ReplayFailure) -> [[UInt8]: GitFile] {
        try await base.files()
    }

    private func step() throws(ReplayFailure) {
        do {
            try point.step()
        } catch {
            throw ReplayFailure(error.message)
        }
    }
}
