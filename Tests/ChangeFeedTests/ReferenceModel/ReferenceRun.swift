import ChangeFeed
import Foundation

/// One run of the feed beside its reference: random steps, each answer compared with what the log says.
///
/// Everything comes from the seed, so a disagreement can be looked at again.
final class ReferenceRun {
    struct Settings: CustomStringConvertible {
        var seed: UInt64
        var steps = 120
        var resultsPerPage = 200
        var bytesPerPage = 2_000_000
        var retention = RetentionPolicy.forever
        var flaw: ReferenceLog.Flaw?

        /// Limits and retention that go with a seed.
        init(seed: UInt64, flaw: ReferenceLog.Flaw? = nil) {
            var random = FeedFixture.Random(seed: seed &* 31)
            self.seed = seed
            self.flaw = flaw
            resultsPerPage = [1, 2, 3, 7, 200].randomElement(using: &random) ?? 200
            bytesPerPage = [1, 300, 1_000, 2_000_000].randomElement(using: &random) ?? 2_000_000
            retention =
                [
                    .forever, RetentionPolicy(maximumAge: .seconds(2_000), maximumTombstonesPerZone: nil),
                    RetentionPolicy(maximumAge: nil, maximumTombstonesPerZone: 3),
                    RetentionPolicy(maximumAge: .seconds(1_500), maximumTombstonesPerZone: 2),
                ].randomElement(using: &random) ?? .forever
        }

        var description: String {
            "seed \(seed), \(steps) steps, pages of \(resultsPerPage) items and \(bytesPerPage) bytes, \(retention)"
        }
    }

    /// The feed and its reference do not say the same.
    struct Disagreement: Error, CustomStringConvertible {
        let description: String
    }

    typealias Zone = ReferenceLog.Zone

    /// A record as some client has it.
    struct Held {
        let zone: Zone
        let number: Int
        let record: Record
        let version: ReferenceLog.Version
    }

    /// A device that follows a zone.
    struct Follower {
        let zone: Zone
        var token: (real: ZoneChangeToken, reference: ReferenceLog.Token)?
        /// The serials of the versions it has, by record.
        var copy: [Int: Int] = [:]
    }

    /// A device that follows a database.
    struct DatabaseFollower {
        let user: Int
        var token: (real: DatabaseChangeToken, reference: ReferenceLog.Token)?
        var zones: Set<Zone> = []
    }

    static let recordCount = 7
    static let zones =
        [0, 1, 2, 3].map { Zone(user: 0, name: $0) } + [Zone(user: 1, name: 1)]

    let settings: Settings
    var random: FeedFixture.Random
    var feed: FeedFixture
    var log = ReferenceLog()
    /// The tag of each version, by its serial.
    var tags: [Int: String] = [:]
    var knownTags: Set<String> = []
    var held: [Held] = []
    var followers: [Follower]
    var databaseFollowers: [DatabaseFollower]
    var oldTokens: [(zone: Zone, real: ZoneChangeToken, reference: ReferenceLog.Token)] = []
    var oldDatabaseTokens: [(user: Int, real: DatabaseChangeToken, reference: ReferenceLog.Token)] = []
    private var snapshots: [(real: any StoreSnapshot, reference: ReferenceLog)] = []
    /// What was done last, for the message of a disagreement.
    private var story: [String] = []
    /// How often each kind of thing came about, for a look at whether the steps reach everything.
    var counts: [String: Int] = [:]

    init(_ settings: Settings) {
        self.settings = settings
        random = FeedFixture.Random(seed: settings.seed)
        log.flaw = settings.flaw
        followers = ReferenceRun.zones.filter { !$0.isDefault }.flatMap { [Follower(zone: $0), Follower(zone: $0)] }
        databaseFollowers = [0, 0, 1].map { DatabaseFollower(user: $0) }
        feed = FeedFixture(randomness: Locked(FeedFixture.Random(seed: settings.seed &+ 1))) {
            ReferenceRun.configure(&$0, settings)
        }
    }

    private static func configure(_ configuration: inout Container.Configuration, _ settings: Settings) {
        configuration.limits.resultsPerPage = settings.resultsPerPage
        configuration.limits.bytesPerPage = settings.bytesPerPage
        configuration.retention = settings.retention
    }

    func run() async throws {
        do {
            for step in 1...settings.steps {
                feed.clock.advance(by: Double(Int.random(in: 0...60, using: &random)))
                note("step \(step):")
                try await self.step()
            }
            try await finish()
        } catch let disagreement as Disagreement {
            throw Disagreement(
                description: "\(disagreement)\n"
                    + "Reproduce with ReferenceRun.Settings(seed: \(settings.seed)): \(settings)\n"
                    + "The last steps: " + story.suffix(30).joined(separator: " "))
        }
    }

    private func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<46: try await modify()
        case 46..<68: try await read(Int.random(in: followers.indices, using: &random))
        case 68..<76: try await readDatabase(Int.random(in: databaseFollowers.indices, using: &random))
        case 76..<83: try await presentAnOldToken()
        case 83..<86: try await lookUp()
        case 86..<91: try await changeAZone()
        case 91..<95: try await compact(steps: Int.random(in: 1...3, using: &random))
        case 95: try await compactToTheEnd()
        case 96: try await takeASnapshot()
        case 97: try await restore()
        default: reopen()
        }
    }

    func note(_ what: String) {
        story.append(what)
    }

    func count(_ what: String) {
        counts[what, default: 0] += 1
    }

    func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw Disagreement(description: message()) }
    }

    func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    // MARK: Names

    func database(of user: Int) -> Database { feed.database(of: "user\(user)") }

    func zoneID(_ zone: Zone) -> RecordZone.ID {
        zone.isDefault ? .default : RecordZone.ID(zoneName: "Z\(zone.name)")
    }

    func recordID(_ number: Int, in zone: Zone) -> Record.ID {
        Record.ID(recordName: "r\(number)", zoneID: zoneID(zone))
    }

    func number(of recordID: Record.ID) -> Int { Int(recordID.recordName.dropFirst()) ?? -1 }

    // MARK: Backups and restarts

    private func takeASnapshot() async throws {
        note("snapshot.")
        snapshots.append((try await feed.snapshot(), log))
        if snapshots.count > 3 { snapshots.removeFirst() }
    }

    private func restore() async throws {
        guard let snapshot = snapshots.randomElement(using: &random) else { return }
        note("restore.")
        count("restore")
        try await feed.container.restoreFromSnapshot(snapshot.real)
        log = snapshot.reference
    }

    private func reopen() {
        note("reopen.")
        feed = feed.reconfigured { ReferenceRun.configure(&$0, settings) }
    }
}
