import XCTest

@testable import ChangeFeedCommand

/// Reading a real history through `git`: each commit's changes against its first parent, oldest first.
final class GitHistoryTests: XCTestCase {
    func testACommitIsItsChangesAgainstItsFirstParent() throws {
        let sandbox = try GitSandbox()
        let submodule = String(repeating: "12", count: 20)
        var script = ImportScript()
        script.commit([.put("a", "one"), .put("run", "#!", mode: "100755"), .put("link", "a", mode: "120000")])
        script.commit([])
        script.commit([.put("a", "longer"), .remove("link"), .submodule(Array("sub".utf8), commit: submodule)])
        script.commit([.put("run", "#!")])
        try sandbox.makeRepository(history: script)

        let commits = try allCommits(of: GitHistory(sandbox.git("repository")))

        XCTAssertEqual(
            commits.map { $0.changes.map(readable) },
            [
                ["+ a 100644 3", "+ link 120000 1", "+ run 100755 2"],
                [],
                ["+ a 100644 6", "- link", "+ sub 160000 0"],
                ["+ run 100644 2"],
            ])
        guard case .put(_, let file) = commits[2].changes[2] else { return XCTFail("the submodule is no put") }
        XCTAssertEqual(file.blobID, submodule)
        let listed = try sandbox.run(["-C", "repository", "rev-list", "--reverse", "HEAD"])
        XCTAssertEqual(commits.map(\.id), listed.split(separator: "\n").map(String.init))
    }

    func testAMergeIsWhatItBringsToItsFirstParentAndTheSideIsNotRead() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        let root = script.commit([.put("base", "b"), .put("shared", "s")])
        let main = script.commit([.put("main", "m")])
        let side = script.commit([.put("side", "s"), .remove("shared")], on: "side", from: root)
        // An evil merge: "evil" is in neither parent, and "base" is in neither as it is here.
        script.commit(
            [.put("side", "s"), .remove("shared"), .put("evil", "e"), .put("base", "changed")],
            from: main,
            merging: [side]
        )
        script.commit([.put("after", "a")])
        try sandbox.makeRepository(history: script)

        let commits = try allCommits(of: GitHistory(sandbox.git("repository")))

        XCTAssertEqual(
            commits.map { $0.changes.map(readable) },
            [
                ["+ base 100644 1", "+ shared 100644 1"],
                ["+ main 100644 1"],
                ["+ base 100644 7", "+ evil 100644 1", "- shared", "+ side 100644 1"],
                ["+ after 100644 1"],
            ])
    }

    func testAFileThatMakesRoomForAFolderAndBackIsARemovalAndAPut() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        script.commit([.put("x", "file")])
        script.commit([.remove("x"), .put("x/y/z", "deep")])
        script.commit([.remove("x/y/z"), .put("x", "again", mode: "120000")])
        try sandbox.makeRepository(history: script)

        let commits = try allCommits(of: GitHistory(sandbox.git("repository")))

        XCTAssertEqual(
            commits.map { Set($0.changes.map(readable)) },
            [
                ["+ x 100644 4"],
                ["- x", "+ x/y/z 100644 4"],
                ["- x/y/z", "+ x 120000 5"],
            ])
    }

    func testAnAwkwardHistoryGivesEveryCommitsTree() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)

        let history = try GitHistory(sandbox.git("repository"))

        let commits = try history.commits()
        var files: [[UInt8]: GitFile] = [:]
        var count = 0
        while let commit = try commits.next() {
            files.apply(commit.changes)
            XCTAssertEqual(files, try history.tree(at: commit.id), "commit \(count)")
            count += 1
        }
        XCTAssertEqual(count, history.commitCount)
        XCTAssertEqual(count, 7)
        XCTAssertNil(try commits.next(), "the end stays the end")
    }

    func testMaxCommitsTakesTheOldest() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        for number in 1...5 { script.commit([.put("f\(number)", "x")]) }
        try sandbox.makeRepository(history: script)
        let all = try allCommits(of: GitHistory(sandbox.git("repository")))

        for limit in 1...7 {
            let history = try GitHistory(sandbox.git("repository"), maxCommits: limit)
            let commits = try allCommits(of: history)
            XCTAssertEqual(commits, Array(all.prefix(limit)), "limit \(limit)")
            XCTAssertEqual(history.commitCount, min(limit, 5))
            XCTAssertEqual(history.lastCommitID, commits.last?.id)
            XCTAssertEqual(try history.tree(at: history.lastCommitID).count, min(limit, 5))
        }
    }

    func testAHistoryIsReadOnFromAnyOfItsCommits() throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .awkward)
        for maxCommits in [nil, 5] {
            let history = try GitHistory(sandbox.git("repository"), maxCommits: maxCommits)
            let commits = try allCommits(of: history)
            for (index, commit) in commits.enumerated() {
                XCTAssertEqual(try history.number(of: commit.id), index + 1)
                let rest = try history.commits(after: index)
                for expected in commits[index...] { XCTAssertEqual(try rest.next(), expected) }
                XCTAssertNil(try rest.next())
            }
            let side = try sandbox.run(["-C", "repository", "rev-parse", "side"])
            XCTAssertNil(try history.number(of: side), "a commit of a merged branch is none of the line")
        }
        let head = try sandbox.run(["-C", "repository", "rev-parse", "HEAD"])
        XCTAssertNil(try GitHistory(sandbox.git("repository"), maxCommits: 5).number(of: head))
    }

    func testMoreCommitsAndBlobsThanFitAnyBufferArriveInOrder() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        script.commit((0..<3_000).map { .put("folder/file-\($0)", String(repeating: "x", count: $0)) })
        for number in 0..<1_000 { script.commit([.put("folder/file-\(number)", "now \(number)")]) }
        try sandbox.makeRepository(history: script)

        let history = try GitHistory(sandbox.git("repository"))
        let commits = try allCommits(of: history)

        XCTAssertEqual(commits.count, 1_001)
        var files: [[UInt8]: GitFile] = [:]
        for commit in commits { files.apply(commit.changes) }
        XCTAssertEqual(files, try history.tree(at: history.lastCommitID))
        XCTAssertEqual(files[Array("folder/file-2999".utf8)]?.size, 2_999)
        XCTAssertEqual(files[Array("folder/file-999".utf8)]?.size, 7)
    }

    func testARepositoryWithLongObjectIDsIsRead() throws {
        let sandbox = try GitSandbox()
        var script = ImportScript()
        script.commit((0..<200).map { .put("f\($0)", "content \($0)") })
        try sandbox.run(["init", "--quiet", "--bare", "--initial-branch=main", "--object-format=sha256", "long"])
        try sandbox.run(["-C", "long", "fast-import", "--quiet"], input: script.bytes)

        let history = try GitHistory(sandbox.git("long"))
        let commits = try allCommits(of: history)

        XCTAssertEqual(history.lastCommitID.count, 64)
        XCTAssertEqual(commits.map(\.changes.count), [200])
        XCTAssertEqual(try history.tree(at: history.lastCommitID).count, 200)
    }

    private func readable(_ change: GitChange) -> String {
        switch change {
        case .put(let path, let file): "+ \(PathText.printable(path)) \(file.mode) \(file.size)"
        case .remove(let path): "- \(PathText.printable(path))"
        }
    }
}
