import ChangeFeed
import SyncEngineCore

/// The way of push hints from a server to a device. A test says which arrive, and when.
///
/// Hints that a server gives out wait here until they are delivered. They may be lost, doubled, delayed and reordered,
/// as on a real network (rule SB3).
public final class PushChannel: Sendable {
    private let source: ChangeNotifications?
    private let content = Locked<[ChangeNotification]>([])

    /// A channel with nothing in it.
    /// With the hints of a subscription, from `DeviceDatabase.notifications(for:bufferingLimit:)`, those come by
    /// themselves; without, the test pushes what it likes.
    public init(_ notifications: ChangeNotifications? = nil) {
        source = notifications
    }

    /// The hints that are on their way, in the order in which they will arrive.
    public var waiting: [ChangeNotification] { withHints { $0 } }

    private func withHints<Result>(_ body: (inout [ChangeNotification]) -> Result) -> Result {
        let new = source?.takeWaiting() ?? []
        return content.withLock { hints in
            hints += new
            return body(&hints)
        }
    }

    /// Sends a hint on its way.
    public func push(_ hint: ChangeNotification) { withHints { $0.append(hint) } }

    /// The first hint arrives. Gives what the engine decided about it; nil if no hint was on its way.
    @discardableResult
    public func deliver(to engine: SyncEngine) -> SyncEngine.Decision? {
        let hint = withHints { $0.isEmpty ? nil : $0.removeFirst() }
        return hint.map { engine.receive(.push($0)) }
    }

    /// All hints arrive. Gives what the engine decided about each.
    @discardableResult
    public func deliverAll(to engine: SyncEngine) -> [SyncEngine.Decision] {
        let hints = withHints { hints in
            defer { hints = [] }
            return hints
        }
        return hints.map { engine.receive(.push($0)) }
    }

    /// The first hint is lost. Gives false if none was on its way.
    @discardableResult
    public func drop() -> Bool {
        withHints { hints in
            if hints.isEmpty { return false }
            hints.removeFirst()
            return true
        }
    }

    /// The first hint will arrive twice.
    public func duplicate() {
        withHints { hints in if let first = hints.first { hints.insert(first, at: 1) } }
    }

    /// The first hint is overtaken by so many others.
    public func delay(behind count: Int = 1) {
        withHints { hints in
            guard hints.count > 1, count > 0 else { return }
            let first = hints.removeFirst()
            hints.insert(first, at: min(count, hints.count))
        }
    }

    /// The hints will arrive in the opposite order.
    public func reverse() { withHints { $0.reverse() } }
}
