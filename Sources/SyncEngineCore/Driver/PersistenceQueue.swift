import ChangeFeed

/// Lets one caller in at a time, in the order of coming.
final class PersistenceQueue: Sendable {
    private struct Line {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let line = Locked(Line())

    func enter() async {
        await withCheckedContinuation { continuation in
            let mayEnter = line.withLock { line in
                if line.isTaken {
                    line.waiting.append(continuation)
                    return false
                }
                line.isTaken = true
                return true
            }
            if mayEnter { continuation.resume() }
        }
    }

    func leave() {
        let next = line.withLock { line -> CheckedContinuation<Void, Never>? in
            if line.waiting.isEmpty {
                line.isTaken = false
                return nil
            }
            return line.waiting.removeFirst()
        }
        next?.resume()
    }
}
