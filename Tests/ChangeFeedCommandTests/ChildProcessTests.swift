import XCTest

@testable import ChangeFeedCommand

/// Another program's output, input, ending and descriptors.
final class ChildProcessTests: XCTestCase {
    func testHowAProgramEndsIsTold() throws {
        XCTAssertEqual(try shell("exit 0").finish(), .exited(0))
        XCTAssertEqual(try shell("exit 7").finish(), .exited(7))
        XCTAssertEqual(try shell("kill -9 $$").finish(), .killed(signal: 9))
        let twice = try shell("exit 3")
        XCTAssertEqual(try twice.finish(), .exited(3))
        XCTAssertEqual(try twice.finish(), .exited(3))
    }

    func testAProgramThatIsNotThereIsAnError() throws {
        XCTAssertThrowsError(try ChildProcess("/no/such/program", arguments: [], environment: [:])) { error in
            XCTAssertEqual((error as? ChildProcess.Failure)?.isMissingProgram, true)
        }
    }

    func testItGetsExactlyTheEnvironmentAndArgumentsGiven() throws {
        let child = try ChildProcess("/usr/bin/env", arguments: [], environment: ["A": "1", "B": "two words\n= x"])
        XCTAssertEqual(Set(try text(of: child).split(separator: "\n")), ["A=1", "B=two words", "= x"])
        let echo = try ChildProcess("/bin/echo", arguments: ["a b", "", "$HOME"], environment: [:])
        XCTAssertEqual(try text(of: echo), "a b  $HOME\n")
    }

    func testAFloodOfErrorsBlocksNothingAndItsBeginningIsKept() throws {
        let child = try shell("echo first >&2; yes 2>/dev/null | head -c 1000000 >&2; echo done; exit 4")
        XCTAssertEqual(try text(of: child), "done\n")
        XCTAssertEqual(try child.finish(), .exited(4))
        XCTAssertTrue(child.errorText.hasPrefix("first\n"))
        XCTAssertEqual(child.errorText.utf8.count, 4_096)
    }

    func testWhatGoesInComesOut() throws {
        let child = try ChildProcess("cat", arguments: [], environment: path, takesInput: true)
        var chunk = [UInt8](repeating: 0, count: 10_000)
        for round in 0..<50 {
            let bytes = [UInt8](repeating: UInt8(round), count: ChildProcess.unreadInputLimit)
            try child.write(bytes)
            var back: [UInt8] = []
            while back.count < bytes.count {
                let count = try child.read(into: &chunk)
                back += chunk.prefix(count)
            }
            XCTAssertTrue(back == bytes, "round \(round)")
        }
        XCTAssertEqual(try child.finish(), .exited(0))
    }

    func testWritingToAProgramThatIsGoneIsAnErrorAndNotTheEndOfThisProcess() throws {
        // It closes its input before it ends: what the system closes at a program's end, it closes in any order.
        let child = try ChildProcess("/bin/sh", arguments: ["-c", "exec 0<&-"], environment: path, takesInput: true)
        XCTAssertEqual(try text(of: child), "", "its output has ended, and before it its input")
        XCTAssertThrowsError(try child.write([1])) { error in
            XCTAssertEqual((error as? ChildProcess.Failure)?.isClosedPipe, true)
        }
    }

    func testAProgramStartsWithDefaultSignalHandling() throws {
        // With SIGPIPE ignored, `yes` would complain about the pipe that `head` closed.
        let child = try shell("yes | head -n 1")
        XCTAssertEqual(try text(of: child), "y\n")
        _ = try child.finish()
        XCTAssertEqual(child.errorText, "")
    }

    func testNoDescriptorLeaksIntoAnotherChildOrStaysOpen() throws {
        let before = openDescriptors()
        let alone = try text(of: shell("ls /dev/fd"))
        var first: ChildProcess? = try ChildProcess("cat", arguments: [], environment: path, takesInput: true)
        XCTAssertEqual(try text(of: shell("ls /dev/fd")), alone)
        XCTAssertEqual(openDescriptors(), before + 3)
        // Given up while it waits for input: it is ended and collected, or this would wait for ever.
        first = nil
        XCTAssertNil(first)
        XCTAssertEqual(openDescriptors(), before)
    }

    private let path = ["PATH": "/usr/bin:/bin"]

    private func shell(_ script: String) throws -> ChildProcess {
        try ChildProcess("/bin/sh", arguments: ["-c", script], environment: path)
    }

    private func text(of child: ChildProcess) throws -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1_000)
        while case let count = try child.read(into: &chunk), count > 0 { bytes += chunk.prefix(count) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func openDescriptors() -> Int {
        (0..<1_024).count { fcntl($0, F_GETFD) >= 0 }
    }
}
