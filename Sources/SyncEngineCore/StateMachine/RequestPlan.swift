import ChangeFeed

/// A request to save and delete records, as it is made and, if its answer is lost, made again.
struct PlannedRequest: Sendable {
    var requestID: String
    var saves: [Record]
    var deletions: [RecordModifyRequest.Deletion]
    var isAtomic: Bool
    /// Which adding of each change is sent.
    var generations: [Record.ID: UInt64]
    /// The bounds that held before this request was divided, if it was.
    var limitsBefore: RequestPlan.Limits?
    /// How often the very same request was made before.
    var repeats = 0
    /// Whether something was fetched since it was first made.
    var isOvertaken = false

    var recordIDs: [Record.ID] { saves.map(\.recordID) + deletions.map(\.recordID) }
    var itemCount: Int { saves.count + deletions.count }
    var byteCount: Int { saves.reduce(0) { $0 + $1.changedByteCount } }

    var request: RecordModifyRequest {
        RecordModifyRequest(
            saving: saves, deleting: deletions, savePolicy: .ifServerRecordUnchanged, atomically: isAtomic,
            requestID: requestID)
    }

    /// The part of it that is about some of its items.
    func part(_ recordIDs: Set<Record.ID>, requestID: String) -> PlannedRequest {
        var part = self
        part.requestID = requestID
        part.repeats = 0
        part.isOvertaken = false
        part.saves = saves.filter { recordIDs.contains($0.recordID) }
        part.deletions = deletions.filter { recordIDs.contains($0.recordID) }
        part.generations = generations.filter { recordIDs.contains($0.key) }
        part.repeats = 0
        return part
    }
}

/// Divides what is to be sent into requests: counts saves, deletions and bytes, keeps parents before children and
/// circles together.
enum RequestPlan {
    struct Limits: Sendable, Equatable {
        var items: Int
        var bytes: Int
    }

    /// Items that cannot be in one request though they have to, and the requests of the others.
    struct Result {
        var requests: [PlannedRequest] = []
        var tooLarge: [[Record.ID]] = []
    }

    static func divide(
        _ whole: PlannedRequest, limits: Limits, nextID: () -> String
    ) -> Result {
        let needs = whole.saves.linkIndices
        let fits = whole.itemCount <= limits.items && whole.byteCount <= limits.bytes
        if whole.isAtomic, fits {
            var request = whole
            request.requestID = nextID()
            return Result(requests: [request])
        }
        let groups = whole.isAtomic ? ReferenceOrder.components(needs: needs) : ReferenceOrder.groups(needs: needs)
        var result = Result()
        var current: [Record.ID] = []
        var bytes = 0
        func close() {
            if !current.isEmpty { result.requests.append(whole.part(Set(current), requestID: nextID())) }
            current = []
            bytes = 0
        }
        var ordered: [Record.ID] = []
        for group in groups {
            let records = group.map { whole.saves[$0] }
            let size = records.reduce(0) { $0 + $1.changedByteCount }
            if records.count > limits.items {
                result.tooLarge.append(records.map(\.recordID))
                continue
            }
            if current.count + records.count > limits.items || bytes + size > limits.bytes { close() }
            current += records.map(\.recordID)
            ordered += records.map(\.recordID)
            bytes += size
        }
        for deletion in whole.deletions {
            if current.count >= limits.items { close() }
            current.append(deletion.recordID)
        }
        close()
        return result.ordered(by: ordered)
    }

    /// The links between the saves of a request, as parts that have none between them; deletions are parts of their own.
    static func components(of request: PlannedRequest) -> [[Record.ID]] {
        ReferenceOrder.components(needs: request.saves.linkIndices).map { $0.map { request.saves[$0].recordID } }
            + request.deletions.map { [$0.recordID] }
    }

    /// A refused request in two parts, each at most half; nil if it cannot be divided.
    static func halves(of request: PlannedRequest, nextID: () -> String) -> [PlannedRequest]? {
        let parts: [[Record.ID]] =
            request.isAtomic
            ? components(of: request)
            : ReferenceOrder.groups(needs: request.saves.linkIndices).map { $0.map { request.saves[$0].recordID } }
                + request.deletions.map { [$0.recordID] }
        guard parts.count > 1 else { return nil }
        var first: Set<Record.ID> = []
        var count = 0
        for part in parts.dropLast() {
            if !first.isEmpty, count + part.count > (request.itemCount + 1) / 2 { break }
            first.formUnion(part)
            count += part.count
        }
        let rest = Set(request.recordIDs).subtracting(first)
        return [request.part(first, requestID: nextID()), request.part(rest, requestID: nextID())]
    }
}

extension RequestPlan.Result {
    /// With the saves of each request in an order in which parents come first.
    fileprivate func ordered(by recordIDs: [Record.ID]) -> Self {
        var places: [Record.ID: Int] = [:]
        for (place, recordID) in recordIDs.enumerated() { places[recordID] = place }
        var result = self
        for index in result.requests.indices {
            result.requests[index].saves.sort { places[$0.recordID, default: 0] < places[$1.recordID, default: 0] }
        }
        return result
    }
}
