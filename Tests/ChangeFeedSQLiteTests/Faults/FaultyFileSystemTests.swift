import CSQLite
import ChangeFeed
import Foundation
import XCTest

/// The file system under SQLite by itself, and what SQLite makes of its faults: what holds here a store may build on.
final class FaultyFileSystemTests: XCTestCase {
    private var directory = URL(filePath: "/")

    override func setUpWithError() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "faults-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        try FileManager.default.removeItem(at: directory)
    }

    // MARK: - Nothing planned

    func testNothingPlannedLeavesADatabaseAsSQLiteMakesIt() throws {
        let fileSystem = try FaultyFileSystem()
        let path = path("untouched")

        let account = FaultScript().run(at: path, through: fileSystem)

        XCTAssertEqual(account.acknowledged, Array(FaultScript.transactions))
        XCTAssertEqual(account.errors, [])
        XCTAssertEqual(fileSystem.failureCount, 0)
        XCTAssertEqual(fileSystem.openFileCount, 0)
        try assertHolds(Array(FaultScript.transactions), at: path)
        let direct = self.path("direct")
        _ = FaultScript().run(at: direct)
        XCTAssertEqual(try content(of: path), try content(of: direct))
    }

    func testEveryOperationIsCounted() throws {
        let fileSystem = try FaultyFileSystem()

        _ = FaultScript().run(at: path("counted"), through: fileSystem)

        for operation in FaultyFileSystem.Operation.allCases {
            XCTAssertGreaterThan(fileSystem.count(of: operation), 0, "\(operation)")
        }
        let changes = FaultyFileSystem.Operation.allCases.filter(\.changesDisk)
        XCTAssertEqual(fileSystem.changeCount, changes.map(fileSystem.count).reduce(0, +))
        fileSystem.reset()
        XCTAssertEqual(fileSystem.changeCount, 0)
        XCTAssertEqual(fileSystem.count(of: .write), 0)
    }

    func testTwoConnectionsSeeEachOther() throws {
        let fileSystem = try FaultyFileSystem()
        let path = path("shared")
        do {
            let writer = try FaultConnection(path, through: fileSystem)
            try writer.run("PRAGMA journal_mode = WAL")
            try writer.run("CREATE TABLE number (value INTEGER)")
            let reader = try FaultConnection(path, through: fileSystem)
            try reader.run("BEGIN")
            XCTAssertEqual(try reader.rows("SELECT count(*) FROM number"), ["0"])

            try writer.run("INSERT INTO number VALUES (1)")

            XCTAssertEqual(try reader.rows("SELECT count(*) FROM number"), ["0"], "a reader keeps what it began with")
            try reader.run("COMMIT")
            XCTAssertEqual(try reader.rows("SELECT count(*) FROM number"), ["1"])
            let outsider = try FaultConnection(path)
            try writer.run("BEGIN IMMEDIATE")
            XCTAssertThrowsError(try outsider.run("BEGIN IMMEDIATE"), "locks hold between file systems") {
                XCTAssertEqual(($0 as? FaultConnection.Failure)?.code, SQLITE_BUSY)
            }
            try writer.run("COMMIT")
        }
        XCTAssertEqual(fileSystem.openFileCount, 0)
    }

    func testThreadsShareIt() throws {
        let fileSystem = try FaultyFileSystem()
        let path = path("threads")
        let made = FaultScript().run(at: path, through: fileSystem)
        XCTAssertEqual(made.errors, [])
        let errors = Locked<[Int32]>([])

        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            do throws(FaultConnection.Failure) {
                let connection = try FaultConnection(path, through: fileSystem)
                // Whoever opens while another recovers the log or closes the last connection has to wait.
                try connection.run("PRAGMA busy_timeout = 10000")
                for round in 1...20 {
                    if worker == 0 {
                        try connection.run("INSERT INTO part VALUES (\(100 + round), 1, zeroblob(3000))")
                    } else {
                        _ = try connection.rows("SELECT count(*) FROM part")
                    }
                }
            } catch {
                errors.withLock { $0.append(error.code) }
            }
        }

        XCTAssertEqual(errors.withLock { $0 }, [])
        XCTAssertEqual(fileSystem.openFileCount, 0)
        XCTAssertEqual(try FaultScript.Finding(at: path).partial, Array(101...120))
    }

    func testTwoFileSystemsKnowNothingOfEachOther() throws {
        let faulty = try FaultyFileSystem()
        let sound = try FaultyFileSystem()
        faulty.fail(.write, number: 1, .fromThenOn)

        XCTAssertEqual(FaultScript().run(at: path("faulty"), through: faulty).acknowledged, [])
        XCTAssertEqual(FaultScript().run(at: path("sound"), through: sound).errors, [])
    }

    // MARK: - One fault

    func testTheNumberedOperationFailsAndNoOther() throws {
        let fileSystem = try FaultyFileSystem()
        let connection = try FaultConnection(path("numbered"), through: fileSystem)
        try connection.run("PRAGMA journal_mode = WAL")
        try connection.run("CREATE TABLE number (value INTEGER)")
        fileSystem.reset()
        fileSystem.fail(.sync, number: 2)

        try connection.run("INSERT INTO number VALUES (1)")
        XCTAssertThrowsError(try connection.run("INSERT INTO number VALUES (2)")) {
            XCTAssertEqual(
                ($0 as? FaultConnection.Failure)?.code, FaultyFileSystem.Operation.sync.usualCode)
        }
        try connection.run("INSERT INTO number VALUES (3)")

        XCTAssertEqual(fileSystem.failureCount, 1)
        XCTAssertEqual(fileSystem.count(of: .sync), 3)
        XCTAssertEqual(try connection.rows("SELECT value FROM number"), ["1", "3"])
    }

    func testAFaultSaysWhatItIsToldTo() throws {
        let fileSystem = try FaultyFileSystem()
        let connection = try FaultConnection(path("full"), through: fileSystem)
        try connection.run("PRAGMA journal_mode = WAL")
        fileSystem.reset()
        fileSystem.fail(.write, number: 1, as: SQLITE_FULL, .fromThenOn)

        for _ in 1...3 {
            XCTAssertThrowsError(try connection.run("CREATE TABLE number (value INTEGER)")) {
                XCTAssertEqual(($0 as? FaultConnection.Failure)?.code, SQLITE_FULL)
            }
        }
    }

    func testEachFaultReachesTheCallerOrHarmsNothing() throws {
        for operation in FaultyFileSystem.Operation.allCases {
            for persistence in [FaultyFileSystem.Persistence.once, .fromThenOn] {
                try forEachFault(of: operation, persistence) { fileSystem, path, account, story in
                    let finding = try FaultScript.Finding(at: path)
                    assertPromise(finding, after: account, story)
                    if account.errors.isEmpty {
                        XCTAssertEqual(account.acknowledged, Array(FaultScript.transactions), story)
                    }
                }
            }
        }
    }

    func testAFaultAndThenALossOfPowerLoseNothingAcknowledged() throws {
        for operation in FaultyFileSystem.Operation.allCases where operation.changesDisk {
            try forEachFault(of: operation, .once) { fileSystem, path, account, story in
                try fileSystem.losePowerAndRestore(seed: UInt64(fileSystem.changeCount))
                assertPromise(try FaultScript.Finding(at: path), after: account, story)
            }
        }
    }

    // MARK: - Loss of power

    func testFullKeepsEveryAcknowledgedTransaction() throws {
        try forEachCut(.full) { path, account, story in
            assertPromise(try FaultScript.Finding(at: path), after: account, story)
        }
    }

    func testNormalKeepsABeginning() throws {
        var losses = 0
        try forEachCut(.normal) { path, account, story in
            let finding = try FaultScript.Finding(at: path)
            XCTAssertEqual(finding.integrity, "ok", story)
            XCTAssertEqual(finding.partial, [], story)
            XCTAssertEqual(finding.whole, Array(FaultScript.transactions.prefix(finding.whole.count)), story)
            if finding.whole.count < account.acknowledged.count { losses += 1 }
        }
        XCTAssertGreaterThan(losses, 0, "a loss of power that loses nothing proves nothing")
    }

    func testOffLosesWhatWasAcknowledged() throws {
        var losses = 0
        try forEachCut(.off, chances: 1) { path, account, _ in
            let found = (try? FaultScript.Finding(at: path))?.whole ?? []
            if !Set(account.acknowledged).isSubset(of: found) { losses += 1 }
        }
        XCTAssertGreaterThan(losses, 0, "a loss of power that loses nothing proves nothing")
    }

    func testWithoutPowerNothingWorksUntilItIsBack() throws {
        let fileSystem = try FaultyFileSystem()
        let path = path("dark")
        let made = FaultScript().run(at: path, through: fileSystem)
        fileSystem.reset()
        fileSystem.cutPower(atChange: 1)

        XCTAssertThrowsError(try FaultConnection(path, through: fileSystem).rows("SELECT count(*) FROM part"))
        XCTAssertThrowsError(try FaultConnection(path, through: fileSystem).rows("SELECT count(*) FROM part"))
        XCTAssertFalse(fileSystem.hasPower)
        XCTAssertEqual(fileSystem.changeCount, 1)

        try fileSystem.losePowerAndRestore(seed: 1)
        XCTAssertTrue(fileSystem.hasPower)
        let connection = try FaultConnection(path, through: fileSystem)
        XCTAssertEqual(
            try connection.rows("SELECT count(*) FROM part"),
            ["\(made.acknowledged.count * FaultScript.partsOfOne)"])
    }

    func testPowerIsNotLostUnderOpenFiles() throws {
        let fileSystem = try FaultyFileSystem()
        let connection = try FaultConnection(path("open"), through: fileSystem)
        try connection.run("PRAGMA journal_mode = WAL")
        let count = fileSystem.openFileCount

        XCTAssertThrowsError(try fileSystem.losePowerAndRestore(seed: 1)) {
            XCTAssertEqual($0 as? FaultyFileSystem.Failure, .filesAreOpen(count: count))
        }
    }

    func testASeedTellsTheSameStoryAgain() throws {
        var contents: [Data] = []
        for attempt in 1...2 {
            let fileSystem = try FaultyFileSystem()
            let path = path("story-\(attempt)")
            fileSystem.cutPower(atChange: 40)
            _ = FaultScript(synchronous: .off).run(at: path, through: fileSystem)
            try fileSystem.losePowerAndRestore(seed: 2)
            contents.append(try content(of: path))
        }
        XCTAssertEqual(contents[0], contents[1])
    }
}

