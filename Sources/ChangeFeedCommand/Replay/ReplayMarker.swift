#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How far a zone has come in a history. Each request that writes to the zone carries one, and the zone keeps the latest
/// with what that request wrote (rule FZ12): it never says more than is there, nor less.
struct ReplayMarker: Equatable, Sendable {
    /// The commit that was written last.
    let commitID: String
    /// How many of its changes are written, in the order of `ReplayWriter.batches(of:after:)`; at least 1.
    var written: Int
    /// How many changes it has.
    let changes: Int

    /// Whether all of the commit is written.
    var isWholeCommit: Bool { written == changes }

    init(commitID: String, written: Int, changes: Int) {
        self.commitID = commitID
        self.written = written
        self.changes = changes
    }

    /// What a request carries: the commit, and "written/changes".
    var data: Data { Data("\(commitID) \(written)/\(changes)".utf8) }

    /// A marker from its `data`; nil for any other bytes.
    init?(data: Data) {
        let parts = String(decoding: data, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        let numbers = parts[1].split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let written = numbers[0], let changes = numbers[1], written >= 1, written <= changes
        else { return nil }
        self.init(commitID: String(parts[0]), written: written, changes: changes)
    }
}

/// Where in a history a replay went on.
struct ReplayStart: Equatable, Sendable {
    /// What the zone said.
    let marker: ReplayMarker
    /// The number of the marker's commit in the history, from 1.
    let number: Int

    /// How many commits were written to their end.
    var wholeCommits: Int { marker.isWholeCommit ? number : number - 1 }

    /// How many changes of the commit after these were written.
    var changesOfNext: Int { marker.isWholeCommit ? 0 : marker.written }

    /// The place in one line, of a history of `count` commits.
    func sentence(of count: Int) -> String {
        let place = "commit \(NumberText.grouped(number)) of \(NumberText.grouped(count)), \(marker.commitID)"
        guard !marker.isWholeCommit else { return "resumed after \(place)" }
        return "resumed within \(place), after \(NumberText.grouped(marker.written)) of its "
            + "\(NumberText.grouped(marker.changes)) changes"
    }
}

extension ReplayStart: Encodable {
    private enum CodingKeys: CodingKey {
        case commit, number, changesWritten, changes
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: CodingKeys.self)
        try object.encode(marker.commitID, forKey: .commit)
        try object.encode(number, forKey: .number)
        try object.encode(marker.written, forKey: .changesWritten)
        try object.encode(marker.changes, forKey: .changes)
    }
}
