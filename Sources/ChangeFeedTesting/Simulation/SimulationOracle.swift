import ChangeFeed

/// Watches a simulated server, commit by commit, and knows what may be there.
///
/// Every record of a simulation has four fields: `owner`, the user under whom it was made; `birth`, a name that no other
/// creation has; `log`, the names of all edits that are in it; and `value`. An edit that was in a record's log once and is
/// not any more was lost, unless the record was deleted, or the operator put the store back.
struct SimulationOracle {
    struct LiveRecord {
        let tag: String
        let birth: String
        let log: [String]
    }

    /// What was found to be wrong.
    struct Finding: Error {
        let sentence: String
    }

    private struct View {
        var token: DatabaseChangeToken?
        var zones: [RecordZone.ID: ZoneChangeToken] = [:]
        var live: [Record.ID: LiveRecord] = [:]
        /// Creations that were deleted: they must not come back.
        var dead: Set<String> = []
        /// What was deleted since the store was copied.
        var deletedSinceCopy: Set<Record.ID> = []
        /// What had been deleted since the copy when the store was put back to it, until it has been read again.
        var deletedBefore: Set<Record.ID>?
    }

    private var views: [String: View]
    /// The edits that users made.
    private var made: [(name: String, place: String)] = []
    /// The tags of a history that is no more, for the store was put back. A device that had one from its own save, and
    /// not from a fetch, hears of nothing: its token is from before.
    private(set) var lostTags: Set<String> = []
    /// Creations that a device may try again, because it died or its account changed before it knew the answer.
    private var undecided: Set<String> = []
    /// Records that were deleted in a history that is no more, and are there again: a device that had deleted one itself,
    /// or had heard of it, hears of nothing.
    private(set) var revived: Set<Record.ID> = []
    /// Edits that need not be there any more.
    private var excused: Set<String> = []

    init(users: [String]) {
        views = Dictionary(uniqueKeysWithValues: users.map { ($0, View()) })
    }

    func live(of user: String) -> [Record.ID: LiveRecord] { views[user]?.live ?? [:] }

    var editCount: Int { made.count }

    mutating func edited(_ name: String, _ place: String) { made.append((name, place)) }

    mutating func excuse(_ names: some Sequence<String>) { excused.formUnion(names) }

    // MARK: What a commit has changed

    /// Takes what has changed on the server since the last time. Gives the zones in which something has.
    mutating func take(_ news: News, of user: String) throws(Finding) -> [RecordZone.ID] {
        var view = views[user] ?? View()
        defer { views[user] = view }
        view.token = news.token
        for (zoneID, isGone) in news.zones {
            guard isGone else { continue }
            forget(&view) { $0.zoneID == zoneID }
            view.zones[zoneID] = nil
        }
        for zone in news.pages {
            view.zones[zone.zoneID] = zone.token
            if zone.isComplete {
                let present = Set(zone.modifications.map(\.recordID))
                forget(&view) { $0.zoneID == zone.zoneID && !present.contains($0) }
            }
            for record in zone.modifications { try take(record, of: user, &view, isReread: zone.isComplete) }
            for recordID in zone.deletions {
                guard let old = view.live.removeValue(forKey: recordID) else { continue }
                excused.formUnion(old.log)
                view.dead.insert(old.birth)
                view.deletedSinceCopy.insert(recordID)
            }
        }
        if let deleted = view.deletedBefore { revived.formUnion(deleted.intersection(view.live.keys)) }
        view.deletedBefore = nil
        return news.zones.map(\.0)
    }

    private mutating func take(
        _ record: Record, of user: String, _ view: inout View, isReread: Bool
    ) throws(Finding) {
        let new = LiveRecord(
            tag: record.recordChangeTag ?? "", birth: record["birth"] ?? "", log: record["log"] ?? [])
        let owner: String = record["owner"] ?? ""
        guard owner == user else {
            throw Finding(sentence: "The record \(record.recordID) of \(owner) was saved under \(user).")
        }
        guard Set(new.log).count == new.log.count else {
            throw Finding(sentence: "The record \(record.recordID) has an edit twice: \(new.log).")
        }
        if let old = view.live[record.recordID] {
            if old.birth == new.birth {
                let lost = old.log.filter { !new.log.contains($0) }
                if !lost.isEmpty, !isReread {
                    throw Finding(
                        sentence: "The record \(record.recordID) has lost edits that the server had: \(lost).")
                }
                excused.formUnion(lost)
            } else {
                excused.formUnion(old.log)
                view.dead.insert(old.birth)
                view.deletedSinceCopy.insert(record.recordID)
            }
        }
        if view.dead.contains(new.birth), !undecided.contains(new.birth) {
            throw Finding(sentence: "The record \(record.recordID) was deleted, and is there again (\(new.birth)).")
        }
        view.live[record.recordID] = new
    }

