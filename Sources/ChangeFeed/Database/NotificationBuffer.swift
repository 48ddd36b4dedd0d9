/// The hints that one consumer has not taken yet: at most one for each zone, and never more than a bound.
///
/// A hint for a zone that is waiting already takes the earlier one's place. Beyond the bound, one pruned hint stands
/// for all that were waiting and all that come until it is taken.
package struct NotificationBuffer: Sendable {
    private let limit: Int
    private var waiting: [ChangeNotification] = []
    private var isClosed = false

    /// An empty buffer for at least one hint.
    package init(limit: Int) {
        self.limit = max(limit, 1)
    }

    /// How many hints are waiting.
    package var count: Int { waiting.count }

    /// Adds a hint. What is added to a closed buffer is lost.
    package mutating func add(_ notification: ChangeNotification) {
        if isClosed { return }
        if notification.isPruned || waiting.first?.isPruned == true {
            waiting = [notification.pruned]
        } else if let index = waiting.firstIndex(where: { $0.zoneID == notification.zoneID }) {
            waiting[index] = notification
        } else if waiting.count < limit {
            waiting.append(notification)
        } else {
            waiting = [notification.pruned]
        }
    }

    /// Takes the hint that has waited longest.
    package mutating func takeFirst() -> ChangeNotification? {
        waiting.isEmpty ? nil : waiting.removeFirst()
    }

    /// Drops everything, now and from now on.
    package mutating func close() {
        waiting = []
        isClosed = true
    }
}
