extension Record {
    /// The words of all texts of the record, for full-text search: of the strings and the lists of strings among its
    /// loaded fields, encrypted values left out. Each once, in the order of first appearance, fields in the order of
    /// ``allKeys``.
    ///
    /// The words do not depend on a locale:
    /// - Words are cut by the default rules of Unicode (UAX #29), by whole characters: a combining mark stays with its
    ///   base, an emoji of several scalars is one word. "don't", "l'été", "3.14" and "snake_case" are one word each; a
    ///   colon and a hyphen part words, and an underscore at the edge of a word is no part of it.
    /// - Where words are not spaced, in Chinese, and in Thai, Lao, Khmer, Myanmar and their kin, every character is a
    ///   word. A run of hiragana is one, a run of katakana another. Hangul is cut at spaces.
    /// - Case is folded fully: "Straße" and "STRASSE" are the same word, and so are "ΟΔΟΣ" and "οδος". The dotless ı
    ///   remains a letter of its own.
    /// - Words are in normalisation form C, so the same word is the same bytes. Diacritics are kept: "é" is not "e".
    ///   Compatibility forms are kept too, such as letters of full width. The typographic apostrophe becomes the
    ///   straight one; invisible format characters, such as the soft hyphen, and emoji variation selectors are dropped.
    public func allTokens() -> [String] {
        var words = WordCollector()
        for field in fields {
            switch field.value {
            case .string(let text): words.collect(text)
            case .list(let values):
                for case .string(let text) in values { words.collect(text) }
            default: continue
            }
        }
        return words.words
    }
}
