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
        /// The serial at the furthest place that the reader knows of: another there is another history.
        var seal: Int

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
        /// Whether the feed may also say that the token has expired: a deletion was discarded that the reader was told
        /// of by an earlier page of the same read, which the rules leave open.
        var mayHaveExpired = false

        /// The token of a page with so many of the items.
        func token(after count: Int, in log: ReferenceLog) -> Token {
            let position = count < items.count ? items[count - 1].position : end
            var token = Token(incarnation: incarnation, position: position, start: nil, seal: 0)
            if let start, position < start || incarnation == nil && count < items.count { token.start = start }
            token.seal = token.reach == 0 ? 0 : log.entry(at: token.reach).serial
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
        if flaw == .restoresAreForgotten { return token.reach <= entries.count }
        if token.reach == 0 { return true }
        return token.reach <= entries.count && entry(at: token.reach).serial == token.seal
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
            items: items, incarnation: state.incarnation, start: start, end: max(after, state.lastPosition))
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
            items: items, incarnation: nil, start: start, end: max(after, head), mayHaveExpired: start < horizon)
    }
}