// MARK: - Helpers

extension FaultyFileSystemTests {
    private func path(_ name: String) -> String {
        directory.appending(path: name).path(percentEncoded: false)
    }

    private func content(of path: String) throws -> Data {
        try Data(contentsOf: URL(filePath: path))
    }

    /// Runs the script once for each operation of a kind, in a fresh file, that one failing.
    private func forEachFault(
        of operation: FaultyFileSystem.Operation, _ persistence: FaultyFileSystem.Persistence,
        _ check: (FaultyFileSystem, String, FaultScript.Account, String) throws -> Void
    ) throws {
        let count = try countWithoutFault { $0.count(of: operation) }
        for number in 1...count {
            let fileSystem = try FaultyFileSystem()
            let story = "\(operation) \(number) of \(count), \(persistence)"
            let path = path("\(operation)-\(number)-\(persistence)")
            fileSystem.fail(operation, number: number, persistence)
            let account = FaultScript().run(at: path, through: fileSystem)
            XCTAssertGreaterThan(fileSystem.failureCount, 0, story)
            XCTAssertEqual(fileSystem.openFileCount, 0, story)
            try check(fileSystem, path, account, story)
            try remove(path)
        }
    }

    /// Runs the script with the power cut at each change, and a few chances for what is left.
    private func forEachCut(
        _ synchronous: FaultScript.Synchronous, chances: Int = 3,
        _ check: (String, FaultScript.Account, String) throws -> Void
    ) throws {
        let count = try countWithoutFault(synchronous) { $0.changeCount }
        for number in 1...count {
            for chance in 1...chances {
                let fileSystem = try FaultyFileSystem()
                let story = "power cut at change \(number) of \(count), chance \(chance)"
                let path = path("cut-\(number)-\(chance)")
                fileSystem.cutPower(atChange: number)
                let account = FaultScript(synchronous: synchronous).run(at: path, through: fileSystem)
                XCTAssertFalse(fileSystem.hasPower, story)
                try fileSystem.losePowerAndRestore(seed: UInt64(number * chances + chance))
                try check(path, account, story)
                try remove(path)
            }
        }
    }

