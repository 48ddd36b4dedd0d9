import ChangeFeed
import Foundation

/// Random reads of a database, and the end of a run.
extension ReferenceRun {
    func readDatabase(_ index: Int) async throws {
        for _ in 1...Int.random(in: 1...3, using: &random) {
            if try await !readDatabasePage(of: index, limit: randomLimit()) { return }
        }
    }

    func readDatabasePage(of index: Int, limit: Int?) async throws -> Bool {
        let (user, token) = (databaseFollowers[index].user, databaseFollowers[index].token)
        note("database follower \(index) reads \(limit ?? 0)\(token == nil ? " from the beginning" : "").")
        guard let page = try await databasePage(of: user, since: token, limit: limit) else {
            databaseFollowers[index] = DatabaseFollower(user: user)
            return false
        }
        for item in page.items {
            if item.deletion != nil { databaseFollowers[index].zones.remove(item.zone) }
            if item.isModified { databaseFollowers[index].zones.insert(item.zone) }
        }
        databaseFollowers[index].token = (page.real.changeToken, page.token)
        return page.real.moreComing
    }

    struct DatabasePage {
        let real: DatabaseChanges
        let items: [ReferenceLog.ZoneItem]
        let token: ReferenceLog.Token
    }

    func databasePage(
        of user: Int, since token: (real: DatabaseChangeToken, reference: ReferenceLog.Token)?, limit: Int?
    ) async throws -> DatabasePage? {
        let expected: Result<ReferenceLog.Answer<ReferenceLog.ZoneItem>, ReferenceLog.Refusal>
        do throws(ReferenceLog.Refusal) {
            expected = .success(try log.databaseChanges(of: user, since: token?.reference))
        } catch {
            expected = .failure(error)
        }
        let real: DatabaseChanges
        do throws(ChangeFeedError) {
            real = try await database(of: user).databaseChanges(since: token?.real, resultsLimit: limit)
        } catch {
            count("database: \(error.code) \(error.detail?.rawValue ?? "")")
            if case .success(let answer) = expected, let detail = error.detail, answer.mayBe.contains(detail) {
                return nil
            }
            guard case .failure(let refusal) = expected else {
                throw Disagreement(description: "reading user \(user): \(error), expected \(expected)")
            }
            try expect(refusal == .init(code: error.code, detail: error.detail), "\(error), expected \(refusal)")
            return nil
        }
        guard case .success(let answer) = expected else {
            throw Disagreement(description: "reading user \(user): \(real.story), expected \(expected)")
        }
        let most = min(limit.flatMap { $0 == 0 ? nil : $0 } ?? .max, settings.resultsPerPage)
        let items = answer.items.prefix(most).map(\.item)
        let words = items.flatMap { item in
            (item.deletion.map { ["-\(zoneID(item.zone).zoneName) (\($0))"] } ?? [])
                + (item.isModified ? ["+\(zoneID(item.zone).zoneName)"] : [])
        }
        try expect(real.story == words, "\(real.story), expected \(words)")
        try expect(real.moreComing == (items.count < answer.items.count), "moreComing is \(real.moreComing)")
        let page = DatabasePage(real: real, items: items, token: answer.token(after: items.count, in: log))
        if chance(40) {
            oldDatabaseTokens.append((user, real.changeToken, page.token))
            if oldDatabaseTokens.count > 40 { oldDatabaseTokens.remove(at: Int.random(in: 0..<40, using: &random)) }
        }
        return page
    }

    // MARK: The end

    /// At the end each follower has what the server has.
    func finish() async throws {
        note("finish.")
        for zone in ReferenceRun.zones { try await compareLookups(in: zone) }
        for index in followers.indices {
            var pages = 0
            while true {
                pages += 1
                try expect(pages < 1_000, "follower \(index) reads for ever")
                let before = followers[index].token?.real
                if try await readPage(of: index, limit: 3) { continue }
                // Dropped: once more from the beginning, unless there is no zone
                if followers[index].token?.real == nil, before != nil { continue }
                break
            }
            let state = log.state(of: followers[index].zone)
            guard state.incarnation != nil else { continue }
            let expected = log.living(in: state).mapValues(\.serial)
            let copy = followers[index].copy
            try expect(copy == expected, "follower \(index) has \(copy), not \(expected)")
        }
        for index in databaseFollowers.indices {
            while true {
                let before = databaseFollowers[index].token?.real
                if try await readDatabasePage(of: index, limit: 1) { continue }
                if databaseFollowers[index].token?.real == nil, before != nil { continue }
                break
            }
            let living = ReferenceRun.zones.filter { zone in
                zone.user == databaseFollowers[index].user && !zone.isDefault && log.state(of: zone).incarnation != nil
            }
            try expect(
                databaseFollowers[index].zones == Set(living),
                "database follower \(index) has \(databaseFollowers[index].zones), not \(living)")
        }
    }
}
