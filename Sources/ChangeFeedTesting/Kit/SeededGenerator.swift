/// A small generator whose numbers its seed fixes, on every machine (Steele, Lea and Flood's SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// The generator of one step of a run: steps do not depend on how much the earlier ones drew.
    package init(seed: UInt64, step: Int) {
        self.init(seed: seed)
        state ^= next() &+ UInt64(bitPattern: Int64(step)) &* 0xD1B5_4A32_D192_ED03
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number in a range.
    package mutating func next(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// A number from 0 up to, but not including, the bound.
    package mutating func below(_ bound: Int) -> Int {
        bound <= 1 ? 0 : Int(next() % UInt64(bound))
    }

    /// One of the elements, of which there is at least one.
    package mutating func element<Element>(of elements: [Element]) -> Element {
        elements[below(elements.count)]
    }

    /// Whether something that happens once in so many times happens now.
    package mutating func once(in times: Int) -> Bool { below(times) == 0 }
}
