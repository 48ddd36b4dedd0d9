import ChangeFeed
import ChangeFeedSQLite

@testable import ChangeFeedCommand

extension GitSandbox {
    /// Replays the repository at `path` into the store called `name`, and closes them however it ends.
    func durableReplay(
        _ options: ReplayOptions = .limits(),
        repository path: String = "repository",
        store name: String = "feed.db",
        stopping point: StopPoint = StopPoint(at: nil)
    ) async throws -> ReplayReport {
        let files = try await ReplayFiles(at: folder + "/" + name, durability: .normal)
        var replay = Replay(
            try GitHistory(git(path), maxCommits: options.maxCommits),
            options,
            database: point.watching(files.database(for: options)),
            storage: { point.watching(files.storage(ofDevice: $0)) }
        )
        var bar = ProgressBar("replaying", unit: "commits", total: 1, on: .error, of: RecordedConsole())
        do {
            let report = try await replay.run(showing: &bar)
            await files.close()
            return report
        } catch {
            await files.close()
            throw error
        }
    }

    /// Where a replay of the repository goes on after each of its requests.
    func starts(_ options: ReplayOptions) throws -> [ReplayStart] {
        let writer = ReplayWriter(to: FaultyDatabase(), batchLimit: options.batchLimit)
        var starts: [ReplayStart] = []
        for (index, commit) in try allCommits(of: GitHistory(git("repository"))).enumerated() {
            var written = 0
            for batch in writer.batches(of: commit) {
                written += batch.count
                let marker = ReplayMarker(commitID: commit.id, written: written, changes: commit.changes.count)
                starts.append(ReplayStart(marker: marker, number: index + 1))
            }
        }
        return starts
    }
}
