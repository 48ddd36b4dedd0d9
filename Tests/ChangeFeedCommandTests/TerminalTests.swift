import XCTest

@testable import ChangeFeedCommand

/// Numbers, tables, paths and progress as a person reads them.
final class TerminalTests: XCTestCase {
    func testNumbersAreGroupedInEveryLocale() {
        let groups = [
            (0, "0"), (7, "7"), (999, "999"), (1_000, "1,000"), (-1_000, "-1,000"), (-999, "-999"),
            (1_234_567, "1,234,567"), (Int.min, "-9,223,372,036,854,775,808"),
        ]
        for (value, text) in groups { XCTAssertEqual(NumberText.grouped(value), text) }
    }

    func testDecimalsAreRoundedAndGrouped() {
        let decimals: [(Double, Int, String)] = [
            (0, 2, "0.00"), (1.005, 1, "1.0"), (1_234.567, 2, "1,234.57"), (-0.25, 1, "-0.3"), (-12.5, 2, "-12.50"),
            (0.999, 2, "1.00"), (0.05, 2, "0.05"), (1_999.6, 0, "2,000"), (.infinity, 1, "-"), (.nan, 1, "-"),
            (1e300, 1, "-"),
        ]
        for (value, places, text) in decimals {
            XCTAssertEqual(NumberText.decimal(value, places: places), text, "\(value) to \(places)")
        }
    }

    func testATableAlignsItsValuesToTheRight() {
        var table = Table()
        table.add("commits", 1_234)
        table.add("seconds", 0.5, places: 2)
        table.add("records if everything were refetched", 1_000_000)
        table.add("", "verified")
        XCTAssertEqual(
            table.text,
            """
            commits                                   1,234
            seconds                                    0.50
            records if everything were refetched  1,000,000
                                                   verified

            """
        )
        XCTAssertEqual(Table().text, "")
    }

    func testWithoutATerminalEachTenthOfTheWorkIsALine() throws {
        let console = RecordedConsole()
        var bar = ProgressBar("replaying", unit: "commits", total: 2_000, on: .error, of: console)
        for done in 0...2_000 { try bar.advance(to: done) }
        try bar.close()
        let lines = console.error.split(separator: "\n")
        XCTAssertEqual(lines.count, 10)
        XCTAssertEqual(lines.first, "replaying 10 % (200 of 2,000 commits)")
        XCTAssertEqual(lines.last, "replaying 100 % (2,000 of 2,000 commits)")
        XCTAssertEqual(console.output, "")
    }

    func testOnATerminalOneLineIsRedrawnAndNeverFillsTheWidth() throws {
        for columns in [1, 10, 30, 45, 60, 80, 200] {
            let console = RecordedConsole(columns: columns)
            var bar = ProgressBar("replaying", unit: "commits", total: 10_000, on: .output, of: console)
            for done in 0...10_000 { try bar.advance(to: done) }
            try bar.close()
            try bar.close()
            XCTAssertEqual(console.output.filter { $0 == "\n" }.count, 1)
            XCTAssertTrue(console.output.hasSuffix("\n"))
            let drawn = console.output.split(separator: "\r")
            XCTAssertLessThanOrEqual(drawn.count, 202)
            for line in drawn {
                let visible = line.replacingOccurrences(of: "\u{1B}[K", with: "").filter { $0 != "\n" }
                XCTAssertLessThan(visible.count, max(columns, 1), "\(columns) columns: \(visible)")
            }
        }
    }

    func testABarShowsHowFarTheWorkHasCome() throws {
        let console = RecordedConsole(columns: 80)
        var bar = ProgressBar("replaying", unit: "commits", total: 4, on: .output, of: console)
        try bar.advance(to: 1)
        XCTAssertEqual(
            console.output,
            "\rreplaying [##########------------------------------] 25 % (1 of 4 commits)\u{1B}[K"
        )
    }

    func testWorkOfNothingAndOfTheLargestSizeDivideByNothing() throws {
        for total in [-1, 0, 1, Int.max] {
            let console = RecordedConsole()
            var bar = ProgressBar("replaying", unit: "commits", total: total, on: .output, of: console)
            for done in [Int.min, 0, 1, Int.max] { try bar.advance(to: done) }
            try bar.close()
            XCTAssertTrue(console.output.hasPrefix("replaying 100 %"), "\(total): \(console.output)")
        }
    }
}
