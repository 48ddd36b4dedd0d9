import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// One store has one writer, by whatever name it is opened, and others read beside it.
final class WriterLockTests: XCTestCase {
    func testASecondWriterIsToldSoByAnotherNameOfTheFile() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let link = folder.file("link.db")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.file())
        await expectError(.serviceUnavailable, "by a symbolic link") {
            try await SQLiteStore.open(at: link, configuration: .small())
        }
        await store.close()
    }

    func testASecondWriterIsToldSoByAnotherWayToTheFolder() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let other = try StoreFolder()
        let link = other.file("folder")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.url)
        for way in [link.appendingPathComponent("feed.db"), folder.url.appendingPathComponent("./feed.db")] {
            await expectError(.serviceUnavailable, way.path) {
                try await SQLiteStore.open(at: way, configuration: .small())
            }
        }
        await store.close()
    }

    func testNothingIsLeftBesideAStoreThatIsClosed() async throws {
        let folder = try StoreFolder()
        for _ in 0..<2 {
            let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
            try await Notes(over: store).makeZone()
            await store.close()
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: folder.url.path), ["feed.db"])
        }
    }

    func testOfManyThatOpenAStoreAtOnceOneMayWrite() async throws {
        let folder = try StoreFolder()
        for round in 0..<20 {
            let stores = await withTaskGroup(of: SQLiteStore?.self) { group in
                for _ in 0..<6 {
                    group.addTask { try? await SQLiteStore.open(at: folder.file(), configuration: .small()) }
                }
                return await group.reduce(into: [SQLiteStore]()) { $0 += $1.map { [$0] } ?? [] }
            }
            XCTAssertEqual(stores.count, 1, "round \(round)")
            for store in stores { await store.close() }
        }
    }

    func testTheRightToWriteGoesWithTheProcess() async throws {
        let folder = try StoreFolder()
        let child = try Child(folder.file().path, "0", "1")
        XCTAssertEqual(child.nextLine(), "ready")
        await expectError(.serviceUnavailable, "while it writes") {
            try await SQLiteStore.open(at: folder.file(), configuration: .small())
        }
        child.kill()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        await store.close()
    }

    func testAReaderInThisProcessSeesWhatAnotherWrites() async throws {
        let folder = try StoreFolder()
        let child = try Child(folder.file().path, "0", "1")
        XCTAssertEqual(child.nextLine(), "ready")
        var configuration = SQLiteStore.Configuration.small()
        configuration.access = .readOnly
        let reading = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
        let notes = Notes(over: reading)
        for _ in 0..<20 {
            // Given: the other process was told that a batch is there.
            let line = try XCTUnwrap(child.nextLine())
            let told = try XCTUnwrap(line.split(separator: " ").last.flatMap { Int($0) })
            // Then: it is, or a later one in its place.
            let latest = try await notes.texts()["last-0"]?.split(separator: "-").last.flatMap { Int($0) }
            XCTAssertGreaterThanOrEqual(latest ?? -1, told)
        }
        child.kill()
        await reading.close()
    }

    func testAnotherProcessReadsWholeBatchesWhileThisOneWrites() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a", "b", "c"], "0")
        let child = try Child("read", folder.file().path, "60")
        XCTAssertEqual(child.nextLine(), "ready")
        for number in 1...60 { try await notes.save(["a", "b", "c"], String(number)) }
        let (lines, endedByItself) = child.finish()
        XCTAssertTrue(endedByItself)
        XCTAssertEqual(lines.last, "done")
        let seen = lines.dropLast().compactMap { Int($0) }
        XCTAssertEqual(seen.count, 60, "a batch was seen in part: \(lines)")
        XCTAssertEqual(seen, seen.sorted(), "what was seen went back")
        await store.close()
    }
}
