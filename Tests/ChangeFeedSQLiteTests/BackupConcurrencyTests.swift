import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Backups that come together.
final class BackupConcurrencyTests: XCTestCase {
    func testBackupsToOneFileThatComeTogetherGiveOneWholeCopy() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        for part in 0..<5 {
            try await notes.save((0..<200).map { "\(part)-\($0)" }, String(repeating: "x", count: 1000))
        }
        let texts = try await notes.texts()
        for round in 0..<10 {
            let target = folder.file("copy-\(round).db")
            let outcomes = await withTaskGroup(of: ChangeFeedError?.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        do throws(ChangeFeedError) {
                            try await store.backup(to: target)
                            // It is whole as soon as the call has returned.
                            let findings = try await BackupConcurrencyTests.findings(in: target)
                            XCTAssertEqual(findings, [], "round \(round)")
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            // One made it; the other was told that there is a file already.
            XCTAssertEqual(outcomes.filter { $0 == nil }.count, 1, "round \(round): \(outcomes)")
            for error in outcomes.compactMap({ $0 }) {
                XCTAssertEqual(error.code, .invalidArguments, "round \(round): \(error)")
            }
            guard FileManager.default.fileExists(atPath: target.path) else { continue }
            let copy = try await SQLiteStore.open(at: target, configuration: .small())
            let copied = try await Notes(over: copy).texts()
            XCTAssertEqual(copied.count, texts.count, "round \(round)")
            await copy.close()
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        XCTAssertEqual(files.filter { $0.contains("partial") }, [])
        await store.close()
    }

    private static func findings(in url: URL) async throws(ChangeFeedError) -> [String] {
        var configuration = SQLiteStore.Configuration.small()
        configuration.access = .readOnly
        let copy = try await SQLiteStore.open(at: url, configuration: configuration)
        let findings = try await copy.integrityCheck()
        await copy.close()
        return findings
    }
}
