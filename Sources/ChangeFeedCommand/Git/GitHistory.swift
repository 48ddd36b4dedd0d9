/// The first-parent history of a repository's `HEAD`, as it stood when this value was made.
struct GitHistory: Sendable {
    /// How many commits are read.
    let commitCount: Int
    /// The last commit that is read, `HEAD` unless fewer were asked for.
    let lastCommitID: String

    private let git: Git

    /// Looks at the repository in which `git.path` lies, and takes its oldest `maxCommits` commits, or all.
    ///
    /// - Throws: a `GitError` where there is no repository, no commit, or not the whole of its history.
    init(_ git: Git, maxCommits: Int? = nil) throws(GitError) {
        self.git = git
        try Self.requireWholeRepository(git)
        let head = try git.run(["rev-parse", "--quiet", "--verify", "HEAD"])
        guard head.ending == .exited(0) else {
            guard head.errorText.isEmpty else {
                throw .refused(path: git.path, reason: Git.reason(of: head.ending, errorText: head.errorText))
            }
            throw .noCommits(path: git.path)
        }
        let list = ["rev-list", "--first-parent"]
        guard let count = Int(try Self.answer(git, list + ["--count", head.line, "--"])) else {
            throw .unexpectedOutput(command: "rev-list", detail: "there is no count")
        }
        if let maxCommits, maxCommits < count {
            commitCount = maxCommits
            let skipped = "--skip=\(count - maxCommits)"
            lastCommitID = try Self.answer(git, list + [skipped, "--max-count=1", head.line, "--"])
        } else {
            commitCount = count
            lastCommitID = head.line
        }
    }

    /// Starts to read the history from its oldest commit on, or after so many of the oldest, fewer than there are.
    func commits(after skipped: Int = 0) throws(GitError) -> GitCommits {
        try GitCommits(git, count: commitCount - skipped, endingWith: lastCommitID)
    }

    /// The place of commit `id` in the history, from 1; nil if it is not in it.
    func number(of id: String) throws(GitError) -> Int? {
        let command = "rev-list"
        let process = try git.start([command, "--first-parent", "--max-count=\(commitCount)", lastCommitID, "--"])
        var lines = DelimitedReader(process, command: command, delimiter: UInt8(ascii: "\n"))
        var line: [UInt8] = []
        var newer = 0
        var number: Int?
        while try lines.next(into: &line) {
            if line.elementsEqual(id.utf8) { number = commitCount - newer }
            newer += 1
        }
        return number
    }

    /// Every file of the whole tree of commit `id`, as `git ls-tree -r` shows it, by path.
    func tree(at id: String) throws(GitError) -> [[UInt8]: GitFile] {
        let command = "ls-tree"
        let process = try git.start([command, "-r", "-z", "-l", "--full-tree", id])
        var entries = DelimitedReader(process, command: command, delimiter: 0)
        var files: [[UInt8]: GitFile] = [:]
        var entry: [UInt8] = []
        while try entries.next(into: &entry) {
            let parts = entry.split(separator: UInt8(ascii: "\t"), maxSplits: 1, omittingEmptySubsequences: false)
            let fields = parts[0].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard parts.count == 2, fields.count == 4 else {
                throw .unexpectedOutput(command: command, detail: "an entry has \(fields.count) fields")
            }
            let isSubmodule = fields[0] == GitFile.submoduleMode
            guard let size = isSubmodule ? 0 : Int(fields[3]) else {
                throw .unexpectedOutput(command: command, detail: "there is no object \(fields[2])")
            }
            files[Array(parts[1])] = GitFile(mode: fields[0], blobID: fields[2], size: size)
        }
        return files
    }

    private static func requireWholeRepository(_ git: Git) throws(GitError) {
        let repository = try git.run(["rev-parse", "--is-shallow-repository"])
        guard repository.ending == .exited(0) else {
            if repository.errorText.contains("not a git repository") { throw .noRepository(path: git.path) }
            throw .refused(path: git.path, reason: Git.reason(of: repository.ending, errorText: repository.errorText))
        }
        if repository.line == "true" { throw .shallowClone(path: git.path) }

        let promises = ["config", "--null", "--get-regexp", #"^(extensions|remote\..*)\.(partialclone.*|promisor)$"#]
        let settings = try git.run(promises)
        // Status 1: no such setting.
        guard settings.ending == .exited(0) || settings.ending == .exited(1) else {
            throw .failed(
                command: "config",
                reason: Git.reason(of: settings.ending, errorText: settings.errorText)
            )
        }
        for setting in settings.output.split(separator: 0) {
            // A key, then its value on the next line; a key alone is true.
            let lines = setting.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let value = lines.dropFirst().first.map { String(decoding: $0, as: UTF8.self).lowercased() } ?? "true"
            if !["false", "no", "off", "0", ""].contains(value) { throw .partialClone(path: git.path) }
        }
    }

    private static func answer(_ git: Git, _ arguments: [String]) throws(GitError) -> String {
        let answer = try git.run(arguments)
        guard answer.ending == .exited(0) else {
            throw .failed(
                command: arguments[0],
                reason: Git.reason(of: answer.ending, errorText: answer.errorText)
            )
        }
        return answer.line
    }
}
