import ChangeFeed

/// Names that a careless store confuses with each other, cuts or refuses.
enum Specimen {
    static let names = [
        "a", "A", "a ", " a", "aa", "", "\u{0}", "a\u{0}", "a\u{0}b", "\u{E9}", "e\u{301}", "\u{212B}", "\u{C5}",
        "A\u{30A}", "%", "_", "'", "\"", "\\", "NULL", "0", "00", "1e0", "\u{1F600}", "\u{FFFD}", "\u{10FFFF}",
        String(repeating: "x", count: 255), String(repeating: "x", count: 254) + "y", "\u{FEFF}a", "ß", "SS", "ss",
    ]
}

/// Throws unless a body throws the error that was thrown on purpose.
func expectOnPurpose(_ step: String, _ body: () throws(ChangeFeedError) -> Void) throws {
    do {
        try body()
    } catch {
        return try expect("the error of \(step)", "\(error)", is: "\(ChangeFeedError.onPurpose)")
    }
    throw Mismatch(step, expected: "the visitor's error", found: "no error")
}
