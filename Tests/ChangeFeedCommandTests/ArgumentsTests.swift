import XCTest

@testable import ChangeFeedCommand

/// Command lines of `changefeed replay`, taken apart or refused with a sentence that names the argument.
final class ArgumentsTests: XCTestCase {
    func testWithoutArgumentsTheDefaultsHold() throws {
        let options = try parse()
        XCTAssertEqual(options.repository, ".")
        XCTAssertEqual(options.pageLimit, 200)
        XCTAssertEqual(options.batchLimit, 400)
        XCTAssertEqual(options.seed, 1)
        XCTAssertNil(options.maxCommits)
        XCTAssertFalse(options.json)
    }

    func testBothFormsOfAValueAndAnyOrderAreUnderstood() throws {
        var expected = ReplayOptions()
        expected.repository = "some/where"
        expected.pageLimit = 7
        expected.batchLimit = 1
        expected.seed = UInt64.max
        expected.maxCommits = 12
        expected.json = true
        XCTAssertEqual(
            try parse(
                "--limit", "7", "some/where", "--batch=1", "--seed", "18446744073709551615", "--max-commits=12",
                "--json"
            ),
            expected
        )
        XCTAssertEqual(try parse("--limit", "3", "--limit=5").pageLimit, 5, "the last counts")
        XCTAssertEqual(try parse("--seed", "0").seed, 0)
    }

    func testTwoDashesEndTheOptions() throws {
        XCTAssertEqual(try parse("--json", "--", "--limit").repository, "--limit")
        XCTAssertEqual(try parse("-").repository, "-")
    }

    func testWhatCannotBeFollowedIsRefusedByName() {
        let wholeNumber = "takes a whole number from 1 up, not"
        let tooLarge = "18446744073709551616"
        let refused: [([String], String)] = [
            (["--limit"], "--limit needs a value: a whole number from 1 up"),
            (["--limit="], "--limit \(wholeNumber) \"\""),
            (["--limit", "0"], "--limit \(wholeNumber) \"0\""),
            (["--limit", "-5"], "--limit \(wholeNumber) \"-5\""),
            (["--limit", "+5"], "--limit \(wholeNumber) \"+5\""),
            (["--limit", "1.5"], "--limit \(wholeNumber) \"1.5\""),
            (["--limit", "1_000"], "--limit \(wholeNumber) \"1_000\""),
            (["--limit", " 5"], "--limit \(wholeNumber) \" 5\""),
            (["--limit", "٣"], "--limit \(wholeNumber) \"٣\""),
            (["--limit", "9223372036854775808"], "--limit \(wholeNumber) \"9223372036854775808\""),
            (["--limit", "--json"], "--limit \(wholeNumber) \"--json\""),
            (["--max-commits", "0"], "--max-commits \(wholeNumber) \"0\""),
            (["--batch", "401"], "--batch takes a whole number from 1 to 400, not \"401\""),
            (["--batch", "0"], "--batch takes a whole number from 1 to 400, not \"0\""),
            (["--seed", "-1"], "--seed takes a whole number from 0 up, not \"-1\""),
            (["--seed", tooLarge], "--seed takes a whole number from 0 up, not \"\(tooLarge)\""),
            (["--json=yes"], "--json takes no value"),
            (["--unknown"], "there is no option \"--unknown\""),
            (["--unknown=1"], "there is no option \"--unknown\""),
            (["--lim", "5"], "there is no option \"--lim\""),
            (["-x"], "there is no option \"-x\""),
            (["--\u{1B}[2J"], "there is no option \"--\\x1b[2J\""),
            (["a", "b"], "one repository at a time: \"b\" is one argument too many"),
            ([""], "the repository's path is empty"),
        ]
        for (arguments, sentence) in refused {
            XCTAssertThrowsError(try parse(arguments), sentence) { error in
                XCTAssertEqual(error as? UsageError, UsageError(sentence))
            }
        }
    }

    private func parse(_ arguments: String...) throws -> ReplayOptions {
        try parse(arguments)
    }

    private func parse(_ arguments: [String]) throws -> ReplayOptions {
        try ReplayOptions(Arguments(parsing: arguments, options: ReplayOptions.options))
    }
}
