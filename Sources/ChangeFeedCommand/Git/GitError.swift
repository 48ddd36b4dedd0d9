/// Why a repository's history cannot be replayed, as one sentence for the person who asked.
enum GitError: Error, Equatable {
    /// There is no `git` along `PATH`.
    case gitMissing
    /// The system could not start `git` or lost the pipe to it.
    case system(reason: String)
    /// The path is no repository and lies in none.
    case noRepository(path: String)
    /// `git` refuses the path or the repository, in its own words.
    case refused(path: String, reason: String)
    /// `HEAD` names no commit yet.
    case noCommits(path: String)
    /// The history is cut off at some depth.
    case shallowClone(path: String)
    /// Objects are missing that another repository promised.
    case partialClone(path: String)
    /// `git` ended with an error while it was being read.
    case failed(command: String, reason: String)
    /// `git` ended well, but what it wrote was not whole or not understood.
    case unexpectedOutput(command: String, detail: String)

    var sentence: String {
        switch self {
        case .gitMissing:
            "git is not installed, or not on the PATH, and replay reads a repository through it"
        case .system(let reason):
            "git could not be run: \(reason)"
        case .noRepository(let path):
            "\(quoted(path)) is not a git repository, and lies in none"
        case .refused(let path, let reason):
            "git cannot read \(quoted(path)): \(reason)"
        case .noCommits(let path):
            "the repository \(quoted(path)) has no commits on its current branch yet"
        case .shallowClone(let path):
            "the repository \(quoted(path)) is a shallow clone, whose history is cut off; "
                + "git fetch --unshallow completes it"
        case .partialClone(let path):
            "the repository \(quoted(path)) is a partial clone, whose objects are not all here; clone it without --filter"
        case .failed(let command, let reason):
            "git \(command) failed: \(reason)"
        case .unexpectedOutput(let command, let detail):
            "git \(command) gave an answer that is not whole: \(detail)"
        }
    }

    private func quoted(_ path: String) -> String {
        "\"\(PathText.printable(Array(path.utf8)))\""
    }
}
