import ChangeFeed
import ChangeFeedTesting

/// A history on its way through the feed: one device writes it, two follow.
///
/// Where it begins is for the zone to say, which keeps with each request how far it has come: a replay over a store that
/// has a part of the history goes on after that part, and a device goes on from the last page that it has kept.
struct Replay {
    /// The database that a replay writes to.
    static let databaseID = DatabaseID.private("replay")

    private struct Follower {
        let device: FollowingDevice
        var schedule: any FetchSchedule
    }

    private let history: GitHistory
    private let pageLimit: Int
    private let database: any RecordDatabase
    private var writer: ReplayWriter
    private var followers: [Follower]
    private var recordsIfRefetched = 0
    private var countedFetches = 0
    private let clock: ManualClock
    private let journal: ReplayJournal?
    private var stopwatch = Stopwatch()

    /// A replay of `history`, into a database in memory unless another is given, with devices that keep what they hold
    /// where `storage` says for the name of each, and with fetches at the moments that the seed of `options` makes
    /// unless other schedules are given: one from the start and one that joins late.
    init(
        _ history: GitHistory,
        _ options: ReplayOptions,
        database: (any RecordDatabase)? = nil,
        storage: (String) -> any DeviceStorage = { _ in MemoryDeviceStorage() },
        schedules: (fromStart: any FetchSchedule, late: any FetchSchedule)? = nil,
        journal: ReplayJournal? = nil
    ) {
        let clock = ManualClock()
        self.clock = clock
        self.journal = journal
        let database = database ?? Self.databaseInMemory(for: options, clock)
        self.history = history
        self.database = database
        pageLimit = options.pageLimit
        writer = ReplayWriter(to: database, batchLimit: options.batchLimit)
        var seeds = SeededGenerator(seed: options.seed)
        let schedules =
            schedules ?? (
                fromStart: SeededSchedule(seed: seeds.next(), firstCommit: 1),
                late: SeededSchedule.joiningLate(seed: seeds.next(), in: history.commitCount)
            )
        followers = [("from the start", schedules.fromStart), ("joined late", schedules.late)].map { name, schedule in
            Follower(
                device: FollowingDevice(
                    name: name, following: database, pageLimit: options.pageLimit, storage: storage(name),
                    journal: journal),
                schedule: schedule)
        }
    }

    /// How many commits there are to replay.
    var commitCount: Int { history.commitCount }

    /// Replays to its end what the database does not have of the history yet, and compares what the devices hold with
    /// the tree of its last commit.
    ///
    /// - Throws: a `GitError`, an `OutputError` of `bar`, or a `ReplayFailure` where the feed let the replay down or has
    ///   something else than a part of this history.
    mutating func run(showing bar: inout ProgressBar) async throws -> ReplayReport {
        stopwatch.start()
        let marker = try await writer.begin()
        stopwatch.stop()
        let start = try marker.map { try place(of: $0) }
        var number = start?.wholeCommits ?? 0
        if number > 0 { try bar.advance(to: number) }
        if number < commitCount {
            var written = start?.changesOfNext ?? 0
            let commits = try history.commits(after: number)
            while let commit = try commits.next() {
                number += 1
                stopwatch.start()
                try await replay(commit, number: number, after: written)
                stopwatch.stop()
                written = 0
                try bar.advance(to: number)
            }
        }
        stopwatch.start()
        for follower in followers { try await follower.device.fetchAll() }
        countFetches()
        let newcomer = FollowingDevice(
            name: "first read", following: database, pageLimit: pageLimit,
            clock: ManualClock(beginning: clock.date), journal: journal)
        try await newcomer.fetchAll()
        stopwatch.stop()
        for device in followers.map(\.device) + [newcomer] { await device.kill() }
        try journal?.close()

        let tree = try history.tree(at: history.lastCommitID)
        let devices = followers.map(\.device) + [newcomer]
        var differences: [ReplayDifference] = []
        for device in devices {
            differences += ReplayDifference.all(between: tree, and: try await device.files(), of: device.name)
        }
        return ReplayReport(
            start: start,
            commits: number,
            saves: writer.saves,
            deletes: writer.deletes,
            pages: followers.map(\.device.pages).reduce(0, +),
            recordsFetched: followers.map(\.device.recordsFetched).reduce(0, +),
            recordsIfRefetched: recordsIfRefetched,
            fetches: followers.map(\.device.fetches).reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) },
            seconds: stopwatch.seconds,
            differences: differences
        )
    }

    private func place(of marker: ReplayMarker) throws -> ReplayStart {
        guard let number = try history.number(of: marker.commitID) else {
            throw ReplayFailure(
                "the store has a replay that ends with the commit \(marker.commitID), which is not among the "
                    + "\(NumberText.grouped(commitCount)) to replay: it is of another repository or branch, the history "
                    + "was rewritten, or fewer commits are asked for than it has; take another file, or remove it")
        }
        return ReplayStart(marker: marker, number: number)
    }

    /// Replays a commit of which so many changes are written already.
    private mutating func replay(
        _ commit: GitCommit, number: Int, after written: Int
    ) async throws(ReplayFailure) {
        var marker = ReplayMarker(commitID: commit.id, written: written, changes: commit.changes.count)
        let batches = writer.batches(of: commit, after: written)
        for batch in batches {
            marker.written += batch.count
            try await writer.write(batch, marking: marker)
            try await follow(inCommit: number)
        }
        if batches.isEmpty { try await follow(inCommit: number) }
    }

    /// A minute passes, and the devices that a hint reaches fetch.
    private mutating func follow(inCommit number: Int) async throws(ReplayFailure) {
        clock.advance(by: .seconds(60))
        for index in followers.indices {
            let decision = followers[index].schedule.next(inCommit: number)
            let device = followers[index].device
            // Each has a clock of its own, so that one after the other wakes.
            try await device.pass(.seconds(60))
            switch decision {
            case .wait: break
            case .fetchAll: try await device.hear()
            case .fetchPages(let count): try await device.hear(killedAfter: count)
            }
        }
        countFetches()
    }

    /// Counts for each fetch since the last count what it would have brought without a state.
    private mutating func countFetches() {
        let count = followers.map(\.device.fetchCount).reduce(0, +)
        recordsIfRefetched += (count - countedFetches) * writer.liveCount
        countedFetches = count
    }

    /// A database of which everything follows from the seed: its tokens too, which the journals show.
    private static func databaseInMemory(for options: ReplayOptions, _ clock: ManualClock) -> any RecordDatabase {
        let numbers = SeededNumbers(seed: options.seed)
        let store = InMemoryStore { numbers.next() }
        return database(for: options, in: store, .init(now: { clock.date }, randomness: { numbers.next() }))
    }

    /// A database in `store` under CloudKit's limits, with two exceptions: a page may have as many results as were
    /// asked for, and a file's record as many bytes as its path needs.
    static func database(
        for options: ReplayOptions, in store: any ChangeStore, _ configuration: Container.Configuration = .init()
    ) -> any RecordDatabase {
        var configuration = configuration
        configuration.limits.resultsPerPage = max(configuration.limits.resultsPerPage, options.pageLimit)
        configuration.limits.recordBytes = .max
        configuration.limits.bytesPerRequest = .max
        return Container(identifier: "changefeed.replay", store: store, configuration: configuration)
            .database(.private, for: databaseID.userID)
    }
}
