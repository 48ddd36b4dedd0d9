/// A first-parent history, oldest commit first, read from `git log` as it is asked for.
///
/// Holds one commit in memory, whatever the history's length. It ends only where git has written every commit and
/// ended well; anything else throws, and a history is never silently short.
final class GitCommits {
    private static let command = "log"

    private let expectedCount: Int
    private let expectedLastID: String
    private var entries: DelimitedReader
    private let sizes: BlobSizes
    private var entry: [UInt8] = []
    private var deliveredCount = 0
    private var nextID: String?
    private var lastID: String?
    private var hasStarted = false

    /// The latest `count` (at least 1) first-parent commits up to `lastID`.
    init(_ git: Git, count: Int, endingWith lastID: String) throws(GitError) {
        expectedCount = count
        expectedLastID = lastID
        let process = try git.start(Self.arguments + ["--max-count=\(count)", lastID, "--"])
        entries = DelimitedReader(process, command: Self.command, delimiter: 0)
        sizes = try BlobSizes(git)
    }

    /// The next commit; nil after the last.
    func next() throws(GitError) -> GitCommit? {
        if !hasStarted {
            hasStarted = true
            if try entries.next(into: &entry) { nextID = try commitID() }
        }
        guard let id = nextID else {
            guard deliveredCount == expectedCount, lastID == expectedLastID else {
                throw unexpected("\(deliveredCount) of \(expectedCount) commits arrived")
            }
            try sizes.finish()
            return nil
        }
        nextID = nil
        var changes: [GitChange] = []
        while try entries.next(into: &entry) {
            if entry.first == UInt8(ascii: "\n") { entry.removeFirst() }
            guard entry.first == UInt8(ascii: ":") else {
                nextID = try commitID()
                break
            }
            changes.append(try change())
        }
        try lookUpSizes(in: &changes)
        deliveredCount += 1
        lastID = id
        return GitCommit(id: id, changes: changes)
    }

    /// What keeps the output the same whatever the user has configured: each option that a configuration key stands
    /// for is given.
    private static let arguments = [
        "-c", "log.showRoot=true", "log", "--first-parent", "--reverse", "--diff-merges=first-parent", "--root",
        "--raw", "-z", "--format=tformat:%H", "--encoding=UTF-8", "--no-abbrev", "--no-renames", "--no-relative",
        "-O/dev/null", "--ignore-submodules=none", "--submodule=short", "--no-color", "--no-notes", "--no-decorate",
        "--no-show-signature", "--no-mailmap", "--no-ext-diff", "--no-textconv",
    ]

    /// The commit id that `entry` holds.
    private func commitID() throws(GitError) -> String {
        guard entry.count == expectedLastID.utf8.count, entry.allSatisfy(\.isHexadecimalDigit) else {
            throw unexpected("an entry is neither a commit nor a change")
        }
        return String(decoding: entry, as: UTF8.self)
    }

    /// The change that `entry` begins, ":oldMode newMode oldID newID status"; the next entry is its path.
    private func change() throws(GitError) -> GitChange {
        let fields = entry.dropFirst().split(separator: UInt8(ascii: " "))
        guard fields.count == 5, fields[4].count == 1, let status = fields[4].first else {
            throw unexpected("a change has \(fields.count) fields")
        }
        let mode = String(decoding: fields[1], as: UTF8.self)
        let blobID = String(decoding: fields[3], as: UTF8.self)
        guard try entries.next(into: &entry) else { throw unexpected("it ends before a change's path") }
        switch status {
        case UInt8(ascii: "D"):
            return .remove(path: entry)
        case UInt8(ascii: "A"), UInt8(ascii: "M"), UInt8(ascii: "T"):
            return .put(path: entry, GitFile(mode: mode, blobID: blobID, size: 0))
        default:
            throw unexpected("a change has the status \(PathText.printable([status]))")
        }
    }

    private func lookUpSizes(in changes: inout [GitChange]) throws(GitError) {
        var positions: [Int] = []
        var ids: [String] = []
        for (position, change) in changes.enumerated() {
            if case .put(_, let file) = change, file.mode != GitFile.submoduleMode {
                positions.append(position)
                ids.append(file.blobID)
            }
        }
        for (position, size) in zip(positions, try sizes.sizes(of: ids)) {
            if case .put(let path, var file) = changes[position] {
                file.size = size
                changes[position] = .put(path: path, file)
            }
        }
    }

    private func unexpected(_ detail: String) -> GitError {
        .unexpectedOutput(command: Self.command, detail: detail)
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
