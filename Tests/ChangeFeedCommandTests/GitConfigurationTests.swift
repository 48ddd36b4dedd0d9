import Foundation
import XCTest

@testable import ChangeFeedCommand

/// The same history comes out wherever it is read from, whatever its reader has configured and whatever a hook's
/// environment says.
final class GitConfigurationTests: XCTestCase {
    func testNoConfigurationChangesTheHistory() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        let history = try GitHistory(sandbox.git("repository"))
        let plain = try allCommits(of: history)
        let tree = try history.tree(at: history.lastCommitID)
        // Read from a folder that is in the history: only there do relative paths differ.
        try sandbox.run(["clone", "--quiet", "--no-checkout", "repository", "checkout"])
        let folder = sandbox.folder + "/checkout/side"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try "*b*\n*a*\n".write(toFile: sandbox.folder + "/order", atomically: true, encoding: .utf8)

        for (key, value) in [
            ("log.showSignature", "true"), ("log.showRoot", "false"), ("log.diffMerges", "separate"),
            ("log.follow", "true"), ("log.mailmap", "true"), ("log.decorate", "full"), ("log.abbrevCommit", "true"),
            ("diff.renames", "copies"), ("diff.orderFile", sandbox.folder + "/order"), ("diff.relative", "true"),
            ("diff.ignoreSubmodules", "all"), ("diff.submodule", "log"), ("diff.noprefix", "true"),
            ("diff.external", "false"), ("submodule.sub.ignore", "all"), ("core.quotePath", "true"),
            ("core.abbrev", "7"), ("color.ui", "always"), ("core.pager", "false"), ("format.pretty", "oneline"),
            ("i18n.logOutputEncoding", "UTF-16"), ("notes.displayRef", "refs/notes/*"), ("core.commitGraph", "false"),
        ] {
            try sandbox.run(["-C", "checkout", "config", key, value])
        }
        let configured = try GitHistory(sandbox.git("checkout/side"))
        XCTAssertTrue(try allCommits(of: configured) == plain)
        XCTAssertTrue(try configured.tree(at: configured.lastCommitID) == tree)
    }

    func testReplacedObjectsAndGraftsAreNotFollowed() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        let history = try GitHistory(sandbox.git("repository"))
        let plain = try allCommits(of: history)

        try sandbox.run(["-C", "repository", "replace", plain[6].id, plain[1].id])
        try (plain[5].id + "\n").write(
            toFile: sandbox.folder + "/repository/info/grafts",
            atomically: true,
            encoding: .utf8
        )
        let commits = try allCommits(of: GitHistory(sandbox.git("repository")))
        XCTAssertEqual(commits, plain)
    }

    func testASubfolderAWorktreeAndTheGitFolderGiveTheWholeRepository() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        script.commit([.put("top", "t"), .put("folder/inner/file", "f")])
        script.commit([.put("folder/inner/file", "changed"), .put("-", "dash")])
        try sandbox.makeRepository(history: script)
        try sandbox.run(["clone", "--quiet", "repository", "checkout"])
        try sandbox.run(["-C", "checkout", "worktree", "add", "--quiet", "../linked"])
        let whole = try allCommits(of: GitHistory(sandbox.git("repository")))

        for path in ["checkout", "checkout/folder/inner", "checkout/.git", "linked", "linked/folder"] {
            let history = try GitHistory(sandbox.git(path))
            XCTAssertEqual(try allCommits(of: history), whole, path)
            XCTAssertEqual(try history.tree(at: history.lastCommitID).count, 3, path)
        }
    }

    func testAFileNamedLikeACommitIsNoArgument() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        script.commit([.put("a", "1")])
        try sandbox.makeRepository(history: script)
        try sandbox.run(["clone", "--quiet", "repository", "checkout"])
        let history = try GitHistory(sandbox.git("checkout"))
        for name in [history.lastCommitID, "HEAD"] {
            try "x".write(toFile: sandbox.folder + "/checkout/" + name, atomically: true, encoding: .utf8)
        }
        XCTAssertEqual(try allCommits(of: GitHistory(sandbox.git("checkout"))).count, 1)
    }

    func testAHooksEnvironmentDoesNotMisdirect() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        var script = ImportScript()
        script.commit([.put("other", "o")])
        try sandbox.makeRepository("other", history: script)
        let plain = try allCommits(of: GitHistory(sandbox.git("repository")))

        sandbox.environment.merge([
            "GIT_DIR": sandbox.folder + "/other",
            "GIT_WORK_TREE": sandbox.folder,
            "GIT_INDEX_FILE": sandbox.folder + "/nothing",
            "GIT_OBJECT_DIRECTORY": sandbox.folder + "/nothing",
            "GIT_COMMON_DIR": sandbox.folder + "/other",
            "GIT_NAMESPACE": "elsewhere",
            "GIT_PREFIX": "folder/",
            "GIT_SHALLOW_FILE": "/dev/null/nothing",
            "GIT_EXTERNAL_DIFF": "false",
            "GIT_LITERAL_PATHSPECS": "1",
            "LC_ALL": "de_DE.UTF-8",
        ]) { _, new in new }
        XCTAssertEqual(try allCommits(of: GitHistory(sandbox.git("repository"))), plain)
    }
}
