@testable import ChangeFeedCommand

/// A history in the language of `git fast-import`, which takes paths of any bytes without a file system in between.
struct ImportScript {
    /// A commit that has been added, to name as a parent.
    struct Mark {
        fileprivate let number: Int
    }

    enum Change {
        case put([UInt8], mode: String, content: [UInt8])
        case submodule([UInt8], commit: String)
        case remove([UInt8])

        static func put(_ path: String, _ content: String = "", mode: String = "100644") -> Change {
            .put(Array(path.utf8), mode: mode, content: Array(content.utf8))
        }

        static func remove(_ path: String) -> Change {
            .remove(Array(path.utf8))
        }
    }

    private(set) var bytes: [UInt8] = []
    private var count = 0

    /// Adds a commit on branch "main", or on another. Its first parent is the branch's last commit unless `from` names
    /// one; its tree is the first parent's with `changes`, whatever `merging` holds.
    @discardableResult
    mutating func commit(
        _ changes: [Change],
        on branch: String = "main",
        from: Mark? = nil,
        merging: [Mark] = []
    ) -> Mark {
        count += 1
        add("commit refs/heads/\(branch)\nmark :\(count)\n")
        add("committer Committer <committer@example.org> \(1_000_000_000 + count) +0000\ndata 1\nx\n")
        if let from { add("from :\(from.number)\n") }
        for parent in merging { add("merge :\(parent.number)\n") }
        for change in changes {
            switch change {
            case .put(let path, let mode, let content):
                add("M \(mode) inline \(quoted(path))\ndata \(content.count)\n")
                bytes += content
                add("\n")
            case .submodule(let path, let commit):
                add("M 160000 \(commit) \(quoted(path))\n")
            case .remove(let path):
                add("D \(quoted(path))\n")
            }
        }
        add("\n")
        return Mark(number: count)
    }

    private mutating func add(_ text: String) {
        bytes += Array(text.utf8)
    }

    /// Every byte in octal: nothing in a path can then mean something else.
    private func quoted(_ path: [UInt8]) -> String {
        let octal = path.map { byte in
            "\\" + String(byte >> 6, radix: 8) + String((byte >> 3) & 7, radix: 8) + String(byte & 7, radix: 8)
        }
        return "\"" + octal.joined() + "\""
    }
}
