import Synchronization

/// A number that bodies of transactions may add to, wherever they run.
final class Counter: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .sequentiallyConsistent) }

    func add() {
        number.add(1, ordering: .sequentiallyConsistent)
    }
}
