import ChangeFeed

/// What may go wrong with a request of a simulation.
enum SimulationFaults {
    /// Codes that a request may fail with. A server that says of its own records what is not true would be believed: that
    /// there is no such record, or that another version is there.
    private static let codes = ChangeFeedError.Code.allCases.filter { $0 != .unknownItem && $0 != .serverRecordChanged }
    /// Codes that a request to write may fail with: neither is it true that the zone is gone.
    private static let writeCodes = codes.filter { $0 != .zoneNotFound && $0 != .userDeletedZone }

    private static func code(for request: FaultPlan.Request, _ numbers: inout SeededGenerator) -> ChangeFeedError.Code {
        let isWrite = request == .modifyRecords || request == .modifyRecordZones
        return numbers.element(of: isWrite ? writeCodes : codes)
    }

    static func fault(of request: FaultyDatabase.Request, _ numbers: inout SeededGenerator) -> FaultPlan.Fault {
        switch (request.kind, numbers.below(10)) {
        case (_, 0): return .noAnswer
        case (_, 1): return .unheard
        case (.modifyRecords, 2...4), (.modifyRecordZones, 2...4):
            return .lostAnswer(error(numbers.once(in: 2) ? .networkFailure : .serverResponseLost, &numbers))
        case (.modifyRecords, 5...7):
            let chosen = request.recordIDs.filter { _ in numbers.once(in: 2) }
            var code = code(for: request.kind, &numbers)
            // Of an item that is said to have failed, it is known that it was not carried out.
            if [.networkFailure, .serverResponseLost, .operationCancelled].contains(code) { code = .zoneBusy }
            return .items(Set(chosen.isEmpty ? request.recordIDs : chosen), error(code, &numbers))
        case (.recordZoneChanges, 2): return .duplicatePage
        case (.recordZoneChanges, 3), (.databaseChanges, 3): return .stuckToken
        case (.recordZoneChanges, 4):
            return .wrongZone(numbers.element(of: SimulationRun.zoneIDs.filter { $0 != request.zoneID }))
        case (.recordZoneChanges, 5):
            let names = SimulationRun.recordNames.filter { _ in numbers.once(in: 3) }
            return .unreadableRecords(
                Set(names.map { Record.ID(recordName: $0, zoneID: request.zoneID ?? .default) }),
                error(.internalError, &numbers))
        default: return .error(error(code(for: request.kind, &numbers), &numbers))
        }
    }

    private static func error(
        _ code: ChangeFeedError.Code, _ numbers: inout SeededGenerator
    ) -> ChangeFeedError {
        let retryAfter: Duration? = numbers.once(in: 3) ? .seconds(1 + numbers.below(60)) : nil
        return ChangeFeedError(code, "The script says so.", retryAfter: retryAfter)
    }
}

extension FaultPlan.Fault {
    /// The fault's name, for tables.
    var name: String {
        switch self {
        case .error: "error"
        case .lostAnswer: "answer lost"
        case .noAnswer: "never arrived"
        case .unheard: "never answered"
        case .held: "held"
        case .items: "items failed"
        case .duplicatePage: "page doubled"
        case .stuckToken: "stuck token"
        case .wrongZone: "page of another zone"
        case .unreadableRecords: "records unreadable"
        }
    }

    /// The code of the error that it makes.
    var code: ChangeFeedError.Code? {
        switch self {
        case .error(let error), .lostAnswer(let error), .items(_, let error), .unreadableRecords(_, let error):
            error.code
        case .noAnswer, .unheard, .held, .duplicatePage, .stuckToken, .wrongZone: nil
        }
    }
}
