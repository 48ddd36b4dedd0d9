import ChangeFeed
import ChangeFeedTesting
import Foundation
import XCTest

@testable import ChangeFeedCommand

extension GitSandbox {
    /// Replays the repository at "repository" and gives back what was found, without a word of it.
    func replay(
        _ options: ReplayOptions = ReplayOptions(),
        database: (any RecordDatabase)? = nil,
        fromStart: [Int: FetchDecision]? = nil,
        late: [Int: FetchDecision] = [:]
    ) async throws -> ReplayReport {
        var replay = try makeReplay(options, database: database, fromStart: fromStart, late: late)
        var bar = ProgressBar("replaying", unit: "commits", total: 1, on: .error, of: RecordedConsole())
        return try await replay.run(showing: &bar)
    }

    /// A replay at the moments given, or at those of the seed.
    func makeReplay(
        _ options: ReplayOptions = ReplayOptions(),
        database: (any RecordDatabase)? = nil,
        fromStart: [Int: FetchDecision]? = nil,
        late: [Int: FetchDecision] = [:]
    ) throws -> Replay {
        Replay(
            try GitHistory(git("repository"), maxCommits: options.maxCommits),
            options,
            database: database,
            schedules: fromStart.map { (ScriptedSchedule(decisions: $0), ScriptedSchedule(decisions: late)) }
        )
    }
}

extension ReplayWriter {
    /// Writes a commit in one request.
    mutating func write(_ changes: [GitChange], of commitID: String) async throws(ReplayFailure) {
        let marker = ReplayMarker(commitID: commitID, written: changes.count, changes: changes.count)
        try await write(changes, marking: marker)
    }
}

extension ReplayOptions {
    static func limits(pageLimit: Int = 200, batchLimit: Int = 400, seed: UInt64 = 1) -> ReplayOptions {
        var options = ReplayOptions()
        options.pageLimit = pageLimit
        options.batchLimit = batchLimit
        options.seed = seed
        return options
    }
}

extension ImportScript {
    /// Commits that put and remove at random among few paths, so that files become folders and come back, with a
    /// large commit now and then.
    static func random(commits: Int, seed: UInt64) -> ImportScript {
        var generator = SeededGenerator(seed: seed)
        var script = ImportScript()
        for number in 1...commits {
            let size = number.isMultiple(of: 20) ? 60 : Int.random(in: 0...6, using: &generator)
            let changes = (0..<size).map { _ -> Change in
                let depth = Int.random(in: 1...3, using: &generator)
                let path = (0..<depth).map { _ in String(Int.random(in: 0...5, using: &generator)) }
                    .joined(separator: "/")
                let isRemoval = Int.random(in: 0...3, using: &generator) == 0
                return isRemoval ? .remove(path) : .put(path, String(Int.random(in: 0...9, using: &generator)))
            }
            script.commit(changes)
        }
        return script
    }

    /// Three files, then one changed and one added, then one removed, then nothing.
    static var tiny: ImportScript {
        var script = ImportScript()
        script.commit([.put("a", "one"), .put("b", "two"), .put("c", "three")])
        script.commit([.put("a", "changed"), .put("d", "four", mode: "100755")])
        script.commit([.remove("b")])
        script.commit([])
        return script
    }
}

/// The one JSON object that `text` is, with nothing around it but a newline.
func jsonObject(
    _ text: String, file: StaticString = #filePath, line: UInt = #line
) throws -> [String: Any] {
    XCTAssertTrue(text.hasPrefix("{") && text.hasSuffix("}\n"), text, file: file, line: line)
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
    return try XCTUnwrap(value as? [String: Any], file: file, line: line)
}
