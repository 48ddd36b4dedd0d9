import XCTest

@testable import ChangeFeedCommand

/// What a replay found, as a person and as a program read it.
final class ReplayReportTests: XCTestCase {
    func testTheTableEndsWithTheVerdict() {
        XCTAssertEqual(
            report.text,
            """
            commits                                1,000
            saves                                  3,000
            deletes                                1,000
            pages                                     50
            records fetched incrementally          4,000
            records if everything were refetched  90,000
            fetches after a launch                     3
            fetches after a hint                      40
            fetches after a silence                    5
            fetches that were called for               2
            refetched / incremental                 22.5
            seconds                                0.500
            records/s                              8,000
            verified

            """
        )
    }

    func testAReplayThatWentOnSaysWhere() throws {
        var report = report
        let whole = ReplayMarker(commitID: "abc", written: 7, changes: 7)
        report.start = ReplayStart(marker: whole, number: 900)
        XCTAssertTrue(report.text.hasPrefix("resumed after commit 900 of 1,000, abc\ncommits  "), report.text)
        let part = ReplayMarker(commitID: "abc", written: 400, changes: 1_200)
        report.start = ReplayStart(marker: part, number: 900)
        XCTAssertTrue(
            report.text.hasPrefix(
                "resumed within commit 900 of 1,000, abc, after 400 of its 1,200 changes\ncommits  "),
            report.text)
        let json = try report.json()
        let resumed = #""resumed":{"changes":1200,"changesWritten":400,"commit":"abc","number":900}"#
        XCTAssertTrue(json.contains(resumed), json)
    }

    func testNoTimeAndNoRecordsGiveNumbersAllTheSame() throws {
        var report = report
        report.seconds = 0
        report.recordsFetched = 0
        report.recordsIfRefetched = 0
        XCTAssertEqual(report.recordsPerSecond, 0)
        XCTAssertTrue(report.text.contains("refetched / incremental                   -\n"), report.text)
        let object = try jsonObject(report.json())
        XCTAssertEqual(object["recordsPerSecond"] as? Double, 0)
        XCTAssertEqual(object["seconds"] as? Double, 0)
    }

    func testTheTableListsTwentyDifferencesAndTheJSONAll() throws {
        var report = report
        for count in [1, 20, 21, 1_020] {
            report.differences = (0..<count).map {
                ReplayDifference(device: "joined late", path: Array("p\($0)".utf8), expected: file, found: nil)
            }
            let lines = report.text.split(separator: "\n").drop { !$0.contains("difference") }
            XCTAssertEqual(lines.count, 1 + min(count, 20) + (count > 20 ? 1 : 0))
            XCTAssertEqual(
                lines.dropFirst().first, "  joined late: \"p0\": expected 100644 abc 7, found nothing")
            XCTAssertEqual((try jsonObject(report.json())["differences"] as? [Any])?.count, count)
        }
        XCTAssertTrue(report.text.contains("\n1,020 differences:\n"))
        XCTAssertTrue(report.text.hasSuffix("\n  and 1,000 more\n"))
    }

    func testAPathOfAnyBytesIsTheSameInTheTableAndTheJSON() throws {
        var report = report
        let path: [UInt8] = [0xff, 0x0a, UInt8(ascii: "/"), UInt8(ascii: "\""), 0xc3, 0xa9, UInt8(ascii: "\\")]
        report.differences = [ReplayDifference(device: "first read", path: path, expected: nil, found: file)]
        let printable = #"\xff\x0a/"é\\"#
        let sentence = "first read: \"\(printable)\": expected nothing, found 100644 abc 7"
        XCTAssertTrue(report.text.hasSuffix("\n1 difference:\n  \(sentence)\n"), report.text)
        let json = try report.json()
        XCTAssertEqual(json.filter { $0 == "\n" }.count, 1)
        let differences = try XCTUnwrap(jsonObject(json)["differences"] as? [[String: Any]])
        XCTAssertEqual(differences.first?["path"] as? String, printable)
        XCTAssertTrue(differences.first?["expected"] is NSNull)
        XCTAssertEqual(differences.first?["found"] as? String, "100644 abc 7")
    }

    func testDifferencesAreWhatIsMissingTooMuchOrOfOtherContent() {
        let changed = GitFile(mode: "100755", blobID: "abc", size: 7)
        let same: [UInt8] = [1]
        let missing: [UInt8] = [2]
        let other: [UInt8] = [2, 0]
        let extra: [UInt8] = [0xff]
        let differences = ReplayDifference.all(
            between: [same: file, other: file, missing: file],
            and: [same: file, other: changed, extra: file],
            of: "device"
        )
        XCTAssertEqual(
            differences,
            [
                ReplayDifference(device: "device", path: missing, expected: file, found: nil),
                ReplayDifference(device: "device", path: other, expected: file, found: changed),
                ReplayDifference(device: "device", path: extra, expected: nil, found: file),
            ]
        )
    }

    private let file = GitFile(mode: "100644", blobID: "abc", size: 7)

    private let report = ReplayReport(
        commits: 1_000,
        saves: 3_000,
        deletes: 1_000,
        pages: 50,
        recordsFetched: 4_000,
        recordsIfRefetched: 90_000,
        fetches: ["launch": 3, "push": 40, "periodic": 5, "call": 2],
        seconds: 0.5,
        differences: []
    )
}
