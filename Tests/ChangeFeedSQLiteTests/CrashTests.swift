import ChangeFeed
import ChangeFeedSQLite
import ChangeFeedTesting
import Foundation
import XCTest

/// What is there after the process that wrote was killed at any moment.
final class CrashTests: XCTestCase {
    /// How many times the writing process is killed: `CHANGEFEED_CRASHES=2000 swift test --filter CrashTests` for more.
    private let crashes = ProcessInfo.processInfo.environment["CHANGEFEED_CRASHES"].flatMap(Int.init) ?? 100
    private let writers = 3

    /// A batch that a writer has written, or tried to.
    private struct Batch: Hashable {
        let writer: Int
        let round: Int
        let number: Int

        /// A batch from what a writer said.
        init?(line: String) {
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            guard numbers.count == 3 else { return nil }
            (writer, round, number) = (numbers[0], numbers[1], numbers[2])
        }

        init?(noteNamed name: String) {
            self.init(line: name.split(separator: "-").dropLast().joined(separator: " "))
        }
    }

    /// What the parent knows of a file over all crashes.
    private struct Knowledge {
        var acknowledged: Set<Batch> = []
        var held: [String: String] = [:]
        var token: ZoneChangeToken?
        var head = ChangePosition.beginning
        /// What each tag that was ever seen stands for.
        var tags: [String: String] = [:]
    }

    func testWhatWasAcknowledgedIsThereAndNothingIsThereInPart() async throws {
        let folder = try StoreFolder()
        var random = SeededGenerator(seed: 2026)
        var known = Knowledge()
        var file = folder.file()
        for round in 0..<crashes {
            // A new file now and then, so that the first moments of one are among those that are hit.
            if round % 20 == 0 {
                known = Knowledge()
                file = folder.file("\(round).db")
            }
            let lines = try crash(file, round: round, after: Int(random.next() % 60), &random)
            known.acknowledged.formUnion(lines.compactMap(Batch.init(line:)))

            let store = try await SQLiteStore.open(at: file, configuration: .small())
            let notes = Notes(over: store)
            let head = try await store.read { (reader) throws(ChangeFeedError) in try reader.head }
            XCTAssertGreaterThanOrEqual(head, known.head, "round \(round)")
            known.head = head
            let texts = try await notes.texts()
            check(texts, known.acknowledged, round: round)
            try await noteTags(of: notes, in: &known, round: round)
            known.token = try await notes.follow(&known.held, since: known.token)
            XCTAssertEqual(known.held, texts, "round \(round): who follows with tokens has something else")
            let findings = try await store.integrityCheck()
            XCTAssertEqual(findings, [], "round \(round)")
            await store.close()
        }
    }

    func testAnotherProcessIsToldWhoWrites() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let child = try Child(folder.file().path, "0", "1")
        let line = child.nextLine()
        XCTAssertEqual(line?.contains("is open for writing already, by process \(getpid())"), true, "\(line ?? "-")")
        child.kill()
        await store.close()
    }

    /// Lets a process write until so many batches were acknowledged, kills it, and gives what it said.
    private func crash(
        _ file: URL, round: Int, after count: Int, _ random: inout SeededGenerator
    ) throws -> [String] {
        let child = try Child(file.path, String(round), String(writers))
        var lines: [String] = []
        XCTAssertEqual(child.nextLine(), "ready", "round \(round)")
        while lines.count < count, let line = child.nextLine() { lines.append(line) }
        // Somewhere within a batch, and not always right after one.
        for _ in 0..<random.next() % 4000 { sched_yield() }
        child.kill()
        // What it had said before it died counts too.
        while let line = child.nextLine() { lines.append(line) }
        return lines
    }

    /// Of each writer's life the latest three batches are there, whole, and no more than one that nobody was told of.
    private func check(_ texts: [String: String], _ acknowledged: Set<Batch>, round: Int) {
        let names = texts.keys.filter { !$0.hasPrefix("last-") }
        let notes = Dictionary(grouping: names) { Batch(noteNamed: $0) }
        for (batch, names) in notes {
            guard let batch else { return XCTFail("round \(round): \(names) were never written") }
            XCTAssertEqual(names.count, 4, "round \(round): \(batch) is there in part")
            let text = "\(batch.round)-\(batch.number)"
            XCTAssertEqual(Set(names.compactMap { texts[$0] }), [text], "round \(round): \(batch)")
        }
        let present = Set(notes.keys.compactMap { $0 })
        for writer in 0..<writers {
            for life in 0...round {
                func numbers(_ batches: Set<Batch>) -> [Int] {
                    batches.filter { $0.writer == writer && $0.round == life }.map(\.number).sorted()
                }
                let story = "round \(round): writer \(writer) in its life \(life)"
                let (told, there) = (numbers(acknowledged).last ?? -1, numbers(present))
                let latest = there.last ?? -1
                XCTAssertTrue(told...told + 1 ~= latest, "\(story) was told of \(told), and \(latest) is there")
                XCTAssertEqual(there, latest < 0 ? [] : Array(max(0, latest - 2)...latest), story)
            }
            let latest = present.filter { $0.writer == writer }.max { ($0.round, $0.number) < ($1.round, $1.number) }
            XCTAssertEqual(texts["last-\(writer)"], latest.map { "\($0.round)-\($0.number)" }, "round \(round)")
        }
    }

    /// A tag stands for one version of one note, for ever.
    private func noteTags(of notes: Notes, in known: inout Knowledge, round: Int) async throws {
        for try await page in notes.database.recordZoneChangePages(inZoneWith: notes.zoneID, since: nil) {
            for record in page.modifications {
                let tag = try XCTUnwrap(record.recordChangeTag)
                let version = "\(record.recordID.recordName): \(record["text"] ?? "")"
                let before = known.tags.updateValue(version, forKey: tag)
                XCTAssertEqual(before ?? version, version, "round \(round): \(tag)")
            }
        }
    }
}
