import ChangeFeed
import Foundation

/// Random reads, and what both sides say of them.
extension ReferenceRun {
    // MARK: Pages of a zone

    /// A follower reads a page or several, and perhaps stops midway.
    func read(_ index: Int) async throws {
        for _ in 1...Int.random(in: 1...4, using: &random) {
            if try await !readPage(of: index, limit: randomLimit()) { return }
        }
    }

    func randomLimit() -> Int? {
        [nil, 0, 1, 2, 3, 7, 200].randomElement(using: &random) ?? nil
    }

    /// Whether there is more. A follower that is told that its token expired drops all it has.
    func readPage(of index: Int, limit: Int?) async throws -> Bool {
        let (zone, token) = (followers[index].zone, followers[index].token)
        note("follower \(index) reads \(limit ?? 0)\(token == nil ? " from the beginning" : "").")
        guard let page = try await page(of: zone, since: token, limit: limit) else {
            if log.absence(of: log.state(of: zone)) == nil || chance(50) {
                followers[index].token = nil
                followers[index].copy = [:]
            }
            return false
        }
        for item in page.items {
            switch item {
            case .modified(let record, let version): followers[index].copy[record] = version.serial
            case .deleted(let record, _, _): followers[index].copy[record] = nil
            }
        }
        followers[index].token = (page.real.changeToken, page.token)
        return page.real.moreComing
    }

    struct Page {
        let real: ZoneChanges
        let items: [ReferenceLog.Item]
        let token: ReferenceLog.Token
    }

    /// A page that both sides agree on; nil if they agree that there is none.
    private func page(
        of zone: Zone, since token: (real: ZoneChangeToken, reference: ReferenceLog.Token)?, limit: Int?
    ) async throws -> Page? {
        let expected: Result<ReferenceLog.Answer<ReferenceLog.Item>, ReferenceLog.Refusal>
        do throws(ReferenceLog.Refusal) {
            expected = .success(try log.zoneChanges(in: zone, since: token?.reference))
        } catch {
            expected = .failure(error)
        }
        let real: ZoneChanges
        do throws(ChangeFeedError) {
            real = try await database(of: zone.user)
                .recordZoneChanges(inZoneWith: zoneID(zone), since: token?.real, resultsLimit: limit)
        } catch {
            count("\(error.code) \(error.detail?.rawValue ?? "")")
            if case .success(let answer) = expected, let detail = error.detail, answer.mayBe.contains(detail) {
                return nil
            }
            guard case .failure(let refusal) = expected else {
                throw Disagreement(description: "reading \(zone): \(error), expected \(expected)")
            }
            try expect(refusal == .init(code: error.code, detail: error.detail), "\(error), expected \(refusal)")
            return nil
        }
        guard case .success(let answer) = expected else {
            throw Disagreement(description: "reading \(zone): \(real.story), expected \(expected)")
        }

        let count = real.changes.count
        try expect(count <= answer.items.count, "\(real.story), expected \(answer.items.map(\.item))")
        for (change, expected) in zip(real.changes, answer.items) { try compare(change, with: expected.item, in: zone) }
        let most = min(limit.flatMap { $0 == 0 ? nil : $0 } ?? .max, settings.resultsPerPage, answer.items.count)
        try compareLength(of: real, most: most, with: answer.items.map(\.item))
        try expect(
            real.moreComing == (count < answer.items.count),
            "moreComing is \(real.moreComing) after \(count) of \(answer.items.count)")
        try expect(
            real.clientChangeTokenData == log.markers[zone].map { Data($0.utf8) },
            "the marker is not \(String(describing: log.markers[zone]))")

        let page = Page(
            real: real, items: answer.items.prefix(count).map(\.item), token: answer.token(after: count, in: log))
        for case (.modified(let record), .modified(let number, let version)) in zip(real.changes, page.items) {
            if chance(30) { hold(record, version, number, in: zone) }
        }
        if chance(40) {
            oldTokens.append((zone, real.changeToken, page.token))
            if oldTokens.count > 60 { oldTokens.remove(at: Int.random(in: 0..<60, using: &random)) }
        }
        return page
    }

