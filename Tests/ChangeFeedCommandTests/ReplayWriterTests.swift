import ChangeFeed
import XCTest

@testable import ChangeFeedCommand

/// A commit as modify requests, and what the writer makes of the answers.
final class ReplayWriterTests: XCTestCase {
    func testRemovalsComeFirstAndPathsAreInTheOrderOfTheirBytes() {
        let commit = GitCommit(
            id: "c", changes: [put("b"), remove("z"), put("a"), put([0xff]), remove("y/1"), put("a/b"), put("Z")])
        let writer = ReplayWriter(to: FaultyDatabase(), batchLimit: 3)
        let batches = writer.batches(of: commit)
        XCTAssertEqual(
            batches.map { $0.map { PathText.printable($0.path) } },
            [["y/1", "z", "Z"], ["a", "a/b", "b"], [#"\xff"#]]
        )
        XCTAssertEqual(writer.batches(of: GitCommit(id: "c", changes: [])), [])
    }

    func testNoRequestPassesTheByteLimitOfTheFeed() async throws {
        var limits = Limits.cloudKit
        limits.bytesPerRequest = 5_000
        let database = Container(identifier: "test", configuration: .init(limits: limits)).database(.private, for: "a")
        var writer = ReplayWriter(to: database, batchLimit: 400, byteLimit: 5_000)
        _ = try await writer.begin()
        for size in [7, 70_000, 7] {
            let changes = (0..<300).map { number in
                put(Array(repeating: UInt8(ascii: "p"), count: number) + [UInt8(ascii: "q")], size: size)
            }
            let batches = writer.batches(of: GitCommit(id: "c", changes: changes))
            XCTAssertGreaterThan(batches.count, 10)
            XCTAssertEqual(batches.joined().count, 300)
            for batch in batches { try await writer.write(batch, of: "c") }
        }
        XCTAssertEqual(writer.saves, 900)
        XCTAssertEqual(writer.liveCount, 300)
    }

    func testAFileLargerThanTheByteLimitGoesAlone() {
        let large = [UInt8](repeating: UInt8(ascii: "m"), count: 6_000)
        let commit = GitCommit(id: "c", changes: [put("a"), put("b"), put(large), put("n"), remove("r")])
        let batches = ReplayWriter(to: FaultyDatabase(), batchLimit: 400, byteLimit: 5_000).batches(of: commit)
        XCTAssertEqual(batches.map { $0.map(\.path.count) }, [[1, 1, 1], [6_000], [1]])
    }

    func testASaveAndADeleteGoAgainstTheVersionThatTheWriterKnows() async throws {
        for change in [put("a", size: 2), remove("a")] {
            let database = FaultyDatabase()
            var writer = ReplayWriter(to: database, batchLimit: 400)
            _ = try await writer.begin()
            try await writer.write([put("a")], of: "c1")
            // Somebody else changes the record behind the writer's back.
            let recordID = FileRecord.make(for: Array("a".utf8), file).recordID
            try await database.save(try await database.record(for: recordID))

            await assertFailure("the feed refused a file of the commit c2: serverRecordChanged") {
                try await writer.write([change], of: "c2")
            }
            XCTAssertEqual([writer.saves, writer.deletes], [1, 0])
        }
    }

    func testTheErrorThatIsToldIsThatOfTheFileAtFault() async throws {
        let database = FaultyDatabase()
        var writer = ReplayWriter(to: database, batchLimit: 400)
        _ = try await writer.begin()
        _ = try await database.save(FileRecord.make(for: Array("b".utf8), file))
        await assertFailure("the feed refused a file of the commit c: serverRecordChanged") {
            try await writer.write([put("a"), put("b"), put("c")], of: "c")
        }
        XCTAssertEqual(writer.liveCount, 0)
    }

    func testAnItemWithoutAnAnswerIsAFailure() async throws {
        var database = FaultyDatabase()
        database.spoilResults = { .init(saves: $0.saves.dropLast(), deletions: $0.deletions) }
        var writer = ReplayWriter(to: database, batchLimit: 400)
        _ = try await writer.begin()
        await assertFailure("the feed did not answer for every file of the commit c") {
            try await writer.write([put("a"), put("b")], of: "c")
        }
    }

    func testARemovalOfWhatWasNeverPutIsAFailure() async throws {
        var writer = ReplayWriter(to: FaultyDatabase(), batchLimit: 400)
        _ = try await writer.begin()
        await assertFailure("the commit c removes \"a\", which no commit has put there") {
            try await writer.write([remove("a")], of: "c")
        }
    }

    func testAZoneThatIsMissingIsAFailure() async {
        var writer = ReplayWriter(to: FaultyDatabase(), batchLimit: 400)
        await assertFailure("the feed refused a file of the commit c: zoneNotFound") {
            try await writer.write([put("a")], of: "c")
        }
    }

    private let file = GitFile(mode: "100644", blobID: "abc", size: 1)

    private func put(_ path: String, size: Int = 1) -> GitChange {
        put(Array(path.utf8), size: size)
    }

    private func put(_ path: [UInt8], size: Int = 1) -> GitChange {
        .put(path: path, GitFile(mode: "100644", blobID: String(repeating: "ab", count: 20), size: size))
    }

    private func remove(_ path: String) -> GitChange {
        .remove(path: Array(path.utf8))
    }
}

/// Expects a replay's failure whose sentence begins as given.
func assertFailure(
    _ beginning: String,
    file: StaticString = #filePath,
    line: UInt = #line,
    _ body: () async throws -> Void
) async {
    do {
        try await body()
        XCTFail("no failure", file: file, line: line)
    } catch let failure as ReplayFailure {
        XCTAssertTrue(failure.sentence.hasPrefix(beginning), failure.sentence, file: file, line: line)
    } catch {
        XCTFail("\(error)", file: file, line: line)
    }
}
