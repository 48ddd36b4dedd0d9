import ChangeFeed
import Foundation
import XCTest

@testable import ChangeFeedCommand

/// `changefeed replay` as it is called: what it writes where, and the exit status.
final class ReplayCommandTests: XCTestCase {
    func testATableEndsVerified() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        let (status, console) = await run([sandbox.folder + "/repository"])
        XCTAssertEqual(status, .success)
        XCTAssertEqual(console.error, "")
        let lines = console.output.split(separator: "\n")
        XCTAssertEqual(lines.first, "replaying 14 % (1 of 7 commits)")
        XCTAssertEqual(lines.last, "verified")
        for label in [
            "commits", "saves", "deletes", "pages", "records fetched incrementally",
            "records if everything were refetched", "refetched / incremental", "seconds", "records/s",
        ] {
            XCTAssertEqual(lines.filter { $0.hasPrefix(label + "  ") }.count, 1, label)
        }
    }

    func testJSONIsOneObjectAloneOnTheOutput() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        let (status, console) = await run([sandbox.folder + "/repository", "--json", "--limit", "2", "--batch=3"])
        XCTAssertEqual(status, .success)
        XCTAssertTrue(console.error.contains("replaying 100 % (7 of 7 commits)\n"), console.error)
        let object = try jsonObject(console.output)
        XCTAssertEqual(
            Set(object.keys),
            [
                "verified", "differences", "fetches", "commits", "saves", "deletes", "pages", "recordsFetched",
                "recordsIfRefetched", "seconds", "recordsPerSecond", "resumed",
            ]
        )
        XCTAssertEqual(object["verified"] as? Bool, true)
        XCTAssertEqual((object["differences"] as? [Any])?.count, 0)
        XCTAssertTrue(object["resumed"] is NSNull)
        XCTAssertEqual(object["commits"] as? Int, 7)
        for key in ["commits", "saves", "deletes", "pages", "recordsFetched", "recordsIfRefetched"] {
            let number = "\"\(key)\":[0-9]+[,}]"
            XCTAssertNotNil(console.output.range(of: number, options: .regularExpression), key)
        }
        for key in ["seconds", "recordsPerSecond"] {
            XCTAssertGreaterThan(try XCTUnwrap(object[key] as? Double), 0, key)
        }
    }

    func testOnATerminalTheBarIsRedrawnAboveTheTable() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        let (status, console) = await run([sandbox.folder + "/repository"], console: RecordedConsole(columns: 80))
        XCTAssertEqual(status, .success)
        let bar = "\rreplaying [########################################] 100 % (4 of 4 commits)\u{1B}[K\n"
        XCTAssertTrue(console.output.contains(bar + "commits  "), console.output)
    }

    func testADeviceThatDiffersIsNamedInTheTableAndTheStatusIsOne() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        let (status, console) = await run(try losingRemovals(sandbox), json: false)
        XCTAssertEqual(status, .differences)
        XCTAssertEqual(status.rawValue, 1)
        let blob = try sandbox.run(["-C", "repository", "rev-parse", "HEAD~3:b"])
        XCTAssertTrue(
            console.output.hasSuffix(
                "\n1 difference:\n  from the start: \"b\": expected nothing, found 100644 \(blob) 3\n"
            ),
            console.output
        )
        XCTAssertFalse(console.output.contains("verified"))
    }

    func testADeviceThatDiffersIsNamedInTheJSONAndTheStatusIsOne() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        let (status, console) = await run(try losingRemovals(sandbox), json: true)
        XCTAssertEqual(status, .differences)
        let object = try jsonObject(console.output)
        XCTAssertEqual(object["verified"] as? Bool, false)
        let differences = try XCTUnwrap(object["differences"] as? [[String: Any]])
        XCTAssertEqual(differences.count, 1)
        let difference = try XCTUnwrap(differences.first)
        XCTAssertEqual(Set(difference.keys), ["device", "path", "expected", "found"])
        XCTAssertEqual(difference["device"] as? String, "from the start")
        XCTAssertEqual(difference["path"] as? String, "b")
        XCTAssertTrue(difference["expected"] is NSNull)
        let blob = try sandbox.run(["-C", "repository", "rev-parse", "HEAD~3:b"])
        XCTAssertEqual(difference["found"] as? String, "100644 \(blob) 3")
    }

    func testARepositoryThatCannotBeReplayedIsOneSentenceAndStatusTwo() async throws {
        let sandbox = try GitSandbox()
        try sandbox.run(["init", "--quiet", "--bare", "empty"])
        for path in ["empty", "nowhere"] {
            let (status, console) = await run([sandbox.folder + "/" + path, "--json"])
            XCTAssertEqual(status, .refused)
            XCTAssertEqual(console.output, "")
            XCTAssertEqual(console.error.filter { $0 == "\n" }.count, 1, console.error)
        }
    }

    func testAFeedThatLetsTheReplayDownIsOneSentenceBelowTheBar() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        var database = FaultyDatabase()
        database.spoilResults = { results in
            // The answers for a deletion get lost, which is so in the third commit.
            RecordModifyResults(saves: results.saves, deletions: [])
        }
        let replay = try sandbox.makeReplay(database: database)
        let (status, console) = await run(replay, json: true, console: RecordedConsole(columns: 80))
        XCTAssertEqual(status, .refused)
        XCTAssertEqual(console.output, "")
        let commit = try sandbox.run(["-C", "repository", "rev-parse", "HEAD~1"])
        XCTAssertTrue(
            console.error.hasSuffix(
                "\nchangefeed: the feed did not answer for every file of the commit \(commit)\n"),
            console.error
        )
    }

    func testAnOutputThatNobodyReadsEndsTheReplayQuietly() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        for options in [[], ["--json"]] {
            let closed = RecordedConsole(outputIsClosed: true)
            let (status, _) = await run([sandbox.folder + "/repository"] + options, console: closed)
            XCTAssertEqual(status, .outputClosed)
        }
    }

    /// A replay in which no deletion reaches a device: the one that has seen "b" keeps it.
    private func losingRemovals(_ sandbox: GitSandbox) throws -> Replay {
        var database = FaultyDatabase()
        database.spoilPage = { page in
            page.with(page.changes.filter { if case .deleted = $0 { false } else { true } })
        }
        return try sandbox.makeReplay(database: database, fromStart: [1: .fetchAll])
    }

    private func run(
        _ arguments: [String], console: RecordedConsole = RecordedConsole()
    ) async -> (ExitStatus, RecordedConsole) {
        let status = await ChangeFeedTool(subcommands: [.replay], console: console).run(["replay"] + arguments)
        return (status, console)
    }

    /// Runs a replay that a test has made as the subcommand runs its own.
    private func run(
        _ replay: Replay, json: Bool, console: RecordedConsole = RecordedConsole()
    ) async -> (ExitStatus, RecordedConsole) {
        let subcommand = Subcommand(
            name: "replay", summary: "", discussion: "", operands: "", options: []
        ) { _, console in
            try await replay.run(on: console, json: json)
        }
        let status = await ChangeFeedTool(subcommands: [subcommand], console: console).run(["replay"])
        return (status, console)
    }
}
