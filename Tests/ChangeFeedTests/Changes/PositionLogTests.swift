import XCTest

@testable import ChangeFeed

/// The index of a feed in memory against a plain dictionary.
final class PositionLogTests: XCTestCase {
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// What a transaction did, to be undone.
    private enum Step {
        case appended(UInt64)
        case removed(UInt64, Int)
    }

    private func contents(_ log: PositionLog<Int>, after position: UInt64 = 0) -> [UInt64] {
        var place = log.place(after: position)
        var found: [UInt64] = []
        while let slot = log.next(from: &place) { found.append(slot.position) }
        return found
    }

    func test6_1_4_theLogHasWhatWasAppendedAndNotRemovedInOrder() {
        for seed in 1...10 as ClosedRange<UInt64> {
            var random = Generator(state: seed)
            var log = PositionLog<Int>()
            var model: [UInt64: Int] = [:]
            var position: UInt64 = 0
            for transaction in 0..<50 {
                var steps: [Step] = []
                // A burst now and then fills several chunks; a sweep from the front empties them.
                let isBurst = Int.random(in: 0..<8, using: &random) == 0
                let isSweep = Int.random(in: 0..<8, using: &random) == 0
                for _ in 0..<(isBurst ? 700 : 20) {
                    position += UInt64.random(in: 1...3, using: &random)
                    log.append(transaction, at: position)
                    model[position] = transaction
                    steps.append(.appended(position))
                }
                let living = model.keys.sorted()
                let leaving =
                    isSweep
                    ? Array(living.prefix(900)) : (0..<15).compactMap { _ in living.randomElement(using: &random) }
                for position in leaving {
                    guard let entry = model.removeValue(forKey: position) else { continue }
                    log.remove(at: position)
                    steps.append(.removed(position, entry))
                }
                if Int.random(in: 0..<4, using: &random) == 0 {
                    for step in steps.reversed() {
                        switch step {
                        case .appended(let position):
                            log.removeLast()
                            model[position] = nil
                        case .removed(let position, let entry):
                            log.restore(entry, at: position)
                            model[position] = entry
                        }
                    }
                }
                if Int.random(in: 0..<3, using: &random) > 0 { log.compact() }

                let expected = model.keys.sorted()
                XCTAssertEqual(log.count, expected.count, "seed \(seed), transaction \(transaction)")
                XCTAssertEqual(contents(log), expected, "seed \(seed), transaction \(transaction)")
                let after = UInt64.random(in: 0...position + 2, using: &random)
                XCTAssertEqual(
                    contents(log, after: after), expected.filter { $0 > after },
                    "seed \(seed), transaction \(transaction), after \(after)")
            }
        }
    }

    func testB27_aLogOfHolesDoesNotGrow() {
        // Given one entry that is moved to the end again and again
        var log = PositionLog<Int>()
        log.append(0, at: 1)
        for position in 2...20_000 as ClosedRange<UInt64> {
            log.remove(at: position - 1)
            log.append(0, at: position)
            log.compact()
        }
        // Then it is the only one, and found from anywhere
        XCTAssertEqual(log.count, 1)
        XCTAssertEqual(contents(log), [20_000])
        XCTAssertEqual(contents(log, after: 19_999), [20_000])
        XCTAssertEqual(log.lastPosition, 20_000)
        XCTAssertLessThan(log.slotCount, 1_500)
    }
}
