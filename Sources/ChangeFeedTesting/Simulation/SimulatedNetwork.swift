import ChangeFeed

/// Where everything of a simulation stops that something may go wrong with: requests on their way to the server, and
/// handlers before and after they do their work. The script says who goes on, and how.
final class SimulatedNetwork: Sendable {
    /// What waits.
    enum Item: Sendable {
        case request(FaultyDatabase.Request)
        /// A handler of this event; before its work, or after.
        case handler(String, isDone: Bool)
    }

    /// How it goes on.
    enum Fate: Sendable {
        case passes
        case fails(FaultPlan.Fault)
        /// The handler throws.
        case throwsError
        /// The one who waits is no more.
        case isCancelled
    }

    struct Waiting: Sendable {
        let number: Int
        let device: Int
        let item: Item
        fileprivate let continuation: CheckedContinuation<Fate, Never>
    }

    private struct Content {
        var waiting: [Waiting] = []
        var cancelled: Set<Int> = []
        var lastNumber = 0
        var isOpen = false
        /// Which devices' next handlers stop.
        var holds: Set<Int> = []
        var requestCounts: [Int: Int] = [:]
        /// The edits that have been in a record that the server has saved.
        var reached: Set<String> = []
        /// The tags that the server has given since this was last asked.
        var tags: Set<String> = []
    }

    private let content = Locked(Content())

    var waiting: [Waiting] { content.withLock { $0.waiting } }

    /// Only what changes something on the server waits from now on, so that each change can be looked at.
    func open() {
        content.withLock { content in
            content.isOpen = true
            content.holds = []
        }
    }

    /// The next handler of a device stops.
    func holdNextHandler(of device: Int) { content.withLock { _ = $0.holds.insert(device) } }

    func saved(_ record: Record) {
        content.withLock { content in
            content.reached.formUnion(record["log"] ?? [String]())
            content.tags.insert(record.recordChangeTag ?? "")
        }
    }

    func takeTags() -> Set<String> {
        content.withLock { content in
            defer { content.tags = [] }
            return content.tags
        }
    }
    var reachedEdits: Set<String> { content.withLock { $0.reached } }

    /// How many requests a device has made since this was asked.
    func takeRequestCount(of device: Int) -> Int {
        content.withLock { $0.requestCounts.removeValue(forKey: device) ?? 0 }
    }

    func release(_ number: Int, _ fate: Fate) {
        let item = content.withLock { content -> Waiting? in
            guard let index = content.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return content.waiting.remove(at: index)
        }
        item?.continuation.resume(returning: fate)
    }

    /// Waits for what the script says of a request.
    func arrive(_ request: FaultyDatabase.Request, of device: Int) async -> FaultPlan.Fault? {
        content.withLock { content in
            if request.kind != .account { content.requestCounts[device, default: 0] += 1 }
        }
        switch await wait(.request(request), of: device) {
        case .passes: return nil
        case .fails(let fault): return fault
        case .throwsError, .isCancelled:
            return .error(ChangeFeedError(.operationCancelled, "The request was cancelled on its way."))
        }
    }

    /// Waits for what the script says of a handler, if it is to stop. Throws if the handler is to.
    func handle(_ event: String, isDone: Bool, of device: Int) async throws {
        let isHeld = content.withLock { content in
            // The same one stops before and after its work.
            isDone ? content.holds.remove(device) != nil : content.holds.contains(device)
        }
        guard isHeld else { return }
        if case .throwsError = await wait(.handler(event, isDone: isDone), of: device), !isDone { throw Refusal() }
    }

    private struct Refusal: Error {}

    private func wait(_ item: Item, of device: Int) async -> Fate {
        let number = content.withLock { content -> Int? in
            if content.isOpen, !item.changesServer { return nil }
            content.lastNumber += 1
            return content.lastNumber
        }
        guard let number else { return .passes }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = content.withLock { content in
                    if content.cancelled.remove(number) != nil { return true }
                    content.waiting.append(
                        Waiting(number: number, device: device, item: item, continuation: continuation))
                    return false
                }
                if isCancelled { continuation.resume(returning: .isCancelled) }
            }
        } onCancel: {
            let waiting = content.withLock { content -> Waiting? in
                guard let index = content.waiting.firstIndex(where: { $0.number == number }) else {
                    content.cancelled.insert(number)
                    return nil
                }
                return content.waiting.remove(at: index)
            }
            waiting?.continuation.resume(returning: .isCancelled)
        }
    }
}

extension SimulatedNetwork.Item {
    fileprivate var changesServer: Bool {
        guard case .request(let request) = self else { return false }
        return request.kind == .modifyRecords || request.kind == .modifyRecordZones
    }

    var text: String {
        switch self {
        case .request(let request): request.text
        case .handler(let event, let isDone): "the handler of \(event)\(isDone ? ", done," : "")"
        }
    }
}
