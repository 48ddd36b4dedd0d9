import XCTest

@testable import ChangeFeedCommand

/// A `git` that dies, lies or is cut off while it is read is an error, and never a shorter history.
final class GitFailureTests: XCTestCase {
    /// The last commit changes one file, so that no cut falls between two of its changes: what a git that ends well
    /// has left out there is found by nobody but the comparison with the tree.
    private var script: ImportScript {
        var script = ImportScript()
        script.commit([.put("a", "1"), .put("b", "2")])
        script.commit([])
        script.commit([.put("c", "3"), .remove("a")])
        script.commit([.put("d", "4")])
        return script
    }

    func testALogCutAnywhereThrowsEvenWhereGitEndsWell() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: script)
        let whole = try allCommits(of: GitHistory(sandbox.git("repository")))
        XCTAssertEqual(whole.count, 4)

        var length = 0
        while true {
            let shim = try sandbox.makeProgram("cut", onCommand("log", #"git "$@" | head -c \#(length); exit 0"#))
            let history = try GitHistory(sandbox.git("repository", program: shim))
            do {
                let commits = try allCommits(of: history)
                XCTAssertEqual(commits, whole, "cut after \(length) bytes")
                break
            } catch {
                guard case GitError.unexpectedOutput(command: "log", detail: _) = error else {
                    return XCTFail("cut after \(length) bytes: \(error)")
                }
            }
            length += 7
        }
        XCTAssertGreaterThan(length, 400)
    }

    func testALogThatFailsOrIsKilledAfterWritingEverythingThrows() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: script)
        let endings = [
            (#"git "$@"; echo "fatal: bad object" >&2; exit 128"#, "bad object"),
            (#"git "$@"; exit 3"#, "it ended with status 3"),
            (#"git "$@"; kill -9 $$"#, "it was ended by signal 9"),
        ]
        for (ending, reason) in endings {
            let shim = try sandbox.makeProgram("fail", onCommand("log", ending))
            let history = try GitHistory(sandbox.git("repository", program: shim))
            XCTAssertThrowsError(try allCommits(of: history)) { error in
                XCTAssertEqual(error as? GitError, .failed(command: "log", reason: reason))
            }
        }
    }

    func testALogThatIsNoLogThrows() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: script)
        let id = try GitHistory(sandbox.git("repository")).lastCommitID
        for output in [
            #"hello\0"#,
            #"\#(id)\0:100644 100644 \#(id) \#(id) X\0path\0"#,
            #"\#(id)\0:100644 \#(id) M\0path\0"#,
            #"\#(id)\0:100644 100644 \#(id) \#(id) M\0"#,
        ] {
            let shim = try sandbox.makeProgram("odd", onCommand("log", "printf '\(output)'"))
            let history = try GitHistory(sandbox.git("repository", program: shim))
            XCTAssertThrowsError(try allCommits(of: history), output) { error in
                guard case GitError.unexpectedOutput(command: "log", detail: _) = error else {
                    return XCTFail("\(output): \(error)")
                }
            }
        }
    }

    func testACatFileThatDiesThrows() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: script)
        for ending in ["exit 0", "exit 128", "echo 12; exit 0"] {
            let shim = try sandbox.makeProgram("dies", onCommand("cat-file", ending))
            let history = try GitHistory(sandbox.git("repository", program: shim))
            XCTAssertThrowsError(try allCommits(of: history), ending)
        }
    }

    func testAMissingBlobIsNamed() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: script)
        let absent = String(repeating: "0123", count: 10)
        let sizes = try BlobSizes(sandbox.git("repository"))
        XCTAssertThrowsError(try sizes.sizes(of: [absent])) { error in
            XCTAssertEqual(
                error as? GitError,
                .unexpectedOutput(command: "cat-file", detail: "there is no object \(absent)")
            )
        }
    }

    func testAListingThatIsCutThrows() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: script)
        let shim = try sandbox.makeProgram("cut", onCommand("ls-tree", #"git "$@" | head -c 70"#))
        let history = try GitHistory(sandbox.git("repository", program: shim))
        XCTAssertThrowsError(try history.tree(at: history.lastCommitID))
    }

    /// A program that is git, but for one command.
    private func onCommand(_ command: String, _ script: String) -> String {
        #"case " $* " in *" \#(command) "*) \#(script);; *) exec git "$@";; esac"#
    }
}