    /// Rules 6.3.3 and 6.3.4: as many items as the limit allows, unless the bound on bytes ends the page. How many
    /// bytes an item has is the feed's own affair, within reason.
    private func compareLength(of page: ZoneChanges, most: Int, with items: [ReferenceLog.Item]) throws {
        func fieldBytes(_ item: ReferenceLog.Item) -> Int {
            guard case .modified(_, let version) = item else { return 0 }
            return version.fields.values.reduce(0) { sum, value in
                if case .text(let text) = value { sum + text.utf8.count } else { sum }
            }
        }
        let count = page.changes.count
        try expect(count <= most, "\(count) items where \(most) are allowed")
        try expect(count > 0 || items.isEmpty, "an empty page, where there are \(items)")
        let bytes = items.prefix(count).reduce(0) { $0 + fieldBytes($1) }
        try expect(count < 2 || bytes <= settings.bytesPerPage, "\(bytes) bytes of fields in a page of \(count) items")
        if count < most {
            let withNext = items.prefix(count + 1).reduce(0) { $0 + fieldBytes($1) + 400 }
            try expect(withNext > settings.bytesPerPage, "a page of \(count), \(most) are allowed, \(bytes) bytes")
        }
    }

    private func compare(_ change: ZoneChanges.Change, with expected: ReferenceLog.Item, in zone: Zone) throws {
        switch (change, expected) {
        case (.modified(let record), .modified(let number, let version)):
            try compare(record, with: version, of: number, in: zone)
        case (.deleted(let deletion), .deleted(let number, let last, let isCascaded)):
            count(isCascaded ? "cascaded" : "deleted")
            try expect(
                deletion.recordID == recordID(number, in: zone) && deletion.recordType == "Note"
                    && deletion.recordChangeTag == tags[last.serial]
                    && deletion.reason == (isCascaded ? .cascaded : .deleted),
                "\(deletion), expected \(expected)")
        default:
            throw Disagreement(description: "\(change), expected \(expected)")
        }
    }

    func compare(_ record: Record, with version: ReferenceLog.Version, of number: Int, in zone: Zone) throws {
        var fields: [String: ReferenceLog.Value] = [:]
        for field in record {
            switch field.value {
            case .string(let text): fields[field.key] = .text(text)
            case .reference(let reference):
                let target = self.number(of: reference.recordID)
                fields[field.key] = reference.action == .deleteSelf ? .owner(target) : .link(target)
            default: throw Disagreement(description: "\(field) in \(record.recordID)")
            }
        }
        try expect(
            record.recordID == recordID(number, in: zone) && fields == version.fields
                && record.parent.map { self.number(of: $0.recordID) } == version.parent,
            "\(record.recordID) with \(fields) under \(String(describing: record.parent?.recordID)), expected \(version)"
        )
        try expect(record.recordChangeTag == tags[version.serial], "\(record.recordID) has another tag")
        try expect(
            record.creationDate == version.creationDate,
            "\(record.recordID) was created \(String(describing: record.creationDate)), not \(version.creationDate)")
        try expect(record.changedKeys.isEmpty, "\(record.recordID) has changed keys, \(record.changedKeys)")
    }

    // MARK: Old tokens and lookups

    func presentAnOldToken() async throws {
        if chance(35), let old = oldDatabaseTokens.randomElement(using: &random) {
            note("old database token.")
            _ = try await databasePage(of: old.user, since: (old.real, old.reference), limit: randomLimit())
        } else if let old = oldTokens.randomElement(using: &random) {
            note("old token of zone \(old.zone.name).")
            _ = try await page(of: old.zone, since: (old.real, old.reference), limit: randomLimit())
        }
    }

    func lookUp() async throws {
        let zone = ReferenceRun.zones[Int.random(in: ReferenceRun.zones.indices, using: &random)]
        note("look up zone \(zone.name).")
        try await compareLookups(in: zone)
    }

    func compareLookups(in zone: Zone) async throws {
        let ids = (0..<ReferenceRun.recordCount).map { recordID($0, in: zone) }
        let results = try await database(of: zone.user).records(for: ids)
        let state = log.state(of: zone)
        for (number, id) in ids.enumerated() {
            let version = log.absence(of: state) == nil ? log.version(of: number, in: state) : nil
            switch (results[id], version) {
            case (.success(let record), let version?): try compare(record, with: version, of: number, in: zone)
            case (.failure(let error), nil):
                let code = log.absence(of: state)?.code ?? .unknownItem
                try expect(error.code == code, "looking up \(id): \(error), expected \(code)")
            case (let result, let version):
                let (result, version) = (String(describing: result), String(describing: version))
                throw Disagreement(description: "looking up \(id): \(result), expected \(version)")
            }
        }
    }
}
