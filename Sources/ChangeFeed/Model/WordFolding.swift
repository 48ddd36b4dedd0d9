#if canImport(FoundationEssentials)
    // The part of Foundation that is at hand here cannot normalise, and all of it would bring ICU to every user of the
    // feed; the standard library can, and keeps it from view.
    @_spi(_Unicode) import Swift
#else
    import Foundation
#endif

extension WordCollector {
    /// A word with its case folded, without what cannot be seen, in normalisation form C.
    static func folded(_ word: String) -> String {
        if word.utf8.allSatisfy({ $0 < 0x80 }) { return word.lowercased() }
        // Folding a precomposed letter may give one that has a combining mark, so it is taken apart first
        // (definition D145 of the standard) and put together last.
        var folded = ""
        for scalar in decomposed(word) {
            switch scalar {
            case "\u{2018}", "\u{2019}", "\u{FF07}": folded.unicodeScalars.append("'")
            case "\u{FE0E}", "\u{FE0F}": continue
            case "\u{200C}", "\u{200D}": folded.unicodeScalars.append(scalar)
            default:
                if !CharacterClass.isInvisible(scalar) || isTag(scalar) { fold(scalar, into: &folded) }
            }
        }
        return composed(folded)
    }

    /// The full case folding of a scalar. The standard library has only the mappings between cases; to lower case, to
    /// upper and back to lower comes to the same classes.
    private static func fold(_ scalar: Unicode.Scalar, into folded: inout String) {
        if scalar == "ı" {
            folded.unicodeScalars.append(scalar)
            return
        }
        for lower in scalar.properties.lowercaseMapping.unicodeScalars {
            for upper in lower.properties.uppercaseMapping.unicodeScalars {
                folded += upper.properties.lowercaseMapping
            }
        }
    }

    /// The scalars by which the flags of regions differ.
    private static func isTag(_ scalar: Unicode.Scalar) -> Bool {
        0xE0020...0xE007F ~= scalar.value
    }

    #if canImport(FoundationEssentials)
        private static func decomposed(_ text: String) -> String.UnicodeScalarView {
            var scalars = String.UnicodeScalarView()
            for scalar in text._nfd { scalars.append(scalar) }
            return scalars
        }

        private static func composed(_ text: String) -> String {
            var scalars = String.UnicodeScalarView()
            for scalar in text._nfc { scalars.append(scalar) }
            return String(scalars)
        }
    #else
        private static func decomposed(_ text: String) -> String.UnicodeScalarView {
            text.decomposedStringWithCanonicalMapping.unicodeScalars
        }

        private static func composed(_ text: String) -> String {
            text.precomposedStringWithCanonicalMapping
        }
    #endif
}
