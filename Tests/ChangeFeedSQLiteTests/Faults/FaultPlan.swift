/// Which operations fail: counts them as they come and answers for each.
struct FaultPlan {
    typealias Operation = FaultyFileSystem.Operation

    enum Verdict: Equatable {
        case perform
        /// The disk refuses, the computer lives on.
        case fail(code: Int32)
        /// The power goes while the operation is under way: the disk may hold its outcome or not.
        case interrupt(code: Int32)
        /// The power is off.
        case ignore(code: Int32)
    }

    private struct Fault {
        let operation: Operation
        let number: Int
        let code: Int32
        let persistence: FaultyFileSystem.Persistence

        func meets(_ operation: Operation, number: Int) -> Bool {
            guard operation == self.operation else { return false }
            return switch persistence {
            case .once: number == self.number
            case .fromThenOn: number >= self.number
            }
        }
    }

    private(set) var counts: [Operation: Int] = [:]
    private(set) var changeCount = 0
    private(set) var failureCount = 0
    private(set) var hasPower = true
    private var faults: [Fault] = []
    private var cut: Int?

    mutating func fail(
        _ operation: Operation, number: Int, code: Int32, persistence: FaultyFileSystem.Persistence
    ) {
        faults.append(Fault(operation: operation, number: number, code: code, persistence: persistence))
    }

    mutating func cutPower(atChange number: Int) {
        cut = number
    }

    /// Turns the power on with nothing planned; the counts go on.
    mutating func restorePower() {
        hasPower = true
        faults = []
        cut = nil
    }

    mutating func admit(_ operation: Operation) -> Verdict {
        let verdict = judge(operation)
        if verdict != .perform { failureCount += 1 }
        return verdict
    }

    private mutating func judge(_ operation: Operation) -> Verdict {
        guard hasPower else { return .ignore(code: operation.usualCode) }
        let number = counts[operation, default: 0] + 1
        counts[operation] = number
        if operation.changesDisk {
            changeCount += 1
            if changeCount == cut {
                hasPower = false
                return .interrupt(code: operation.usualCode)
            }
        }
        guard let fault = faults.first(where: { $0.meets(operation, number: number) }) else { return .perform }
        return .fail(code: fault.code)
    }
}
