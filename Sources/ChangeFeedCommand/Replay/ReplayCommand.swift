extension Subcommand {
    /// `changefeed replay`: a repository's real history through the feed.
    static let replay = Subcommand(
        name: "replay",
        summary: "replay a git repository's history through the feed, and verify what devices see",
        discussion: """
            Each commit of the repository's first-parent history becomes one atomic modify, each file one record. Two
            devices follow with incremental fetches, one from the start and one that joins late; at the end they and a
            device that reads everything for the first time must hold the tree of the last commit.

            REPOSITORY is a path in a git repository, the current directory unless given. Its whole history must be
            there: shallow and partial clones are refused.

            Exit status: 0 verified, 1 a device differs, 2 bad arguments or no such repository.
            """,
        operands: "[REPOSITORY]",
        options: ReplayOptions.options
    ) { arguments, console in
        let options = try ReplayOptions(arguments)
        let history = try GitHistory(Git(path: options.repository), maxCommits: options.maxCommits)
        var bar = ProgressBar(
            "replaying",
            unit: "commits",
            total: history.commitCount,
            on: options.json ? .error : .output,
            of: console
        )
        let commits = try history.commits()
        var done = 0
        var saves = 0
        var deletes = 0
        while let commit = try commits.next() {
            for change in commit.changes {
                if case .put = change { saves += 1 } else { deletes += 1 }
            }
            done += 1
            try bar.advance(to: done)
        }
        try bar.close()
        var table = Table()
        table.add("commits", done)
        table.add("saves", saves)
        table.add("deletes", deletes)
        table.add("files", try history.tree(at: history.lastCommitID).count)
        try console.write(table.text, to: .output)
        return .success
    }
}
