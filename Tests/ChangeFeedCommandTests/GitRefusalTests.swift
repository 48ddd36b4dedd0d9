import Foundation
import XCTest

@testable import ChangeFeedCommand

/// What is no whole history is refused with one sentence, before anything is read.
final class GitRefusalTests: XCTestCase {
    func testAPathThatIsNoRepositoryIsRefused() throws {
        let sandbox = try GitSandbox()
        try FileManager.default.createDirectory(atPath: sandbox.folder + "/plain", withIntermediateDirectories: true)

        XCTAssertEqual(refusal(sandbox, "plain"), .noRepository(path: sandbox.folder + "/plain"))
        let missing = refusal(sandbox, "missing")
        guard case .refused(let path, let reason) = missing else { return XCTFail("\(String(describing: missing))") }
        XCTAssertEqual(path, sandbox.folder + "/missing")
        XCTAssertTrue(reason.contains("No such file or directory"), reason)
    }

    func testARepositoryWithoutCommitsIsRefused() throws {
        let sandbox = try GitSandbox()
        try sandbox.run(["init", "--quiet", "empty"])
        XCTAssertEqual(refusal(sandbox, "empty"), .noCommits(path: sandbox.folder + "/empty"))
    }

    func testAShallowCloneIsRefused() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        let origin = "file://\(sandbox.folder)/repository"
        try sandbox.run(["clone", "--quiet", "--bare", "--depth", "2", origin, "shallow"])
        XCTAssertEqual(refusal(sandbox, "shallow"), .shallowClone(path: sandbox.folder + "/shallow"))
    }

    func testAPartialCloneIsRefused() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        try sandbox.run(["-C", "repository", "config", "uploadpack.allowFilter", "true"])
        let origin = "file://\(sandbox.folder)/repository"
        try sandbox.run(["clone", "--quiet", "--bare", "--filter=blob:none", origin, "partial"])
        XCTAssertEqual(refusal(sandbox, "partial"), .partialClone(path: sandbox.folder + "/partial"))
    }

    func testEachSettingOfAPartialCloneIsSeenAndADeniedOneIsNot() throws {
        for (setting, value, isPartial) in [
            ("remote.origin.promisor", "true", true),
            ("remote.a.b.promisor", "yes", true),
            ("remote.origin.partialCloneFilter", "tree:0", true),
            ("extensions.partialClone", "origin", true),
            ("remote.origin.promisor", "false", false),
            ("remote.origin.url", "promisor=true", false),
        ] {
            let sandbox = try GitSandbox()
            try sandbox.makeRepository(history: .awkward)
            try sandbox.run(["-C", "repository", "config", setting, value])
            let expected = isPartial ? GitError.partialClone(path: sandbox.folder + "/repository") : nil
            XCTAssertEqual(refusal(sandbox, "repository"), expected, "\(setting)=\(value)")
        }
    }

    func testAMissingGitIsSaid() throws {
        let sandbox = try GitSandbox()
        XCTAssertThrowsError(try GitHistory(sandbox.git(".", program: sandbox.folder + "/no-git"))) { error in
            XCTAssertEqual(error as? GitError, .gitMissing)
        }
    }

    func testEverySentenceIsOneLineThatNamesWhatIsWrong() {
        let path = "some\npath"
        let sentences: [(GitError, String)] = [
            (.gitMissing, "not installed"),
            (.system(reason: "Too many open files"), "Too many open files"),
            (.noRepository(path: path), #""some\x0apath" is not a git repository"#),
            (.refused(path: path, reason: "dubious ownership"), "dubious ownership"),
            (.noCommits(path: path), "no commits"),
            (.shallowClone(path: path), "shallow"),
            (.partialClone(path: path), "partial"),
            (.failed(command: "log", reason: "bad object"), "git log failed: bad object"),
            (.unexpectedOutput(command: "log", detail: "it ends"), "not whole: it ends"),
        ]
        for (error, part) in sentences {
            XCTAssertTrue(error.sentence.contains(part), error.sentence)
            XCTAssertFalse(error.sentence.contains("\n"), error.sentence)
        }
    }

    private func refusal(_ sandbox: GitSandbox, _ path: String) -> GitError? {
        do {
            _ = try GitHistory(sandbox.git(path))
            return nil
        } catch {
            return error
        }
    }
}
