import ChangeFeed
import XCTest

@testable import ChangeFeedCommand

/// A device that follows: what it holds after each page, and what it does not take for good.
final class FollowingDeviceTests: XCTestCase {
    func testItGoesOnFromThePageWhereItStopped() async throws {
        let database = FaultyDatabase()
        var writer = try await writer(to: database, files: 5)
        let device = FollowingDevice(name: "device", following: database, pageLimit: 2)

        try await device.hear(killedAfter: 1)
        try await assertHolds(device, [[0]: file(), [1]: file()])

        // The database does not name the zone again, and yet the device knows that there is more.
        try await device.hear()
        XCTAssertFalse(device.isBehind)
        try await assertHolds(device, Dictionary(uniqueKeysWithValues: (0..<5).map { ([$0], file()) }))
        XCTAssertEqual([device.pages, device.recordsFetched], [3, 5])

        // Nothing has changed: it asks the database alone.
        try await device.fetchAll()
        XCTAssertEqual(device.pages, 3)

        try await writer.write([.remove(path: [0]), .put(path: [1], file("200755"))], of: "c")
        try await device.fetchAll()
        try await assertHolds(device, [[1]: file("200755"), [2]: file(), [3]: file(), [4]: file()])
        XCTAssertEqual([device.pages, device.recordsFetched], [4, 7])
        XCTAssertEqual(device.fetches, ["launch": 2, "call": 2])
        await device.kill()
    }

    func testARecordThatCannotBeReadIsAFailure() async throws {
        var database = FaultyDatabase()
        _ = try await writer(to: database, files: 1)
        database.spoilPage = { page in
            page.with(
                page.modifications.map { record in
                    var record = record
                    record["size"] = "one"
                    return .modified(record)
                })
        }
        await assertFailure("the record \"Files/f") { try await fetchAll(database) }
        database.spoilPage = { page in
            page.with(page.modifications.map { .failed($0.recordID, ChangeFeedError(.internalError, "Damaged.")) })
        }
        await assertFailure("the device \"device\" was not given the record \"Files/f") { try await fetchAll(database) }
    }

    func testMoreWithoutProgressIsAFailureAndNoLoop() async throws {
        var database = FaultyDatabase()
        _ = try await writer(to: database, files: 1)
        database.spoilPage = { $0.with([], moreComing: true) }
        await assertFailure("the device \"device\" could not fetch: ") { try await fetchAll(database) }
        database.spoilPage = { $0 }
        database.spoilDatabaseChanges = { .init(changes: [], changeToken: $0.changeToken, moreComing: true) }
        await assertFailure("the device \"device\" could not fetch: ") { try await fetchAll(database) }
    }

    func testAZoneThatIsGoneIsAFailure() async throws {
        var database = FaultyDatabase()
        _ = try await writer(to: database, files: 1)
        database.spoilDatabaseChanges = { changes in
            .init(
                changes: [.deleted(.init(zoneID: FileRecord.zoneID, reason: .deleted))],
                changeToken: changes.changeToken,
                moreComing: false
            )
        }
        await assertFailure("the device \"device\" was told that the zone \"Files\" is gone") {
            try await fetchAll(database)
        }
    }

    func testARecordCarriesAFileOfAnyPath() throws {
        for path: [UInt8] in [[1], [0xff, 0xfe], Array("a/é\n".utf8), [UInt8](repeating: 0xff, count: 5_000)] {
            let record = FileRecord.make(for: path, file())
            XCTAssertEqual(record.recordID.recordName.utf8.count, 65)
            let read = try FileRecord.read(record)
            XCTAssertEqual(read.path, path)
            XCTAssertEqual(read.file, file())
        }
        // The digest that FIPS 180-4 publishes for "abc".
        XCTAssertEqual(
            FileRecord.recordName(for: Array("abc".utf8)),
            "fba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    private func assertHolds(
        _ device: FollowingDevice, _ files: [[UInt8]: GitFile], file: StaticString = #filePath, line: UInt = #line
    ) async throws {
        let found = try await device.files()
        XCTAssertEqual(found, files, file: file, line: line)
    }

    private func fetchAll(_ database: FaultyDatabase) async throws {
        let device = FollowingDevice(name: "device", following: database, pageLimit: 2)
        do {
            try await device.fetchAll()
        } catch {
            await device.kill()
            throw error
        }
        await device.kill()
    }

    private func writer(to database: FaultyDatabase, files: Int) async throws -> ReplayWriter {
        var writer = ReplayWriter(to: database, batchLimit: 400)
        _ = try await writer.begin()
        try await writer.write((0..<files).map { .put(path: [UInt8($0)], file()) }, of: "c")
        return writer
    }

    private func file(_ mode: String = "100644") -> GitFile {
        GitFile(mode: mode, blobID: "abc", size: 7)
    }
}
