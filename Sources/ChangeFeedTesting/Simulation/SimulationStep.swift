/// One thing that happens in a simulation.
///
/// A step says what kind of thing it is, and has a number from which everything else about it is drawn when it happens:
/// the device, the record, the fault. A script thus makes sense with any of its steps left out.
public struct SimulationStep: Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing happens.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A request or a handler that waits goes on.
        case proceed
        /// A request fails in some way, or a handler throws.
        case fail
        /// The user of a device creates or changes records.
        case edit
        /// The user of a device deletes a record.
        case delete
        /// The user of a device moves a record to another zone.
        case move
        /// The user of a device creates or deletes a zone.
        case zone
        /// A hint reaches a device, or is lost, doubled or overtaken.
        case hint
        /// The host of an engine tells of something.
        case trigger
        /// The app calls its engine.
        case call
        /// A call is given up, or everything is.
        case cancel
        /// Time passes.
        case tick
        /// A device dies, to be launched again from what it has stored.
        case crash
        /// A handler is going to stop before and after its work.
        case hold
        /// Somebody else signs in on a device, or the account is not ready.
        case account
        /// The server removes a zone: purged, reset or deleted elsewhere.
        case purge
        /// The server discards history.
        case compact
        /// The server is restarted.
        case restart
        /// The server's store is copied.
        case snapshot
        /// The server's store is put back to a copy.
        case restore
    }

    /// What kind of thing happens.
    public let kind: Kind
    /// Where everything else about it comes from.
    public let number: UInt32

    /// A step.
    public init(_ kind: Kind, _ number: UInt32) {
        self.kind = kind
        self.number = number
    }

    /// The step as it is written in a script.
    public var description: String { ".init(.\(kind.rawValue), \(number))" }

    /// How often each kind comes, of a thousand.
    private static let frequencies: [(Kind, Int)] = [
        (.proceed, 440), (.fail, 80), (.edit, 130), (.delete, 30), (.move, 12), (.zone, 12), (.hint, 70),
        (.trigger, 40), (.call, 50), (.cancel, 14), (.tick, 40), (.crash, 20), (.hold, 24), (.account, 10),
        (.purge, 6), (.compact, 8), (.restart, 6), (.snapshot, 5), (.restore, 3),
    ]

    static func random(_ numbers: inout SeededGenerator) -> SimulationStep {
        var place = numbers.below(frequencies.reduce(0) { $0 + $1.1 })
        for (kind, count) in frequencies {
            if place < count { return SimulationStep(kind, UInt32(truncatingIfNeeded: numbers.next())) }
            place -= count
        }
        return SimulationStep(.proceed, 0)
    }
}
