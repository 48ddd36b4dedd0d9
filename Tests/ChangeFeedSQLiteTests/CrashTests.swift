import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// What is there after the process that wrote was killed at any moment.
final class CrashTests: XCTestCase {
    /// How many times the writing process is killed: `CHANGEFEED_CRASHES=2000 swift test --filter CrashTests` for more.
    private let crashes = ProcessInfo.processInfo.environment["CHANGEFEED_CRASHES"].flatMap(Int.init) ?? 100
    private let writers = 3

    func testWhatWasAcknowledgedIsThereAndNothingIsThereInPart() async throws {
        let folder = try StoreFolder()
        var random = SeededRandom(seed: 2026)
        var acknowledged: Set<String> = []
        var held: [String: String] = [:]
        var token: ZoneChangeToken?
        var head = ChangePosition.beginning
        var file = folder.file()
        for round in 0..<crashes {
            // A new file now and then, so that the first moments of one are among those that are hit.
            if round % 20 == 0 {
                (acknowledged, held, token, head) = ([], [:], nil, .beginning)
                file = folder.file("\(round).db")
            }
            acknowledged.formUnion(try crash(file, round: round, after: Int(random.next() % 60), &random))

            let store = try await SQLiteStore.open(at: file, configuration: .small())
            let notes = Notes(over: store)
            let newHead = try await store.read { (reader) throws(ChangeFeedError) in try reader.head }
            XCTAssertGreaterThanOrEqual(newHead, head, "round \(round)")
            head = newHead
            if round % 20 == 0, try await notes.database.allRecordZones().isEmpty {
                await store.close()
                continue
            }
            let texts = try await notes.texts()
            check(texts, acknowledged, round: round)
            token = try await notes.follow(&held, since: token)
            XCTAssertEqual(held, texts, "round \(round): who follows with tokens has something else")
            if round % 10 == 9 {
                let findings = try await store.integrityCheck()
                XCTAssertEqual(findings, [], "round \(round)")
            }
            await store.close()
        }
    }

    func testAnotherProcessIsToldWhoWrites() async throws {
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let child = try Child(folder.file(), round: 0, writers: 1)
        let line = child.nextLine()
        XCTAssertEqual(line?.contains("is open for writing already, by process \(getpid())"), true, "\(line ?? "-")")
        child.kill()
        await store.close()
    }

    /// Lets a process write until so many batches were acknowledged, kills it, and gives what it said.
    private func crash(
        _ file: URL, round: Int, after count: Int, _ random: inout SeededRandom
    ) throws -> [String] {
        let child = try Child(file, round: round, writers: writers)
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

    private func check(_ texts: [String: String], _ acknowledged: Set<String>, round: Int) {
        var batches: [String: Int] = [:]
        for name in texts.keys where !name.hasPrefix("last-") {
            let parts = name.split(separator: "-")
            batches[parts.dropLast().joined(separator: " "), default: 0] += 1
        }
        for (batch, count) in batches { XCTAssertEqual(count, 4, "round \(round): batch \(batch) is there in part") }
        let lost = acknowledged.filter { batches[$0] == nil }
        XCTAssertEqual(lost.sorted(), [], "round \(round): acknowledged and lost")
        for writer in 0..<writers {
            let latest =
                batches.keys.map { $0.split(separator: " ").compactMap { Int($0) } }
                .filter { $0[0] == writer }.max { ($0[1], $0[2]) < ($1[1], $1[2]) }
            XCTAssertEqual(texts["last-\(writer)"], latest.map { "\($0[1])-\($0[2])" }, "round \(round)")
        }
    }
}

/// The process that writes, and what it says.
private final class Child {
    private let process = Process()
    private let pipe = Pipe()
    private var rest = Data()

    init(_ file: URL, round: Int, writers: Int) throws {
        process.executableURL = try XCTUnwrap(Child.executable, "the process that writes was not built")
        process.arguments = [file.path, String(round), String(writers)]
        process.standardOutput = pipe
        try process.run()
        // The child has the only end that writes, so that what it said ends when it does.
        try pipe.fileHandleForWriting.close()
    }

    /// Beside the tests: on Linux the bundle is the folder that it is in, elsewhere a folder of its own.
    private static var executable: URL? {
        let bundle = Bundle(for: CrashTests.self).bundleURL
        return [bundle, bundle.deletingLastPathComponent()].map { $0.appendingPathComponent("ChangeFeedCrashChild") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The next whole line; nil when there is no more.
    func nextLine() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                return line
            }
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            rest += more
        }
    }

    func kill() {
        _ = Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
