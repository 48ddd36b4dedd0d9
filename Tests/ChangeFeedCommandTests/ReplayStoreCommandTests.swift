import ChangeFeed
import ChangeFeedSQLite
import Foundation
import SyncEngineCore
import XCTest

@testable import ChangeFeedCommand

/// `changefeed replay --store` as it is called.
final class ReplayStoreCommandTests: XCTestCase {
    func testTheSecondRunSaysWhereItWentOn() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        let (first, begun) = await run(sandbox, ["--max-commits", "2"])
        XCTAssertEqual(first, .success)
        XCTAssertFalse(begun.output.contains("resumed"))

        let (second, resumed) = await run(sandbox, ["--durability", "normal"])
        XCTAssertEqual(second, .success)
        XCTAssertEqual(resumed.error, "")
        let commit = try sandbox.run(["-C", "repository", "rev-parse", "HEAD~2"])
        let lines = resumed.output.split(separator: "\n")
        XCTAssertEqual(
            lines.prefix(4),
            [
                "replaying 50 % (2 of 4 commits)",
                "replaying 75 % (3 of 4 commits)",
                "replaying 100 % (4 of 4 commits)",
                "resumed after commit 2 of 4, \(commit)",
            ])
        XCTAssertEqual(lines.last, "verified")

        let (third, again) = await run(sandbox, ["--json"])
        XCTAssertEqual(third, .success)
        let object = try jsonObject(again.output)
        XCTAssertEqual(object["verified"] as? Bool, true)
        XCTAssertEqual(object["commits"] as? Int, 4)
        let start = try XCTUnwrap(object["resumed"] as? [String: Any])
        XCTAssertEqual(start["commit"] as? String, try sandbox.run(["-C", "repository", "rev-parse", "HEAD~1"]))
        XCTAssertEqual(start["number"] as? Int, 3)
    }

    func testTheJournalHasEveryDeviceAndIsTheSameForTheSameSeed() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        var contents: [Data] = []
        for name in ["one", "two"] {
            let file = sandbox.folder + "/" + name
            let (status, _) = await replay(sandbox, ["--seed", "3", "--journal", file])
            XCTAssertEqual(status, .success)
            contents.append(try Data(contentsOf: URL(fileURLWithPath: file)))
        }
        for (one, two) in zip(lines(of: contents[0]), lines(of: contents[1])) { XCTAssertEqual(one, two) }
        XCTAssertEqual(contents[0], contents[1])
        var devices: Set<String> = []
        for line in contents[0].split(separator: UInt8(ascii: "\n")) {
            let object = try XCTUnwrap(try JSONSerialization.jsonObject(with: line) as? [String: Any])
            devices.insert(try XCTUnwrap(object["device"] as? String))
            let entry = try JSONSerialization.data(withJSONObject: XCTUnwrap(object["entry"]))
            XCTAssertGreaterThan(try JSONLinesJournalSink.entry(ofLine: entry).number, 0)
        }
        XCTAssertGreaterThanOrEqual(devices.count, 3)
    }

    func testAJournalThatCannotBeWrittenIsRefusedBeforeAnythingIsRead() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        let (status, console) = await replay(sandbox, ["--journal", sandbox.folder + "/nowhere/journal"])
        XCTAssertEqual(status.rawValue, 2)
        XCTAssertEqual(console.output, "")
        XCTAssertTrue(console.error.contains("the journal"), console.error)
    }

    func testAFileThatIsNoStoreIsRefusedInOneSentenceAndNotTouched() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        try Data("not a store".utf8).write(to: URL(fileURLWithPath: sandbox.folder + "/text"))
        try FileManager.default.createDirectory(atPath: sandbox.folder + "/folder", withIntermediateDirectories: true)
        try makeDatabase(sandbox.folder + "/foreign")
        let cases = [
            ("text", "the file is damaged"), ("folder", "could not be opened"),
            ("nowhere/feed.db", "could not be opened: unable to open database file: No such file or directory"),
            ("foreign", "is a database of something else"),
        ]
        for (name, sentence) in cases {
            await assertRefused(sandbox, store: name, sentence)
        }
        XCTAssertEqual(try Data(contentsOf: URL(fileURLWithPath: sandbox.folder + "/text")), Data("not a store".utf8))
    }

    func testAFileThatIsNotTheDevicesIsRefused() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        try makeDatabase(sandbox.folder + "/a-devices")
        await assertRefused(sandbox, store: "a", "is not one in which this replay keeps what devices hold")

        _ = await run(sandbox, [], store: "b")
        _ = await run(sandbox, [], store: "c")
        try FileManager.default.removeItem(atPath: sandbox.folder + "/b-devices")
        try FileManager.default.moveItem(
            atPath: sandbox.folder + "/c-devices", toPath: sandbox.folder + "/b-devices")
        await assertRefused(sandbox, store: "b", "follow another store than this: remove that file")

        // Without what they held, devices read everything again.
        let (status, _) = await run(sandbox, [], store: "c")
        XCTAssertEqual(status, .success)
    }

    func testAStoreOfSomethingElseIsRefused() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        for (user, zoneName, sentence) in [
            ("anna", "Notes", "is not a replay's"), ("replay", "Files", "was not written by a replay"),
        ] {
            let store = try await SQLiteStore.open(at: URL(fileURLWithPath: sandbox.folder + "/" + user))
            let database = Container(identifier: "test", store: store).database(.private, for: user)
            let zone = try await database.save(RecordZone(zoneName: zoneName))
            var record = FileRecord.make(for: [1], GitFile(mode: "100644", blobID: "abc", size: 1))
            if zoneName != "Files" {
                record = Record(recordType: "Note", recordID: .init(recordName: "n", zoneID: zone.zoneID))
            }
            try await database.save(record)
            await store.close()
            await assertRefused(sandbox, store: user, sentence)
        }
    }

    func testASecondWriterIsRefusedWhileTheFirstGoesOn() async throws {
        let sandbox = try GitSandbox()
        try sandbox.makeRepository(history: .tiny)
        let first = try await ReplayFiles(at: sandbox.folder + "/feed.db", durability: .full)
        await assertRefused(sandbox, store: "feed.db", "is open for writing already")
        await first.close()
        let (status, _) = await run(sandbox, [])
        XCTAssertEqual(status, .success)
    }

    func testOptionsThatMakeNoSenseAreRefused() async throws {
        for (arguments, sentence) in [
            (["--store="], "the path of --store is empty"), (["--durability", "full"], "--durability needs --store"),
            (["--store", "x", "--durability", "some"], "--durability takes full or normal, not \"some\""),
        ] {
            let console = RecordedConsole()
            let status = await ChangeFeedTool(subcommands: [.replay], console: console).run(["replay"] + arguments)
            XCTAssertEqual(status, .refused)
            XCTAssertTrue(console.error.hasPrefix("changefeed replay: \(sentence); "), console.error)
        }
    }

    private func assertRefused(
        _ sandbox: GitSandbox, store: String, _ sentence: String, file: StaticString = #filePath, line: UInt = #line
    ) async {
        let (status, console) = await run(sandbox, [], store: store)
        XCTAssertEqual(status, .refused, file: file, line: line)
        XCTAssertEqual(console.output, "", file: file, line: line)
        XCTAssertTrue(console.error.contains(sentence), console.error, file: file, line: line)
        XCTAssertEqual(console.error.filter { $0 == "\n" }.count, 1, console.error, file: file, line: line)
    }

    private func run(
        _ sandbox: GitSandbox, _ options: [String], store: String = "feed.db"
    ) async -> (ExitStatus, RecordedConsole) {
        await replay(sandbox, ["--store", sandbox.folder + "/" + store] + options)
    }

    private func replay(_ sandbox: GitSandbox, _ options: [String]) async -> (ExitStatus, RecordedConsole) {
        let console = RecordedConsole()
        let arguments = ["replay", sandbox.folder + "/repository"] + options
        return (await ChangeFeedTool(subcommands: [.replay], console: console).run(arguments), console)
    }

    private func lines(of data: Data) -> [Substring] { String(decoding: data, as: UTF8.self).split(separator: "\n") }

    private func makeDatabase(_ path: String) throws {
        let connection = try SQLiteConnection(path: path, access: .create)
        try connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    }
}
