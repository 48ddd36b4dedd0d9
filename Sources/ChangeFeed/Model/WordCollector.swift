/// Cuts texts into words and keeps each word once, in the order of first appearance. See ``Record/allTokens()`` for
/// what a word is.
struct WordCollector {
    private(set) var words: [String] = []
    private var seen: Set<ByteString> = []

    private var word = ""
    /// The last letter or digit of the word.
    private var last: CharacterClass?
    /// What stands between the word and what may go on with it.
    private var joiner = ""
    private var joinerClass: CharacterClass?

    mutating func collect(_ text: String) {
        for character in text { take(character, CharacterClass(of: character)) }
        endWord()
    }

    private mutating func take(_ character: Character, _ kind: CharacterClass) {
        switch kind {
        case .letter, .hebrew, .digit, .hiragana, .katakana, .prolongation:
            if let last, !last.goesOn(with: kind, across: joinerClass) { endWord() }
            word += joiner
            word.append(character)
            joiner = ""
            joinerClass = nil
            // A mark of length belongs to the kana before it, whichever those are.
            if kind != .prolongation || last == nil { last = kind == .prolongation ? .katakana : kind }
        case .single:
            endWord()
            word.append(character)
            endWord()
        case .connector, .apostrophe, .midLetter, .midDigit, .quote:
            if last == nil || joinerClass != nil && !(joinerClass == .connector && kind == .connector) {
                endWord()
            } else {
                joiner.append(character)
                joinerClass = kind
            }
        case .invisible: return
        case .other: endWord()
        }
    }

    private mutating func endWord() {
        joiner = ""
        joinerClass = nil
        last = nil
        guard !word.isEmpty else { return }
        let folded = WordCollector.folded(word)
        word = ""
        if !folded.isEmpty, seen.insert(ByteString(folded)).inserted { words.append(folded) }
    }
}

// MARK: - The classes of characters

/// What a character is to the words around it: the classes of UAX #29, as far as they differ here.
enum CharacterClass {
    case letter
    case hebrew
    case digit
    case hiragana
    case katakana
    /// The mark of length of both kana.
    case prolongation
    /// A word by itself: an ideograph, a letter of a script without spaces, an emoji.
    case single
    /// Joins what stands on both sides, whatever it is.
    case connector
    /// Joins letters, and joins digits.
    case apostrophe
    case midLetter
    case midDigit
    /// Joins letters of Hebrew.
    case quote
    /// Is not there.
    case invisible
    case other

    init(of character: Character) {
        if let ascii = character.asciiValue {
            self = CharacterClass(ascii: ascii)
            return
        }
        let scalars = character.unicodeScalars
        if CharacterClass.isEmoji(scalars) {
            self = .single
        } else if let first = scalars.first(where: { !CharacterClass.isInvisible($0) }) {
            self = CharacterClass(of: first)
        } else {
            self = .invisible
        }
    }

    private init(ascii: UInt8) {
        switch ascii {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): self = .letter
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .digit
        case UInt8(ascii: "_"): self = .connector
        case UInt8(ascii: "'"), UInt8(ascii: "."): self = .apostrophe
        case UInt8(ascii: ","), UInt8(ascii: ";"): self = .midDigit
        case UInt8(ascii: "\""): self = .quote
        default: self = .other
        }
    }

    private init(of scalar: Unicode.Scalar) {
        if scalar.isASCII {
            self.init(ascii: UInt8(truncatingIfNeeded: scalar.value))
            return
        }
        switch scalar.value {
        case 0x3041...0x3096, 0x309D...0x309F, 0x1B001...0x1B11F, 0x1B132, 0x1B150...0x1B152, 0x1F200:
            self = .hiragana
        case 0x30A1...0x30FA, 0x30FD...0x30FF, 0x31F0...0x31FF, 0xFF66...0xFF6F, 0xFF71...0xFF9D, 0x1AFF0...0x1AFFE,
            0x1B000, 0x1B120...0x1B122, 0x1B155, 0x1B164...0x1B167:
            self = .katakana
        case 0x30FC, 0xFF70, 0x3031...0x3035: self = .prolongation
        case 0x05D0...0x05F2, 0xFB1D...0xFB4F: self = .hebrew
        case 0x2018, 0x2019, 0x2024, 0xFE52, 0xFF07, 0xFF0E: self = .apostrophe
        case 0x00B7, 0x0387, 0x055F, 0x05F4, 0x2027: self = .midLetter
        case 0x037E, 0x0589, 0x060C, 0x060D, 0x066C, 0x07F8, 0x2044, 0xFE10, 0xFE14, 0xFE50, 0xFE54, 0xFF0C, 0xFF1B:
            self = .midDigit
        case 0x066B: self = .digit
        case 0x3005, 0x303B: self = .single
        default: self.init(byPropertiesOf: scalar)
        }
    }

    private init(byPropertiesOf scalar: Unicode.Scalar) {
        let properties = scalar.properties
        if properties.generalCategory == .nonspacingMark {
            // Nothing is before the mark that it could be part of.
            self = .other
            return
        }
        let isWordCharacter = properties.isAlphabetic || properties.numericType != nil
        if properties.isIdeographic || isWordCharacter && CharacterClass.isUnspaced(scalar) {
            self = properties.numericType == .decimal ? .digit : .single
        } else if properties.isAlphabetic {
            self = .letter
        } else if properties.numericType != nil {
            self = .digit
        } else {
            self = properties.generalCategory == .connectorPunctuation ? .connector : .other
        }
    }

    /// Whether words of the scalar's script are not spaced (line break class SA).
    private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x1950...0x19DF, 0x1A20...0x1AAF, 0xA9E0...0xA9FF,
            0xAA60...0xAADF, 0x11700...0x1174F:
            true
        default: false
        }
    }

    private static func isEmoji(_ scalars: Character.UnicodeScalarView) -> Bool {
        guard let first = scalars.first, first.properties.isEmoji else { return false }
        if first.properties.isEmojiPresentation || first.value >= 0x2600 { return true }
        return scalars.contains { $0 == "\u{FE0F}" || $0 == "\u{20E3}" }
    }

    /// Format characters: part of no word, and no gap in one. The space of no width is a gap.
    static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .format && scalar != "\u{200B}"
    }

    /// Whether a word that came to this class goes on with another (UAX #29, WB5 to WB13b).
    fileprivate func goesOn(with next: CharacterClass, across joiner: CharacterClass?) -> Bool {
        let areLetters = isLetter && next.isLetter
        let areDigits = self == .digit && next == .digit
        switch joiner {
        case nil:
            if next == .prolongation { return self == .hiragana || self == .katakana }
            return self == next || (isLetter || self == .digit) && (next.isLetter || next == .digit)
        case .connector: return true
        case .apostrophe: return areLetters || areDigits
        case .midLetter: return areLetters
        case .midDigit: return areDigits
        case .quote: return self == .hebrew && next == .hebrew
        default: return false
        }
    }

    private var isLetter: Bool { self == .letter || self == .hebrew }
}
