/// What a check found, where it is not what was promised.
struct Mismatch: Error, Sendable {
    var step: String
    let expected: String
    let found: String
    var history: [String] = []

    init(_ step: String, expected: String, found: String) {
        self.step = step
        self.expected = expected
        self.found = found
    }
}

/// Throws unless a value is the one that was promised.
func expect<Value: Equatable>(_ step: String, _ found: Value, is expected: Value) throws {
    guard found != expected else { return }
    throw Mismatch(step, expected: "\(expected)", found: "\(found)")
}

/// Throws unless a condition holds.
func expect(_ step: String, _ condition: Bool, _ expected: String, found: @autoclosure () -> String) throws {
    if !condition { throw Mismatch(step, expected: expected, found: found()) }
}

/// Throws unless all lines are the promised ones, and names the first that is not.
func expect(_ step: String, _ found: [String], is expected: [String]) throws {
    guard found != expected else { return }
    let index = zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, expected.count)
    func line(_ lines: [String]) -> String {
        let place = index < lines.count ? "\"\(lines[index])\"" : "nothing"
        return "\(place) as number \(index + 1) of \(lines.count)"
    }
    throw Mismatch(step, expected: line(expected), found: line(found))
}
