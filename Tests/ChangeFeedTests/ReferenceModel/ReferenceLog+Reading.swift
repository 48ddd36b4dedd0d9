import ChangeFeed
import Foundation

/// Sections 6.2 to 6.5 the slow way.
extension ReferenceLog {
    /// What a token says: a place in a log, and what stood there.
    struct Token: Equatable {
        /// The serial of the zone's creation; nil for a database.
        var incarnation: Int?
        var position: Int
        /// Where a read began that is not done: a zone's first read, or any of a database.
        var start: Int?
        /// The place of the latest event of the zone or database when the token was given, and the serial there:
        /// another serial there is another history. The token's own position would not do. A record that a later
        /// event had moved behind the page was not in it; put back to before that event, it is where the token has
        /// passed already.
        var seen = 0
        var seal = 0
        /// As `seen` and `seal`, of all zones and databases.
        var given = 0
        var givenSeal = 0

        var reach: Int { max(position, start ?? 0) }
    }

    /// Why a request for changes is refused.
    struct Refusal: Error, Equatable {
        let code: ChangeFeedError.Code
        let detail: ChangeFeedError.Detail?

        static func expired(_ detail: ChangeFeedError.Detail) -> Refusal {
            Refusal(code: .changeTokenExpired, detail: detail)
        }
    }

    /// One item of a zone's feed.
    enum Item: Equatable {
        case modified(record: Int, Version)
        case deleted(record: Int, last: Version, isCascaded: Bool)
    }

    /// One item of a database's feed; both parts for a zone that was deleted and created again.
    struct ZoneItem: Equatable {
        var deletion: DatabaseChanges.Deletion.Reason?
        var isModified: Bool
        let zone: Zone
    }

    /// Everything that is left to tell, whatever the page limit: items with their positions.
    struct Answer<Element> {
        var items: [(position: Int, item: Element)]
        fileprivate var incarnation: Int?
        fileprivate var start: Int?
        fileprivate var end: Int
        /// What the feed may also say of the token, where the rules leave it open. `expired`: a deletion was discarded
        /// that the reader was told of by an earlier page of the same read. `historyReset`: the token was given in a
        /// history that is no more, but what it was asked for was the same in that.
        var mayBe: Set<ChangeFeedError.Detail> = []

        /// The token of a page with so many of the items.
        func token(after count: Int, in log: ReferenceLog) -> Token {
            let position = count < items.count ? items[count - 1].position : end
            var token = Token(incarnation: incarnation, position: position)
            if let start, position < start || incarnation == nil && count < items.count { token.start = start }
            token.seen = end
            token.seal = end == 0 ? 0 : log.entry(at: end).serial
            token.given = log.entries.count
            token.givenSeal = log.entries.last?.serial ?? 0
            return token
        }
    }

    /// Why a zone cannot be used; nil if it can.
    func absence(of state: ZoneState) -> Refusal? {
        if state.incarnation != nil { return nil }
        if let end = toldEnd(of: state), case .zoneEnded(let reason) = entry(at: end).event {
            switch reason {
            case .purged: return Refusal(code: .userDeletedZone, detail: nil)
            case .encryptedDataReset: return Refusal(code: .zoneNotFound, detail: .encryptedDataReset)
            case .deleted, .accessRevoked: break
            }
        }
        return Refusal(code: .zoneNotFound, detail: nil)
    }

    private func isOfThisHistory(_ token: Token) -> Bool {
        flaw == .restoresAreForgotten || has(token.seal, at: token.seen)
    }

    private func has(_ serial: Int, at position: Int) -> Bool {
        position == 0 || position <= entries.count && entry(at: position).serial == serial
    }

    /// What the feed may also say of a token that is good.
    private func openQuestions(_ token: Token?) -> Set<ChangeFeedError.Detail> {
        guard let token, !has(token.givenSeal, at: token.given) else { return [] }
        return [.historyReset]
    }

    func zoneChanges(in zone: Zone, since token: Token?) throws(Refusal) -> Answer<Item> {
        let state = state(of: zone)
        if let refusal = absence(of: state) { throw refusal }
        if let token {
            guard isOfThisHistory(token) else { throw .expired(.historyReset) }
            if token.incarnation != state.incarnation, flaw != .recreatedZonesAreTheSame {
                throw .expired(.zoneRecreated)
            }
            if token.reach < lastDiscarded(in: zone), flaw != .tokensNeverExpire { throw .expired(.expired) }
        }
        let after = token?.position ?? 0
        let start = token == nil ? state.lastPosition : token?.start
        let reach = flaw == .firstReadsTellOldDeletions ? after : max(after, start ?? 0)

        var items: [(position: Int, item: Item)] = []
        for position in state.records.values.sorted() where position > after {
            switch entry(at: position).event {
            case .saved(let record, let version):
                items.append((position, .modified(record: record, version)))
            case .deleted(let record, let last, let isCascaded):
                if position > reach, !discarded.contains(entry(at: position).serial) {
                    items.append((position, .deleted(record: record, last: last, isCascaded: isCascaded)))
                }
            case .zoneCreated, .zoneEnded: break
            }
        }
        return Answer(
            items: items, incarnation: state.incarnation, start: start, end: max(after, state.lastPosition),
            mayBe: openQuestions(token))
    }

    /// The latest deletion of the zone's present life that was discarded, whatever became of its record since.
    private func lastDiscarded(in zone: Zone) -> Int {
        var last = 0
        for (index, entry) in entries.enumerated() where entry.zone == zone {
            switch entry.event {
            case .zoneCreated, .zoneEnded: last = 0
            case .deleted: if discarded.contains(entry.serial) { last = index + 1 }
            case .saved: break
            }
        }
        return last
    }

    func databaseChanges(of user: Int, since token: Token?) throws(Refusal) -> Answer<ZoneItem> {
        let after = token?.position ?? 0
        var (head, horizon, isAnyLost) = (0, 0, false)
        // Deletions up to here the reader knows of, or never needed. A read keeps this to its end: a zone may have come
        // back, and so far behind its deletion that the next page is asked for from in between (6.5).
        let known = token.map { $0.start ?? $0.position }
        for (index, entry) in entries.enumerated() where entry.zone.user == user {
            head = index + 1
            guard case .zoneEnded = entry.event, discarded.contains(entry.serial) else { continue }
            horizon = index + 1
            let state = state(of: entry.zone)
            if let known, index + 1 > known, state.lastPosition > after, toldEnd(of: state) == nil { isAnyLost = true }
        }
        if let token {
            guard isOfThisHistory(token) else { throw .expired(.historyReset) }
            if token.reach < horizon || isAnyLost, flaw != .tokensNeverExpire { throw .expired(.expired) }
        }
        let start = known ?? head
        let reach = token == nil && flaw == .firstReadsTellOldDeletions ? 0 : start

        var items: [(position: Int, item: ZoneItem)] = []
        for zone in zones where zone.user == user && !zone.isDefault {
            let state = state(of: zone)
            guard state.lastPosition > after else { continue }
            var item = ZoneItem(deletion: nil, isModified: state.incarnation != nil, zone: zone)
            if let end = toldEnd(of: state), end > reach, case .zoneEnded(let reason) = entry(at: end).event {
                item.deletion = reason
            }
            if item.isModified || item.deletion != nil { items.append((state.lastPosition, item)) }
        }
        items.sort { $0.position < $1.position }
        return Answer(
            items: items, incarnation: nil, start: start, end: max(after, head),
            mayBe: openQuestions(token).union(start < horizon ? [.expired] : []))
    }
}
