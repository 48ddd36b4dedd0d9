import XCTest

@testable import ChangeFeedCommand

/// `changefeed simulate` as it is called.
final class SimulateCommandTests: XCTestCase {
    private func run(_ arguments: String...) async -> (ExitStatus, RecordedConsole) {
        let console = RecordedConsole()
        return (await ChangeFeedTool(subcommands: [.simulate], console: console).run(["simulate"] + arguments), console)
    }

    func testTheTablesSayWhatHappened() async throws {
        let (status, console) = await run("--seeds", "1..4", "--devices", "3", "--steps", "150")
        XCTAssertEqual(status, .success, console.output)
        let lines = console.output.split(separator: "\n").map(String.init)
        XCTAssertTrue(lines.contains { $0.hasPrefix("simulations  ") && $0.hasSuffix(" 4") }, console.output)
        XCTAssertTrue(lines.contains { $0.hasPrefix("steps  ") && $0.hasSuffix(" 600") }, console.output)
        XCTAssertTrue(lines.contains { $0.hasPrefix("trigger ") && $0.contains("coolingDown") }, console.output)
        XCTAssertTrue(lines.contains { $0.hasPrefix("error ") && $0.contains("databaseChanges") }, console.output)
        XCTAssertEqual(lines.last, "all is well")
    }

    func testEqualSeedsGiveOneDigestInMemoryAndInAFile() async throws {
        var digests: [String] = []
        for store in ["memory", "memory", "sqlite", "sqlite"] {
            let (status, console) = await run(
                "--seeds", "5..6", "--devices", "2", "--steps", "80", "--store", store, "--json")
            XCTAssertEqual(status, .success, console.error)
            let object = try jsonObject(console.output)
            XCTAssertEqual(object["runs"] as? Int, 2)
            digests.append("\(object["digest"] ?? "")")
        }
        XCTAssertEqual(digests[0], digests[1])
        XCTAssertEqual(digests[2], digests[3])
    }

    func testBadArgumentsAreRefusedInOneSentence() async {
        let cases: [[String]] = [
            ["--seeds", "5..4"], ["--seeds", "a..b"], ["--seeds", "1..2..3"], ["--store", "paper"], ["extra"],
            ["--devices", "0"], ["--steps", "-1"],
        ]
        for arguments in cases {
            let console = RecordedConsole()
            let status = await ChangeFeedTool(subcommands: [.simulate], console: console).run(["simulate"] + arguments)
            XCTAssertEqual(status, .refused, "\(arguments)")
            XCTAssertEqual(console.output, "")
            XCTAssertEqual(console.error.split(separator: "\n").count, 1, console.error)
        }
    }
}
