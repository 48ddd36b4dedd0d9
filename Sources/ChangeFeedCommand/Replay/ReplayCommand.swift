extension Subcommand {
    /// `changefeed replay`: a repository's real history through the feed.
    static let replay = Subcommand(
        name: "replay",
        summary: "replay a git repository's history through the feed, and verify what devices see",
        discussion: """
            Each commit of the repository's first-parent history becomes one atomic modify, each file one record. Two
            devices follow with sync engines, one from the start and one that joins late: hints of changes reach them, of
            which some are lost, a silence of fifteen minutes (of a clock that goes a minute a request) makes them ask,
            and now and then one is killed in the middle of a fetch and launched again. At the end they and a device
            that reads everything for the first time must hold the tree of the last commit.

            REPOSITORY is a path in a git repository, the current directory unless given. Its whole history must be
            there: shallow and partial clones are refused.

            With --store the feed is kept in FILE, and what the devices hold in FILE-devices. Such a replay may be killed
            at any moment: the same command goes on where it was, and later with the commits that are new. FILE belongs
            to one history: that of another branch, or one rewritten since, is refused.

            With --journal the engines say what they did and why, in a file that is replaced: one JSON object a line,
            the same bytes for the same history and seed.

            The pages and records fetched are those of the two following devices; the time is that of writing and
            fetching, without git's.

            Exit status: 0 verified, 1 a device differs, 2 the replay could not be made: bad arguments, no such
            repository, a store that is in use or of something else.
            """,
        operands: "[REPOSITORY]",
        options: ReplayOptions.options
    ) { arguments, console in
        let options = try ReplayOptions(arguments)
        let history = try GitHistory(Git(path: options.repository), maxCommits: options.maxCommits)
        let journal = try options.journal.map { path throws(ReplayFailure) in try ReplayJournal(at: path) }
        guard let path = options.store else {
            return try await Replay(history, options, journal: journal).run(on: console, json: options.json)
        }
        let files = try await ReplayFiles(at: path, durability: options.durability)
        do {
            let replay = Replay(
                history, options, database: files.database(for: options), storage: files.storage(ofDevice:),
                journal: journal)
            let status = try await replay.run(on: console, json: options.json)
            await files.close()
            return status
        } catch {
            await files.close()
            throw error
        }
    }
}

extension Replay {
    /// Runs the replay and says what it found: a table, or as JSON the object alone on the output and progress on the
    /// error stream.
    consuming func run(on console: any Console, json: Bool) async throws -> ExitStatus {
        var bar = ProgressBar(
            "replaying",
            unit: "commits",
            total: commitCount,
            on: json ? .error : .output,
            of: console
        )
        let report: ReplayReport
        do {
            report = try await run(showing: &bar)
        } catch {
            // The sentence that says why is to begin on a line of its own.
            try? bar.close()
            throw error
        }
        try bar.close()
        try console.write(json ? report.json() : report.text, to: .output)
        return report.isVerified ? .success : .differences
    }
}
