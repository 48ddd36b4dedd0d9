extension Note {
    /// The notes that ``generated(_:)`` gives, under names without an order, as CloudKit's own: the text of a UUID.
    static func generatedWithUUIDs(_ range: Range<Int>) -> [Note] {
        zip(range, generated(range)).map { number, note in
            Note(
                name: uuidName(number), title: note.title, text: note.text, viewCount: note.viewCount,
                revision: note.revision, rating: note.rating, editedAt: note.editedAt, isPinned: note.isPinned,
                digest: note.digest)
        }
    }

    /// The name of a note; the same number gives the same name.
    static func uuidName(_ number: Int) -> String {
        var numbers = NumberSequence(seed: UInt64(number) &* 0x5851_F42D_4C95_7F2D)
        var name: [UInt8] = []
        for _ in 0..<2 {
            let word = numbers.next()
            for shift in stride(from: UInt64(60), through: 0, by: -4) {
                if [8, 13, 18, 23].contains(name.count) { name.append(UInt8(ascii: "-")) }
                let digit = UInt8(truncatingIfNeeded: word >> shift) & 15
                name.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
            }
        }
        return String(decoding: name, as: UTF8.self)
    }
}
