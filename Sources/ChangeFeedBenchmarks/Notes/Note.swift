#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an app has before it makes a record of it: eight values, about 200 bytes with their keys.
struct Note: Sendable {
    /// The name of the field that the workloads look at and change.
    static let countedKey = "viewCount"

    let name: String
    let title: String
    let text: String
    let viewCount: Int64
    let revision: Int64
    let rating: Double
    let editedAt: Date
    let isPinned: Bool
    let digest: Data
}

extension Note {
    /// Notes with the names "note-0000000" and so on; the same number gives the same notes.
    static func generated(_ range: Range<Int>) -> [Note] {
        range.map { number in
            var numbers = NumberSequence(seed: UInt64(number))
            return Note(
                name: name(number),
                title: words(2...5, from: &numbers),
                text: words(10...18, from: &numbers),
                viewCount: Int64(numbers.next() % 1_000_000) + 16,
                revision: Int64(numbers.next() % 40),
                rating: Double(numbers.next() % 5000) / 1000,
                editedAt: Date(timeIntervalSinceReferenceDate: 7e8 + Double(numbers.next() % 100_000_000) / 1000),
                isPinned: numbers.next() % 8 == 0,
                digest: Data((0..<8).map { _ in UInt8(truncatingIfNeeded: numbers.next()) })
            )
        }
    }

    static func name(_ number: Int) -> String {
        let digits = String(number)
        return "note-" + String(repeating: "0", count: max(0, 7 - digits.count)) + digits
    }

    private static let vocabulary = [
        "and", "bread", "bring", "call", "change", "feed", "for", "garden", "letter", "list", "meeting", "milk", "next",
        "of", "order", "project", "recipe", "river", "Sunday", "the", "ticket", "to", "train", "with",
    ].map { Array($0.utf8) }

    /// Words with a space between them, in a string that has no room to spare.
    private static func words(_ bounds: ClosedRange<Int>, from numbers: inout NumberSequence) -> String {
        let count = bounds.lowerBound + Int(numbers.next() % UInt64(bounds.count))
        var text: [UInt8] = []
        for _ in 0..<count {
            if !text.isEmpty { text.append(UInt8(ascii: " ")) }
            text += vocabulary[Int(numbers.next() % UInt64(vocabulary.count))]
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Steele, Lea and Flood's SplitMix64: numbers that look random and are the same in every run.
struct NumberSequence {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension Range<Int> {
    /// The numbers in ranges of at most `count`.
    func batches(of count: Int) -> some Sequence<Range<Int>> {
        stride(from: lowerBound, to: upperBound, by: count).lazy.map { $0..<Swift.min($0 + count, upperBound) }
    }
}
