@testable import ChangeFeedCommand

/// Every commit of `history`, oldest first.
func allCommits(of history: GitHistory) throws -> [GitCommit] {
    let commits = try history.commits()
    var all: [GitCommit] = []
    while let commit = try commits.next() { all.append(commit) }
    return all
}

extension [[UInt8]: GitFile] {
    /// Makes a first parent's tree the commit's.
    mutating func apply(_ changes: [GitChange]) {
        for change in changes {
            switch change {
            case .put(let path, let file): self[path] = file
            case .remove(let path): self[path] = nil
            }
        }
    }
}

extension ImportScript {
    /// Seven commits on the first-parent line with everything that is awkward in one: paths of any bytes and of
    /// thousands of them, merges (one evil), a submodule that moves, modes that change, a rename, content that comes
    /// back, a file that becomes a folder, an empty commit.
    static var awkward: ImportScript {
        let awkwardPaths: [[UInt8]] = [
            Array(" leading".utf8), Array("trailing ".utf8), Array("tab\there".utf8), Array("new\nline".utf8),
            Array("quote\"d".utf8), Array("back\\slash".utf8), Array(":colon".utf8), Array("-dash".utf8),
            Array("*glob?[x]".utf8), Array("HEAD".utf8), Array("case".utf8), Array("CASE".utf8),
            Array("caf\u{E9}".utf8), Array("cafe\u{301}".utf8), Array("\u{1F600}".utf8),
            [0xff, 0xfe, 0x2f, 0x80], [0x01, 0x7f, 0x1b], [0x0a],
            Array(Array(repeating: String(repeating: "long", count: 50), count: 25).joined(separator: "/").utf8),
        ]
        var script = ImportScript()
        let root = script.commit(
            awkwardPaths.enumerated().map { .put($1, mode: "100644", content: Array("content \($0)".utf8)) }
        )
        let second = script.commit([
            .submodule(Array("sub".utf8), commit: String(repeating: "ab", count: 20)),
            .put("new\nline", "content 3", mode: "100755"),
            .put("empty", ""),
            .remove("*glob?[x]"),
        ])
        let side = script.commit([.put("side/a", "a"), .remove("HEAD"), .put("case", "side")], on: "side", from: root)
        let merge = script.commit(
            [.put("side/a", "a"), .remove("HEAD"), .put("case", "evil"), .put("evil", "e")],
            from: second,
            merging: [side]
        )
        script.commit([])
        script.commit([
            .submodule(Array("sub".utf8), commit: String(repeating: "cd", count: 20)),
            .remove("CASE"), .put("CASE/inside", "content 11"),
            .remove("-dash"), .put("moved", "content 7"),
        ])
        let other = script.commit([.put("other", "o")], on: "other", from: merge)
        script.commit([.put("other", "o"), .remove("sub"), .put("sub/now/ours", "x")], merging: [other, side])
        script.commit([.put("*glob?[x]", "content 8"), .put("case", "evil", mode: "120000")])
        return script
    }
}
