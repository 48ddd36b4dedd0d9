import ChangeFeed
import XCTest

/// The words of a record for full-text search.
final class RecordTokensTests: XCTestCase {
    private func tokens(_ texts: String...) -> [String] {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        for (index, text) in texts.enumerated() { record["k\(index)"] = text }
        return record.allTokens()
    }

    /// Unlike `==` on strings, tells two spellings of é apart.
    private func assertSame(_ left: [String], _ right: [String], line: UInt = #line) {
        XCTAssertEqual(left.map { Array($0.utf8) }, right.map { Array($0.utf8) }, "\(left) \(right)", line: line)
    }

    func testAllTokens_areTheWordsOfStringsAndListsOfStrings() {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        record["b"] = ["Two words", "three"]
        record["a"] = "One"
        record["c"] = 7
        record["d"] = Data("bytes".utf8)
        record["e"] = [1, 2]
        record["f"] = Record.Reference(recordID: Record.ID(recordName: "reference"))
        record.encryptedValues["g"] = "secret"
        XCTAssertEqual(record.allTokens(), ["one", "two", "words", "three"])
        record["a"] = nil as String?
        XCTAssertEqual(record.allTokens(), ["two", "words", "three"])
    }

    func testAllTokens_areInOrderOfFirstAppearanceWithoutDuplicates() {
        XCTAssertEqual(tokens("b a B", "c A d"), ["b", "a", "c", "d"])
        XCTAssertEqual(tokens("", " \t\r\n\u{A0}\u{3000}", "…—!? ()"), [])
        XCTAssertEqual(tokens("ab", "cd"), ["ab", "cd"], "a word does not go on in the next field")
    }

    func testAllTokens_foldCaseAndNormalise() {
        assertSame(tokens("Éclair e\u{301}CLAIR ÉCLAIR"), ["\u{E9}clair"])
        assertSame(tokens("STRASSE Straße STRAẞE"), ["strasse"])
        assertSame(tokens("ΟΔΟΣ οδος οδοσ"), ["οδοσ"])
        assertSame(tokens("ﬁn FIN"), ["fin"])
        assertSame(tokens("\u{212B}ngström ångstro\u{308}m"), ["ångström"])
        assertSame(tokens("\u{212A}elvin kelvin"), ["kelvin"])
        assertSame(tokens("q\u{323}\u{307} q\u{307}\u{323}"), ["q\u{323}\u{307}"])
        assertSame(tokens("ǅ ǆ Ǆ"), ["ǆ"])
        assertSame(tokens("ᾳ ΑΙ"), ["αι"])
        assertSame(tokens("각 \u{1100}\u{1161}\u{11A8}"), ["각"])
    }

    func testAllTokens_knowNoLocale() {
        assertSame(tokens("TITLE title"), ["title"])
        assertSame(tokens("ISI ısı isi İsi"), ["isi", "ısı", "i\u{307}si"])
    }

    func testAllTokens_keepDiacriticsAndCompatibilityForms() {
        XCTAssertEqual(tokens("resume résumé"), ["resume", "résumé"])
        XCTAssertEqual(tokens("Ａｂ ab ½ ²"), ["ａｂ", "ab", "½", "²"])
    }

    func testAllTokens_keepWhatIsInsideAWord() {
        XCTAssertEqual(tokens("Don't don’t l'été 'quoted' dogs'"), ["don't", "l'été", "quoted", "dogs"])
        XCTAssertEqual(tokens("3.14 1,000 -5 10:30 50%"), ["3.14", "1,000", "5", "10", "30", "50"])
        XCTAssertEqual(tokens("example.com e.g. end. Next...more"), ["example.com", "e.g", "end", "next", "more"])
        XCTAssertEqual(tokens("a,b 1,a v2 x86_64 key:value"), ["a", "b", "1", "v2", "x86_64", "key", "value"])
        XCTAssertEqual(tokens("snake_case _edge_ __ a__b well-known"), ["snake_case", "edge", "a__b", "well", "known"])
        XCTAssertEqual(tokens("col·lecció צה\"ל \"a\"b\""), ["col·lecció", "צה\"ל", "a", "b"])
        XCTAssertEqual(tokens("co\u{AD}operate", "cooperate", "a\u{200B}b"), ["cooperate", "a", "b"])
    }

