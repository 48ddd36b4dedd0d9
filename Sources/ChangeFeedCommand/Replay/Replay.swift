import ChangeFeed

/// A history on its way through the feed: one device writes it, two follow.
struct Replay {
    private struct Follower {
        var device: FollowingDevice
        var schedule: any FetchSchedule
    }

    private let history: GitHistory
    private let pageLimit: Int
    private let database: any RecordDatabase
    private var writer: ReplayWriter
    private var followers: [Follower]
    private var recordsIfRefetched = 0
    private var stopwatch = Stopwatch()

    /// A replay of `history`, into a database of its own unless another is given, with fetches at the moments that the
    /// seed of `options` makes unless other schedules are given: one from the start and one that joins late.
    init(
        _ history: GitHistory,
        _ options: ReplayOptions,
        database: (any RecordDatabase)? = nil,
        schedules: (fromStart: any FetchSchedule, late: any FetchSchedule)? = nil
    ) {
        let database = database ?? Self.database(for: options)
        self.history = history
        self.database = database
        pageLimit = options.pageLimit
        writer = ReplayWriter(to: database, batchLimit: options.batchLimit)
        var seeds = SplitMix64(seed: options.seed)
        let schedules =
            schedules ?? (
                fromStart: SeededSchedule(seed: seeds.next(), firstCommit: 1),
                late: SeededSchedule.joiningLate(seed: seeds.next(), in: history.commitCount)
            )
        followers = [
            Follower(device: Self.device("from the start", database, options), schedule: schedules.fromStart),
            Follower(device: Self.device("joined late", database, options), schedule: schedules.late),
        ]
    }

    /// How many commits there are to replay.
    var commitCount: Int { history.commitCount }

    /// Replays the history to its end, and compares what the devices hold with the tree of its last commit.
    ///
    /// - Throws: a `GitError`, an `OutputError` of `bar`, or a `ReplayFailure` where the feed let the replay down.
    mutating func run(showing bar: inout ProgressBar) async throws -> ReplayReport {
        stopwatch.start()
        try await writer.createZone()
        stopwatch.stop()
        let commits = try history.commits()
        var number = 0
        while let commit = try commits.next() {
            number += 1
            stopwatch.start()
            try await replay(commit, number: number)
            stopwatch.stop()
            try bar.advance(to: number)
        }
        stopwatch.start()
        for index in followers.indices {
            try await followers[index].device.fetchAll()
            recordsIfRefetched += writer.liveCount
        }
        var newcomer = FollowingDevice(name: "first read", following: database, pageLimit: pageLimit)
        try await newcomer.fetchAll()
        stopwatch.stop()

        let tree = try history.tree(at: history.lastCommitID)
        let devices = followers.map(\.device) + [newcomer]
        return ReplayReport(
            commits: number,
            saves: writer.saves,
            deletes: writer.deletes,
            pages: followers.map(\.device.pages).reduce(0, +),
            recordsFetched: followers.map(\.device.recordsFetched).reduce(0, +),
            recordsIfRefetched: recordsIfRefetched,
            seconds: stopwatch.seconds,
            differences: devices.flatMap { ReplayDifference.all(between: tree, and: $0.files, of: $0.name) }
        )
    }

    private mutating func replay(_ commit: GitCommit, number: Int) async throws(ReplayFailure) {
        let batches = writer.batches(of: commit)
        for batch in batches {
            try await writer.write(batch, of: commit.id)
            try await follow(inCommit: number)
        }
        if batches.isEmpty { try await follow(inCommit: number) }
    }

    /// Lets the devices whose moment it is fetch.
    private mutating func follow(inCommit number: Int) async throws(ReplayFailure) {
        for index in followers.indices {
            switch followers[index].schedule.next(inCommit: number) {
            case .wait:
                continue
            case .fetchAll:
                try await followers[index].device.fetchAll()
            case .fetchPages(let count):
                try await followers[index].device.fetchDatabaseChanges()
                for _ in 0..<count where followers[index].device.isBehind {
                    try await followers[index].device.fetchPage()
                }
            }
            recordsIfRefetched += writer.liveCount
        }
    }

    private static func device(
        _ name: String, _ database: any RecordDatabase, _ options: ReplayOptions
    ) -> FollowingDevice {
        FollowingDevice(name: name, following: database, pageLimit: options.pageLimit)
    }

    /// A database in memory under CloudKit's limits, with two exceptions: a page may have as many results as were
    /// asked for, and a file's record as many bytes as its path needs.
    private static func database(for options: ReplayOptions) -> any RecordDatabase {
        var limits = Limits.cloudKit
        limits.resultsPerPage = max(limits.resultsPerPage, options.pageLimit)
        limits.recordBytes = .max
        limits.bytesPerRequest = .max
        return Container(identifier: "changefeed.replay", configuration: .init(limits: limits))
            .database(.private, for: "replay")
    }
}
