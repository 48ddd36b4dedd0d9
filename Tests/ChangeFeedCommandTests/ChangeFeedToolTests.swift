import XCTest

@testable import ChangeFeedCommand

/// The command as a whole: which subcommand runs, what is said where, and the exit status.
final class ChangeFeedToolTests: XCTestCase {
    func testHelpGoesToTheOutputAndSucceeds() async {
        for arguments in [["--help"], ["-h"]] {
            let (status, console) = await run(arguments)
            XCTAssertEqual(status, .success)
            XCTAssertTrue(console.output.contains("usage: changefeed SUBCOMMAND"), console.output)
            XCTAssertTrue(console.output.contains("  echo  says it again"), console.output)
            XCTAssertEqual(console.error, "")
        }
        for arguments in [["echo", "--help"], ["echo", "--bad", "-h"], ["echo", "--times", "--help"]] {
            let (status, console) = await run(arguments)
            XCTAssertEqual(status, .success)
            XCTAssertTrue(console.output.contains("usage: changefeed echo [WORD] [OPTIONS]"), console.output)
            XCTAssertTrue(console.output.contains("  --times N  how often (1)\n"), console.output)
            XCTAssertTrue(console.output.contains("  --help     print this\n"), console.output)
            XCTAssertEqual(console.error, "")
        }
        let (status, console) = await run(["echo", "--", "--help"])
        XCTAssertEqual(status, .success)
        XCTAssertEqual(console.output, "--help\n")
    }

    func testWhatCannotBeFollowedIsOneLineOnTheErrorStreamAndStatusTwo() async {
        let complaints = [
            (["nothing"], "changefeed: there is no subcommand \"nothing\"; see changefeed --help\n"),
            (["--nothing"], "changefeed: there is no option \"--nothing\"; see changefeed --help\n"),
            (["echo", "--bad"], "changefeed echo: there is no option \"--bad\"; see changefeed echo --help\n"),
            (["echo", "empty"], "changefeed echo: the repository \"p\" has no commits on its current branch yet\n"),
            (["echo", "broken"], "changefeed: broken\n"),
        ]
        for (arguments, complaint) in complaints {
            let (status, console) = await run(arguments)
            XCTAssertEqual(status, .refused)
            XCTAssertEqual(status.rawValue, 2)
            XCTAssertEqual(console.error, complaint)
            XCTAssertEqual(console.output, "")
        }
        let (status, console) = await run([])
        XCTAssertEqual(status, .refused)
        XCTAssertTrue(console.error.hasPrefix("usage: changefeed SUBCOMMAND"))
        XCTAssertEqual(console.output, "")
    }

    func testASubcommandsStatusIsTheCommands() async {
        let (status, console) = await run(["echo", "differ"])
        XCTAssertEqual(status, .differences)
        XCTAssertEqual(status.rawValue, 1)
        XCTAssertEqual(console.error, "")
    }

    func testAnOutputThatNobodyReadsEndsTheCommandQuietly() async {
        let console = RecordedConsole(outputIsClosed: true)
        let status = await ChangeFeedTool(subcommands: [echo], console: console).run(["echo", "word"])
        XCTAssertEqual(status, .outputClosed)
        XCTAssertEqual(status.rawValue, 141)
        XCTAssertEqual(console.error, "")
    }

    private struct Broken: Error, CustomStringConvertible {
        let description = "broken"
    }

    private let echo = Subcommand(
        name: "echo",
        summary: "says it again",
        discussion: "Says it again.",
        operands: "[WORD]",
        options: [.number("times", 1...9, "how often (1)")]
    ) { arguments, console in
        switch arguments.positionals.first {
        case "empty": throw GitError.noCommits(path: "p")
        case "broken": throw Broken()
        case "differ": return .differences
        default: try console.write(arguments.positionals.joined(separator: " ") + "\n", to: .output)
        }
        return .success
    }

    private func run(_ arguments: [String]) async -> (ExitStatus, RecordedConsole) {
        let console = RecordedConsole()
        let status = await ChangeFeedTool(subcommands: [echo], console: console).run(arguments)
        return (status, console)
    }
}
