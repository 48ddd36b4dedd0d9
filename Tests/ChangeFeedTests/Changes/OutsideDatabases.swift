import ChangeFeed
import Foundation

/// A database as a stranger would write one over a network: everything that goes through it is taken apart into
/// public parts and put together again. It uses what the module makes public and nothing else.
struct RelayDatabase: RecordDatabase {
    let server: any RecordDatabase

    func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        var since: DatabaseChangeToken?
        if let token = request.since { since = try DatabaseChangeToken(data: token.data) }
        let page = try await server.databaseChanges(
            DatabaseChangesRequest(since: since, resultsLimit: request.resultsLimit))
        var changes: [DatabaseChanges.Change] = []
        for change in page.changes {
            switch change {
            case .modified(let zoneID): changes.append(.modified(rebuilt(zoneID)))
            case .deleted(let deletion):
                changes.append(.deleted(.init(zoneID: rebuilt(deletion.zoneID), reason: deletion.reason)))
            }
        }
        return DatabaseChanges(
            changes: changes, changeToken: try DatabaseChangeToken(data: page.changeToken.data),
            moreComing: page.moreComing)
    }

    func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        var since: ZoneChangeToken?
        if let token = request.since { since = try ZoneChangeToken(data: token.data) }
        let page = try await server.recordZoneChanges(
            ZoneChangesRequest(
                zoneID: rebuilt(request.zoneID), since: since, desiredKeys: request.desiredKeys,
                resultsLimit: request.resultsLimit))
        var changes: [ZoneChanges.Change] = []
        for change in page.changes {
            switch change {
            case .modified(let record): changes.append(.modified(try Record(encoded: record.encoded())))
            case .failed(let recordID, let error): changes.append(.failed(recordID, rebuilt(error)))
            case .deleted(let deletion):
                changes.append(
                    .deleted(
                        .init(
                            recordID: deletion.recordID, recordType: deletion.recordType,
                            recordChangeTag: deletion.recordChangeTag, reason: deletion.reason)))
            }
        }
        return ZoneChanges(
            changes: changes, changeToken: try ZoneChangeToken(data: page.changeToken.data),
            clientChangeTokenData: page.clientChangeTokenData, moreComing: page.moreComing)
    }

    func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        var copy = request
        copy.saving = []
        for record in request.saving { copy.saving.append(try Record(encoded: record.encoded())) }
        let results = try await server.modifyRecords(copy)
        var saves: [RecordModifyResults.Save] = []
        for save in results.saves {
            switch save.result {
            case .success(let record):
                saves.append(.init(recordID: save.recordID, result: .success(try Record(encoded: record.encoded()))))
            case .failure(let error):
                saves.append(.init(recordID: save.recordID, result: .failure(rebuilt(error))))
            }
        }
        let deletions = results.deletions.map { deletion in
            RecordModifyResults.Deletion(recordID: deletion.recordID, result: deletion.result.mapError(rebuilt))
        }
        return RecordModifyResults(saves: saves, deletions: deletions)
    }

    func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        let results = try await server.modifyRecordZones(request)
        return RecordZoneModifyResults(
            saves: results.saves.map { save in
                .init(zoneID: save.zoneID, result: save.result.map(rebuilt).mapError(rebuilt))
            },
            deletions: results.deletions.map { deletion in
                .init(zoneID: deletion.zoneID, result: deletion.result.mapError(rebuilt))
            }
        )
    }

    func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        var results: [Record.ID: Result<Record, ChangeFeedError>] = [:]
        for (recordID, result) in try await server.records(request) {
            switch result {
            case .success(let record): results[recordID] = .success(try Record(encoded: record.encoded()))
            case .failure(let error): results[recordID] = .failure(rebuilt(error))
            }
        }
        return results
    }

    func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        try await server.recordZones(request).mapValues { $0.map(rebuilt).mapError(rebuilt) }
    }

    func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        let results = try await server.modifySubscriptions(request)
        return SubscriptionModifyResults(
            saves: results.saves.map { save in
                .init(subscriptionID: save.subscriptionID, result: save.result.map(rebuilt).mapError(rebuilt))
            },
            deletions: results.deletions.map { deletion in
                .init(subscriptionID: deletion.subscriptionID, result: deletion.result.mapError(rebuilt))
            }
        )
    }

    func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        try await server.subscriptions(request).mapValues { $0.map(rebuilt).mapError(rebuilt) }
    }

    func account() async throws(ChangeFeedError) -> Account {
        try await server.account()
    }

    private func rebuilt(_ zoneID: RecordZone.ID) -> RecordZone.ID {
        RecordZone.ID(zoneName: zoneID.zoneName, ownerName: zoneID.ownerName)
    }

    private func rebuilt(_ zone: RecordZone) -> RecordZone {
        RecordZone(
            zoneID: rebuilt(zone.zoneID), capabilities: .init(rawValue: zone.capabilities.rawValue),
            creationDate: zone.creationDate)
    }

    private func rebuilt(_ subscription: Subscription) -> Subscription {
        Subscription(
            subscriptionID: subscription.subscriptionID, kind: subscription.kind, recordType: subscription.recordType,
            excludesOriginatingDevice: subscription.excludesOriginatingDevice)
    }

    private func rebuilt(_ error: ChangeFeedError) -> ChangeFeedError {
        ChangeFeedError(
            error.code, error.message, recordID: error.recordID, zoneID: error.zoneID, rule: error.rule,
            limit: error.limit, detail: error.detail, retryAfter: error.retryAfter,
            partialErrors: error.partialErrors, serverRecord: error.serverRecord, clientRecord: error.clientRecord,
            ancestorRecord: error.ancestorRecord)
    }
}

