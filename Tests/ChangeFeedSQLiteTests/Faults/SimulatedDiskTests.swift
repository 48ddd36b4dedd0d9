import ChangeFeedTesting
import Foundation
import XCTest

/// The disk beside the files as a value: what may be left of what was done.
final class SimulatedDiskTests: XCTestCase {
    private let path = "/database"
    private let first = Data(repeating: 1, count: 1024)
    private let second = Data(repeating: 2, count: 1024)

    func testWhatIsSyncedStays() {
        var disk = SimulatedDisk()
        disk.note(.create, at: path)
        disk.note(.write(offset: 0, bytes: first), at: path)
        disk.sync(path)

        XCTAssertEqual(outcomes(of: disk), [first])
    }

    func testWhatIsNotSyncedStaysInPartBySector() {
        var disk = SimulatedDisk()
        disk.adopt(first, at: path)
        disk.note(.write(offset: 0, bytes: second), at: path)

        XCTAssertEqual(
            outcomes(of: disk),
            [first, second, second.prefix(512) + first.suffix(512), first.prefix(512) + second.suffix(512)])
    }

    func testBytesBesideAWriteAreNotHarmed() {
        var disk = SimulatedDisk()
        disk.adopt(first, at: path)
        disk.note(.write(offset: 500, bytes: Data([2, 2])), at: path)

        let written = first.prefix(500) + [2, 2] + first.suffix(522)
        XCTAssertEqual(outcomes(of: disk), [first, written])
    }

    func testATruncationIsDoneOrNot() {
        var disk = SimulatedDisk()
        disk.adopt(first, at: path)
        disk.note(.truncate(size: 512), at: path)

        XCTAssertEqual(outcomes(of: disk), [first, first.prefix(512)])
    }

    func testADeletedFileMayComeBackUntilADirectoryIsSynced() {
        var disk = SimulatedDisk()
        disk.adopt(first, at: path)
        disk.note(.delete, at: path)

        XCTAssertEqual(outcomes(of: disk), [first, nil])
        disk.syncNames()
        XCTAssertEqual(outcomes(of: disk), [nil])
    }

    func testTheFirstSyncOfANewFileSettlesNames() {
        var disk = SimulatedDisk()
        disk.adopt(first, at: path)
        disk.note(.delete, at: path)
        disk.note(.create, at: "/database-wal")
        disk.sync("/database-wal")

        XCTAssertEqual(outcomes(of: disk), [nil])
    }

    func testAFileMadeAnewIsTheOldOneOrTheNewOne() {
        var disk = SimulatedDisk()
        disk.adopt(Data([1]), at: path)
        disk.note(.delete, at: path)
        disk.note(.create, at: path)
        disk.note(.write(offset: 0, bytes: Data([2])), at: path)

        XCTAssertEqual(outcomes(of: disk), [Data([1]), nil, Data(), Data([2])])
    }

    func testAFailedSyncIsNotMadeGoodByALaterOne() {
        var disk = SimulatedDisk()
        disk.adopt(Data([1, 1]), at: path)
        disk.note(.write(offset: 0, bytes: Data([2])), at: path)
        disk.syncFailed(path)
        disk.note(.write(offset: 1, bytes: Data([3])), at: path)
        disk.sync(path)

        XCTAssertEqual(outcomes(of: disk), [Data([1, 3]), Data([2, 3])])
    }

    func testWhatOthersWroteIsTaken() {
        var disk = SimulatedDisk()
        disk.adopt(Data([1]), at: path)
        disk.note(.write(offset: 0, bytes: Data([2])), at: path)

        var untouched = disk
        untouched.adopt(Data([2]), at: path)
        XCTAssertEqual(outcomes(of: untouched), [Data([1]), Data([2])])
        disk.adopt(Data([3]), at: path)
        XCTAssertEqual(outcomes(of: disk), [Data([3])])
    }

    func testAWholeOutcomeLosesNothingAndAnyOtherSomething() {
        var disk = SimulatedDisk()
        disk.adopt(first, at: path)
        disk.note(.write(offset: 0, bytes: second), at: path)

        for seed in 0..<100 {
            var chance = SeededGenerator(seed: UInt64(seed))
            var copy = disk
            let loss = copy.losePower(using: &chance)
            guard let content = loss.files[path] else { return XCTFail("no word about the file") }
            if content != second { XCTAssertEqual(loss.lostChanges, 1, "seed \(seed)") }
        }
    }

    /// Everything the file may hold after a loss of power, over many chances.
    private func outcomes(of disk: SimulatedDisk) -> Set<Data?> {
        var outcomes: Set<Data?> = []
        for seed in 0..<200 {
            var chance = SeededGenerator(seed: UInt64(seed))
            var copy = disk
            guard let content = copy.losePower(using: &chance).files[path] else { continue }
            outcomes.insert(content)
        }
        return outcomes
    }
}
