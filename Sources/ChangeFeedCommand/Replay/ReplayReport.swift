#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a replay counted and what it found.
struct ReplayReport: Equatable, Sendable {
    /// Where the replay went on; nil where it began with the first commit. All counts but that of commits are of what
    /// came after.
    var start: ReplayStart?
    /// How many commits are in the feed.
    var commits: Int
    /// Records saved, each time that they were.
    var saves: Int
    var deletes: Int
    /// Pages of zone changes that the two following devices fetched.
    var pages: Int
    /// Modifications and deletions on these pages.
    var recordsFetched: Int
    /// What the two would have fetched without tokens: the live records at each of their fetches, summed.
    var recordsIfRefetched: Int
    /// How many fetches the two made, by the trigger, as in `SyncEngine.TriggerKind`; "call" for those at the end.
    var fetches: [String: Int]
    /// The time that writing and fetching took, without reading the history and without drawing.
    var seconds: Double
    var differences: [ReplayDifference]

    var isVerified: Bool { differences.isEmpty }

    var recordsPerSecond: Double {
        seconds > 0 ? Double(saves + deletes) / seconds : 0
    }

    /// What the devices fetch for, and what it is called.
    private static let triggers = [
        ("launch", "fetches after a launch"), ("push", "fetches after a hint"), ("periodic", "fetches after a silence"),
        ("call", "fetches that were called for"),
    ]

    /// The most differences that `text` lists.
    static let listedDifferences = 20

    /// The report as a person reads it: where it went on, a table, and then the verdict.
    var text: String {
        var table = Table()
        table.add("commits", commits)
        table.add("saves", saves)
        table.add("deletes", deletes)
        table.add("pages", pages)
        table.add("records fetched incrementally", recordsFetched)
        table.add("records if everything were refetched", recordsIfRefetched)
        for (trigger, name) in Self.triggers { table.add(name, fetches[trigger] ?? 0) }
        table.add("refetched / incremental", Double(recordsIfRefetched) / Double(recordsFetched), places: 1)
        table.add("seconds", seconds, places: 3)
        table.add("records/s", recordsPerSecond, places: 0)
        return (start.map { $0.sentence(of: commits) + "\n" } ?? "") + table.text + verdict
    }

    private var verdict: String {
        if isVerified { return "verified\n" }
        var lines = [differences.count == 1 ? "1 difference:" : "\(NumberText.grouped(differences.count)) differences:"]
        lines += differences.prefix(Self.listedDifferences).map { "  " + $0.sentence }
        if differences.count > Self.listedDifferences {
            lines.append("  and \(NumberText.grouped(differences.count - Self.listedDifferences)) more")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The report as one JSON object on one line.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
    }
}

extension ReplayReport: Encodable {
    private enum CodingKeys: CodingKey {
        case verified, differences, fetches, commits, saves, deletes, pages, recordsFetched, recordsIfRefetched, seconds
        case recordsPerSecond, resumed
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: CodingKeys.self)
        try object.encode(isVerified, forKey: .verified)
        try object.encode(differences, forKey: .differences)
        try object.encode(start, forKey: .resumed)
        try object.encode(commits, forKey: .commits)
        try object.encode(saves, forKey: .saves)
        try object.encode(deletes, forKey: .deletes)
        try object.encode(pages, forKey: .pages)
        try object.encode(recordsFetched, forKey: .recordsFetched)
        try object.encode(recordsIfRefetched, forKey: .recordsIfRefetched)
        try object.encode(fetches, forKey: .fetches)
        try object.encode(seconds, forKey: .seconds)
        try object.encode(recordsPerSecond, forKey: .recordsPerSecond)
    }
}