    private func countWithoutFault(
        _ synchronous: FaultScript.Synchronous = .full, _ count: (FaultyFileSystem) -> Int
    ) throws -> Int {
        let fileSystem = try FaultyFileSystem()
        let path = path("without")
        _ = FaultScript(synchronous: synchronous).run(at: path, through: fileSystem)
        try remove(path)
        return count(fileSystem)
    }

    /// So that the next run begins with nothing: what a fault left behind stays in the directory otherwise.
    private func remove(_ path: String) throws {
        for file in [path, path + "-journal", path + "-wal", path + "-shm"]
        where FileManager.default.fileExists(atPath: file) {
            try FileManager.default.removeItem(atPath: file)
        }
    }

    /// Acknowledged transactions are there, all are whole, and the database is sound.
    private func assertPromise(_ finding: FaultScript.Finding, after account: FaultScript.Account, _ story: String) {
        XCTAssertEqual(finding.integrity, "ok", story)
        XCTAssertEqual(finding.partial, [], story)
        XCTAssertEqual(Set(account.acknowledged).subtracting(finding.whole), [], story)
    }

    private func assertHolds(_ transactions: [Int], at path: String) throws {
        let finding = try FaultScript.Finding(at: path)
        XCTAssertEqual(finding.integrity, "ok")
        XCTAssertEqual(finding.whole, transactions)
        XCTAssertEqual(finding.partial, [])
    }
}
