import XCTest

@testable import ChangeFeed

/// B101: tokens with a good check value and absurd content. The feed answers with a typed error or an honest page;
/// it never traps, and never says "nothing new" to a position that it never gave.
final class ForgedTokenTests: XCTestCase {
    private struct Forgery {
        let story: String
        let content: TokenContent
    }

    /// Everything that a position can be made to say, starting from a real token.
    private func forgeries(of real: TokenContent) -> [Forgery] {
        func forged(
            _ story: String, epoch: UInt64? = nil, position: ChangePosition? = nil,
            incarnation: ChangePosition? = nil, start: ChangePosition?? = nil
        ) -> Forgery {
            Forgery(
                story: story,
                content: TokenContent(
                    kind: real.kind, storeID: real.storeID, feedDigest: real.feedDigest, epoch: epoch ?? real.epoch,
                    position: position ?? real.position, incarnation: incarnation ?? real.incarnation,
                    start: start ?? real.start))
        }
        let last = ChangePosition(high: .max, low: .max)
        let ahead = ChangePosition(high: real.position.high, low: real.position.low + 1)
        return [
            forged("the last position there is", position: last),
            forged("the last low half", position: ChangePosition(low: .max)),
            forged("a high half", position: ChangePosition(high: 1, low: 0)),
            forged("one past the head", position: ahead),
            forged("a start at the last position", start: .some(last)),
            forged("a start one past the head", start: .some(ahead)),
            forged("an unknown epoch", epoch: real.epoch ^ 1),
            forged("no epoch", epoch: 0),
            forged("the last epoch", epoch: .max),
            forged("the beginning with an epoch", position: .beginning, start: .some(nil)),
        ]
    }

    func testB101_aForgedZoneTokenHasExpired() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.fill(zone, count: 5)
            let real = try tokenContent([UInt8](try await feed.token(of: zone).data))
            for forgery in forgeries(of: real) {
                let token = try ZoneChangeToken(data: ZoneChangeToken(forgery.content).data)
                await expectError(.changeTokenExpired, detail: .historyReset, zoneID: zone, forgery.story) {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)
                }
            }
        }
    }

    func testB101_aForgedDatabaseTokenHasExpired() async throws {
        try await forEachStore { feed in
            for name in ["A", "B"] { try await feed.makeZone(name) }
            let real = try tokenContent([UInt8](try await feed.databaseToken().data))
            for forgery in forgeries(of: real) {
                let token = try DatabaseChangeToken(data: DatabaseChangeToken(forgery.content).data)
                await expectError(.changeTokenExpired, detail: .historyReset, forgery.story) {
                    try await feed.database.databaseChanges(since: token)
                }
            }
        }
    }

    func testB101_aForgedIncarnationIsAnotherLifeOfTheZone() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", in: zone)
            let real = try tokenContent([UInt8](try await feed.token(of: zone).data))
            for incarnation in [ChangePosition.beginning, real.position, ChangePosition(high: .max, low: .max)] {
                let content = TokenContent(
                    kind: .zone, storeID: real.storeID, feedDigest: real.feedDigest, epoch: real.epoch,
                    position: real.position, incarnation: incarnation, start: nil)
                await expectError(.changeTokenExpired, detail: .zoneRecreated, zoneID: zone, "\(incarnation)") {
                    try await feed.database.recordZoneChanges(inZoneWith: zone, since: ZoneChangeToken(content))
                }
            }
        }
    }

    /// A start before the position adds nothing: the read that it belonged to is over.
    func testB101_aStartBehindThePositionHidesNoDeletion() async throws {
        try await forEachStore { feed in
            let zone = try await feed.makeZone()
            try await feed.save("a", "b", in: zone)
            let real = try tokenContent([UInt8](try await feed.token(of: zone).data))
            try await feed.delete("a", in: zone)
            let content = TokenContent(
                kind: .zone, storeID: real.storeID, feedDigest: real.feedDigest, epoch: real.epoch,
                position: real.position, incarnation: real.incarnation, start: real.incarnation)
            let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: ZoneChangeToken(content))
            XCTAssertEqual(page.story, ["-a"])
        }
    }
}