    private mutating func forget(_ view: inout View, where isGone: (Record.ID) -> Bool) {
        for (recordID, record) in view.live where isGone(recordID) {
            excused.formUnion(record.log)
            view.live[recordID] = nil
            view.deletedSinceCopy.insert(recordID)
        }
    }

    /// Creations of which a device does not know whether they reached the server: it may try them again.
    mutating func mayComeBack(_ births: some Sequence<String>) { undecided.formUnion(births) }

    mutating func storeWasCopied() {
        views = views.mapValues { view in
            var view = view
            view.deletedSinceCopy = []
            return view
        }
    }

    /// The operator has put the store back: everything is read anew, and what is missing is nobody's fault.
    ///
    /// - Parameter tags: What the server has given since the copy was taken.
    mutating func storeWasPutBack(losing tags: Set<String>) {
        lostTags.formUnion(tags)
        views = views.mapValues { view in
            var fresh = View()
            fresh.live = view.live
            fresh.deletedBefore = view.deletedSinceCopy
            return fresh
        }
    }

    // MARK: What there is to read

    /// What has changed on a server.
    struct News: Sendable {
        struct Zone: Sendable {
            let zoneID: RecordZone.ID
            var token: ZoneChangeToken?
            /// Whether it was read from the beginning.
            var isComplete: Bool
            var modifications: [Record] = []
            var deletions: [Record.ID] = []
        }

        var token: DatabaseChangeToken?
        var zones: [(RecordZone.ID, isGone: Bool)] = []
        var pages: [Zone] = []
    }

    /// A request for what has changed: to be run where requests may be made.
    func question(of user: String) -> Question {
        let view = views[user] ?? View()
        return Question(token: view.token, zones: view.zones, known: Set(view.live.keys.map(\.zoneID)))
    }

    struct Question: Sendable {
        let token: DatabaseChangeToken?
        let zones: [RecordZone.ID: ZoneChangeToken]
        let known: Set<RecordZone.ID>

        func ask(_ database: Database) async throws(ChangeFeedError) -> News {
            var news = News()
            news.token = token
            var isComplete = token == nil
            var seen: [RecordZone.ID] = []
            while true {
                let page: DatabaseChanges
                do throws(ChangeFeedError) {
                    page = try await database.databaseChanges(DatabaseChangesRequest(since: news.token))
                } catch  where error.code == .changeTokenExpired {
                    news = News()
                    isComplete = true
                    continue
                }
                for deletion in page.deletions { news.zones.append((deletion.zoneID, true)) }
                for zoneID in page.modifications {
                    news.zones.append((zoneID, false))
                    seen.append(zoneID)
                }
                news.token = page.changeToken
                if !page.moreComing { break }
            }
            if isComplete { for zoneID in known.subtracting(seen).sorted() { news.zones.append((zoneID, true)) } }
            for zoneID in seen {
                if let zone = try await read(zoneID, database) { news.pages.append(zone) }
            }
            return news
        }

        private func read(_ zoneID: RecordZone.ID, _ database: Database) async throws(ChangeFeedError) -> News.Zone? {
            var zone = News.Zone(zoneID: zoneID, token: zones[zoneID], isComplete: zones[zoneID] == nil)
            while true {
                do throws(ChangeFeedError) {
                    let page = try await database.recordZoneChanges(
                        ZoneChangesRequest(zoneID: zoneID, since: zone.token))
                    zone.modifications += page.modifications
                    zone.deletions += page.deletions.map(\.recordID)
                    zone.token = page.changeToken
                    if !page.moreComing { return zone }
                } catch {
                    switch error.code {
                    case .changeTokenExpired: zone = News.Zone(zoneID: zoneID, token: nil, isComplete: true)
                    case .zoneNotFound, .userDeletedZone: return nil
                    default: throw error
                    }
                }
            }
        }
    }

    // MARK: In the end

    /// Throws if an edit of a user's has neither reached the server nor is excused. What has reached it is watched there.
    func checkEdits(reached: Set<String>) throws(Finding) {
        for edit in made where !reached.contains(edit.name) && !excused.contains(edit.name) {
            throw Finding(sentence: "The edit \(edit.name) of \(edit.place) was lost: it never reached the server.")
        }
    }
}
