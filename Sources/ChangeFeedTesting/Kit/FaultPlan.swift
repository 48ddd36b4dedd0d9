import ChangeFeed

/// Which requests fail, and how.
public struct FaultPlan: Sendable {
    /// The kinds of requests.
    public enum Request: String, Sendable, Hashable, CaseIterable {
        /// Changes of the database.
        case databaseChanges
        /// Changes of a zone.
        case recordZoneChanges
        /// Saving and deleting records.
        case modifyRecords
        /// Saving and deleting zones.
        case modifyRecordZones
        /// Records by id.
        case records
        /// Zones by id, or all.
        case recordZones
        /// Everything about subscriptions.
        case subscriptions
        /// The account.
        case account
    }

    /// How a request fails.
    public enum Fault: Sendable {
        /// It is not carried out, and gives this error.
        case error(ChangeFeedError)
        /// It is carried out, and gives this error in place of the answer.
        case lostAnswer(ChangeFeedError)
        /// It is not carried out and never answered, unless it is cancelled.
        case noAnswer
        /// It is carried out and never answered, unless it is cancelled.
        case unheard
        /// It is answered when the gate is opened.
        case held(FaultGate)
        /// Some items of a request to save and delete are not carried out, and give this error; the others are.
        case items(Set<Record.ID>, ChangeFeedError)
        /// A page that says that more is coming comes once more, where the next belongs.
        case duplicatePage
        /// A page is empty, says that more is coming, and has the token that was asked with. Who asks without a token
        /// gets the page as it is.
        case stuckToken
        /// A page of another zone comes. Who asks without a token gets the right one if the other zone has nothing: the
        /// two cannot be told apart.
        case wrongZone(RecordZone.ID)
        /// Some records of a page cannot be given.
        case unreadableRecords(Set<Record.ID>, ChangeFeedError)
    }

    struct Rule: Sendable {
        let request: Request
        /// Which requests of the kind, counted from 1.
        let ordinals: ClosedRange<Int>
        let zoneID: RecordZone.ID?
        let fault: Fault
    }

    private(set) var rules: [Rule] = []

    /// A plan in which nothing fails.
    public init() {}

    /// Adds a fault of one request of a kind, counted from 1 since the plan was given to the database.
    public mutating func fail(_ request: Request, number: Int, with fault: Fault) {
        fail(request, numbers: number...number, with: fault)
    }

    /// Adds a fault of several requests of a kind, counted from 1 since the plan was given to the database; with a zone
    /// only the requests for changes of that zone count.
    public mutating func fail(
        _ request: Request, numbers: ClosedRange<Int> = 1...Int.max, inZoneWith zoneID: RecordZone.ID? = nil,
        with fault: Fault
    ) {
        rules.append(Rule(request: request, ordinals: numbers, zoneID: zoneID, fault: fault))
    }
}

/// Lets a request wait until a test says so.
public final class FaultGate: Sendable {
    private struct Content {
        var isOpen = false
        var hasArrived = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var arrivals: [CheckedContinuation<Void, Never>] = []
    }

    private let content = Locked(Content())

    /// A closed gate.
    public init() {}

    /// Lets everybody through, now and later.
    public func open() {
        let waiting = content.withLock { content in
            content.isOpen = true
            defer { content.waiting = [] }
            return content.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until somebody stands at the gate.
    public func arrival() async {
        await withCheckedContinuation { continuation in
            let hasArrived = content.withLock { content in
                if !content.hasArrived { content.arrivals.append(continuation) }
                return content.hasArrived
            }
            if hasArrived { continuation.resume() }
        }
    }

    /// Waits until the gate is open.
    public func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, arrivals) = content.withLock { content in
                content.hasArrived = true
                defer { content.arrivals = [] }
                if !content.isOpen { content.waiting.append(continuation) }
                return (content.isOpen, content.arrivals)
            }
            for arrival in arrivals { arrival.resume() }
            if isOpen { continuation.resume() }
        }
    }
}
