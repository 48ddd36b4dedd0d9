import ChangeFeed
import XCTest

/// Whatever happens and whenever they read, devices that follow the feed end with what the server has.
final class ConvergenceTests: XCTestCase {
    /// A device that follows a database one page at a time and does what each answer asks of it.
    private struct Device {
        let pageSize: Int
        var databaseToken: DatabaseChangeToken?
        var zoneTokens: [RecordZone.ID: ZoneChangeToken] = [:]
        var copies: [RecordZone.ID: LocalCopy] = [:]
        var unread: [RecordZone.ID] = []
        var expirations = 0

        /// Reads one page; returns whether more is known to be there.
        mutating func step(on database: Database) async throws -> Bool {
            if let zone = unread.first { return try await readPage(of: zone, on: database) }
            do throws(ChangeFeedError) {
                let page = try await database.databaseChanges(since: databaseToken, resultsLimit: pageSize)
                databaseToken = page.changeToken
                for change in page.changes {
                    switch change {
                    case .deleted(let deletion): forget(deletion.zoneID)
                    case .modified(let zone): if !unread.contains(zone) { unread.append(zone) }
                    }
                }
                return page.moreComing || !unread.isEmpty
            } catch {
                XCTAssertEqual(error.code, .changeTokenExpired, "\(error)")
                self = Device(pageSize: pageSize, expirations: expirations + 1)
                return true
            }
        }

        private mutating func readPage(of zone: RecordZone.ID, on database: Database) async throws -> Bool {
            do throws(ChangeFeedError) {
                let page = try await database.recordZoneChanges(
                    inZoneWith: zone, since: zoneTokens[zone], resultsLimit: pageSize)
                zoneTokens[zone] = page.changeToken
                copies[zone, default: LocalCopy()].apply(page)
                if !page.moreComing { unread.removeFirst() }
            } catch {
                switch error.code {
                case .changeTokenExpired:
                    (zoneTokens[zone], copies[zone]) = (nil, nil)
                    expirations += 1
                case .zoneNotFound, .userDeletedZone: forget(zone)
                default: throw error
                }
            }
            return true
        }

        private mutating func forget(_ zone: RecordZone.ID) {
            (zoneTokens[zone], copies[zone]) = (nil, nil)
            unread.removeAll { $0 == zone }
        }
    }

    private func converge(seed: UInt64, on feed: FeedFixture, isDiscarding: Bool) async throws -> Int {
        var random = FeedFixture.Random(seed: seed)
        var server: [RecordZone.ID: LocalCopy] = [:]
        var devices = [1, 2, 3, 50].map { Device(pageSize: $0) }
        let zones = ["A", "B", "C"].map { RecordZone.ID(zoneName: $0) }

        for step in 0..<250 {
            let zone = zones[Int.random(in: 0..<3, using: &random)]
            let name = "r\(Int.random(in: 1...9, using: &random))"
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9 where server[zone] != nil:
                try await feed.save(name, title: "\(step)", in: zone)
                server[zone]?.titles[name] = "\(step)"
            case 9..<16 where server[zone] != nil:
                try await feed.delete(name, in: zone)
                server[zone]?.titles[name] = nil
            case 16 where server[zone] != nil:
                try await feed.deleteZone(zone)
                server[zone] = nil
            case 17 where server[zone] != nil:
                try await feed.container.purgeZone(zone, for: FeedFixture.userID)
                server[zone] = nil
            case 18 where isDiscarding && server[zone] != nil: try await feed.discardRecordTombstones(of: zone)
            case 19 where isDiscarding && step % 5 == 0: try await feed.discardZoneTombstones()
            default:
                if server[zone] == nil { server[zone] = LocalCopy() }
                try await feed.makeZone(zone.zoneName)
            }
            let reader = Int.random(in: 0..<devices.count * 2, using: &random)
            if reader < devices.count { _ = try await devices[reader].step(on: feed.database) }
        }

        for index in devices.indices {
            var steps = 0
            while try await devices[index].step(on: feed.database) {
                steps += 1
                if steps > 2_000 { XCTFail("seed \(seed): a device does not come to its end"); break }
            }
            XCTAssertEqual(devices[index].copies, server, "seed \(seed), pages of \(devices[index].pageSize)")
        }
        return devices.reduce(0) { $0 + $1.expirations }
    }

    func test6_4_devicesThatReadAtAnyMomentConverge() async throws {
        for seed in 1...15 as ClosedRange<UInt64> {
            try await forEachStore { feed in
                _ = try await converge(seed: seed, on: feed, isDiscarding: false)
            }
        }
    }

    func testB24_devicesWhoseTokensExpireConvergeAndKeepNoGhosts() async throws {
        var expirations = 0
        for seed in 101...115 as ClosedRange<UInt64> {
            try await forEachStore { feed in
                expirations += try await converge(seed: seed, on: feed, isDiscarding: true)
            }
        }
        XCTAssertGreaterThan(expirations, 50, "too few tokens expired to prove anything")
    }
}