    func testAllTokens_ofChineseAreSingleCharacters() {
        XCTAssertEqual(tokens("北京大学，2024年。時々"), ["北", "京", "大", "学", "2024", "年", "時", "々"])
        XCTAssertEqual(tokens("𠮷野家"), ["𠮷", "野", "家"])
    }

    func testAllTokens_ofJapaneseAreRunsOfOneKana() {
        XCTAssertEqual(tokens("これはペンです"), ["これは", "ペン", "です"])
        XCTAssertEqual(tokens("東京タワーのコーヒー、らーめん"), ["東", "京", "タワー", "の", "コーヒー", "らーめん"])
        assertSame(tokens("か\u{3099}く がく"), ["がく"])
        XCTAssertEqual(tokens("ABCデスク1"), ["abc", "デスク", "1"])
    }

    func testAllTokens_ofHangulAreCutAtSpaces() {
        XCTAssertEqual(tokens("안녕하세요 세계"), ["안녕하세요", "세계"])
    }

    func testAllTokens_ofScriptsWithoutSpacesAreCharactersWithTheirMarks() {
        XCTAssertEqual(tokens("กำลัง ๑๒"), ["กำ", "ลั", "ง", "๑๒"])
        XCTAssertEqual(tokens("ខ្មែរ").joined(), "ខ្មែរ")
    }

    func testAllTokens_ofOtherScriptsKeepTheirMarks() {
        XCTAssertEqual(tokens("Привет, МИР"), ["привет", "мир"])
        XCTAssertEqual(tokens("हिन्दी में"), ["हिन्दी", "में"])
        XCTAssertEqual(tokens("مرحبا بالعالم ١٢٣"), ["مرحبا", "بالعالم", "١٢٣"])
        XCTAssertEqual(tokens("שָׁלוֹם עולם").count, 2)
        XCTAssertEqual(tokens("தமிழ் ქართული ᲥᲐᲠᲗᲣᲚᲘ ᏣᎳᎩ"), ["தமிழ்", "ქართული", "ꮳꮃꭹ"])
        XCTAssertEqual(tokens("می\u{200C}خواهم"), ["می\u{200C}خواهم"])
        XCTAssertEqual(tokens("x\u{300}y z\u{20D7}"), ["x\u{300}y", "z\u{20D7}"])
        XCTAssertEqual(tokens("\u{65C}\u{20D2}", "\u{301}a"), ["a"], "a mark without a base is no word")
    }

    func testAllTokens_keepEmojiWhole() {
        let family = "👨\u{200D}👩\u{200D}👧"
        let scotland = "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}"
        assertSame(tokens("hi\(family)👍🏽🇩🇪🇫🇷"), ["hi", family, "👍🏽", "🇩🇪", "🇫🇷"])
        assertSame(tokens(scotland), [scotland])
        assertSame(tokens("❤\u{FE0F} ❤ ❤\u{FE0F}\u{200D}🔥"), ["❤", "❤\u{200D}🔥"])
        assertSame(tokens("1\u{FE0F}\u{20E3} 1 # *"), ["1\u{20E3}", "1"])
        assertSame(tokens("Acme™ ©"), ["acme"])
    }

    func testAllTokens_areTotalAndTheirOwnTokens() {
        var random = FeedFixture.Random(seed: 7)
        for _ in 0..<2_000 {
            var text = ""
            for _ in 0..<20 {
                let value = UInt32.random(in: 0...(Bool.random(using: &random) ? 0x3100 : 0x1FFFF), using: &random)
                // The iota below folds to a letter, which then is a word without the mark's base.
                if let scalar = Unicode.Scalar(value), value != 0x345 { text.unicodeScalars.append(scalar) }
            }
            for token in tokens(text) {
                XCTAssertFalse(token.isEmpty)
                assertSame(tokens(token), [token])
            }
        }
    }
}