/// A server that says what a test tells it to, and remembers what it was asked.
actor ScriptedDatabase: RecordDatabase {
    typealias ZoneAnswer = Result<ZoneChanges, ChangeFeedError>
    typealias DatabaseAnswer = Result<DatabaseChanges, ChangeFeedError>

    private(set) var zoneRequests: [ZoneChangesRequest] = []
    private(set) var databaseRequests: [DatabaseChangesRequest] = []
    private let zoneAnswer: @Sendable (ZoneChangesRequest, _ number: Int) -> ZoneAnswer
    private let databaseAnswer: @Sendable (DatabaseChangesRequest, _ number: Int) -> DatabaseAnswer

    /// A server with an answer for each request; requests of a kind are numbered from 1.
    init(
        zone zoneAnswer: @escaping @Sendable (ZoneChangesRequest, Int) -> ZoneAnswer = { _, _ in
            .failure(ChangeFeedError(.serviceUnavailable, "Not in the script."))
        },
        database databaseAnswer: @escaping @Sendable (DatabaseChangesRequest, Int) -> DatabaseAnswer = { _, _ in
            .failure(ChangeFeedError(.serviceUnavailable, "Not in the script."))
        }
    ) {
        self.zoneAnswer = zoneAnswer
        self.databaseAnswer = databaseAnswer
    }

    func databaseChanges(_ request: DatabaseChangesRequest) async throws(ChangeFeedError) -> DatabaseChanges {
        databaseRequests.append(request)
        return try databaseAnswer(request, databaseRequests.count).get()
    }

    func recordZoneChanges(_ request: ZoneChangesRequest) async throws(ChangeFeedError) -> ZoneChanges {
        zoneRequests.append(request)
        return try zoneAnswer(request, zoneRequests.count).get()
    }

    func modifyRecords(_ request: RecordModifyRequest) async throws(ChangeFeedError) -> RecordModifyResults {
        RecordModifyResults(saves: [], deletions: [])
    }

    func modifyRecordZones(
        _ request: RecordZoneModifyRequest
    ) async throws(ChangeFeedError) -> RecordZoneModifyResults {
        RecordZoneModifyResults(saves: [], deletions: [])
    }

    func records(
        _ request: RecordsRequest
    ) async throws(ChangeFeedError) -> [Record.ID: Result<Record, ChangeFeedError>] {
        [:]
    }

    func recordZones(
        _ request: RecordZonesRequest
    ) async throws(ChangeFeedError) -> [RecordZone.ID: Result<RecordZone, ChangeFeedError>] {
        [:]
    }

    func modifySubscriptions(
        _ request: SubscriptionModifyRequest
    ) async throws(ChangeFeedError) -> SubscriptionModifyResults {
        SubscriptionModifyResults(saves: [], deletions: [])
    }

    func subscriptions(
        _ request: SubscriptionsRequest
    ) async throws(ChangeFeedError) -> [String: Result<Subscription, ChangeFeedError>] {
        [:]
    }

    func account() async throws(ChangeFeedError) -> Account { .none }
}
