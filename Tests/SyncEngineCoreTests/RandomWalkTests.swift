import ChangeFeed
import ChangeFeedTesting
import XCTest

@testable import SyncEngineCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Walks over all inputs of the machine in random order, with no await. A model beside it refuses actions that make no
/// sense: two passes at once, an answer to nobody, a token that was not acknowledged.
final class RandomWalkTests: XCTestCase {
    /// What the walk believes of the machine.
    private struct Model {
        /// What drivers have been told to do and have not come back from; late ones among them.
        var open: [(driver: Int, action: PassAction)] = []
        var waiting: Set<Int> = []
        var tokens: [String] = []
        var acknowledged: Set<String> = []
        var given: Set<String> = []
        /// Zones whose reading was announced and not ended, by driver's pass.
        var openZone: RecordZone.ID?
        var isFetching = false
        var isSending = false
    }

    private let zones = [RecordZone.ID(zoneName: "z0"), RecordZone.ID(zoneName: "z1"), RecordZone.ID(zoneName: "z2")]

    /// Real tokens, to be dealt out.
    private func tokens() async throws -> (database: [DatabaseChangeToken], zone: [ZoneChangeToken]) {
        let world = World()
        var database: [DatabaseChangeToken] = []
        var zone: [ZoneChangeToken] = []
        for index in 0..<40 {
            try await world.makeZone(.notes, ["r\(index)"])
            database.append(try await world.server.databaseChanges(since: nil).changeToken)
            zone.append(try await world.server.recordZoneChanges(inZoneWith: .notes, since: nil).changeToken)
        }
        return (database, zone)
    }

    func testTheMachineNeverDoesWhatMakesNoSenseAndDrainsToIdle() async throws {
        let tokens = try await tokens()
        for seed in UInt64(1)...10 {
            for policy in [SyncEngine.TriggerPolicy.automatic, .manual, .cloudKit] {
                var walk = Walk(seed: seed, policy: policy, zones: zones, tokens: tokens)
                for _ in 0..<4_000 where walk.problems.isEmpty { walk.step() }
                if walk.problems.isEmpty { walk.drain() }
                XCTAssertEqual(
                    walk.problems, [], "seed \(seed), \(policy.name), after\n\(walk.trace.joined(separator: "\n"))")
                XCTAssertGreaterThan(walk.passCount, 50, "seed \(seed), \(policy.name)")
                if !walk.problems.isEmpty { return }
            }
        }
    }

    /// One walk.
    private struct Walk {
        var machine: SyncStateMachine
        let numbers: SeededNumbers
        let zones: [RecordZone.ID]
        let tokens: (database: [DatabaseChangeToken], zone: [ZoneChangeToken])
        var model = Model()
        var problems: [String] = []
        var passCount = 0
        /// The last entries of the journal.
        var trace: [String] = []
        var lastCall = 0
        /// In a drain every request succeeds.
        var isDraining = false
        var account: Account = .available(userID: "u")

        init(
            seed: UInt64, policy: SyncEngine.TriggerPolicy, zones: [RecordZone.ID],
            tokens: ([DatabaseChangeToken], [ZoneChangeToken])
        ) {
            let numbers = SeededNumbers(seed: seed)
            self.numbers = numbers
            self.zones = zones
            self.tokens = tokens
            machine = SyncStateMachine(
                Basis(
                    log: StateLog(DurableState(), from: nil, writer: 1), policy: policy, limits: .init(items: 3),
                    subscriptionID: nil, randomness: { numbers.next() }))
        }

        func pick(_ count: Int) -> Int { Int(numbers.next() % UInt64(count)) }
        func chance(_ percent: Int) -> Bool { pick(100) < percent }
        func zone() -> RecordZone.ID { zones[pick(zones.count)] }
        func recordID() -> Record.ID { Record.ID(recordName: "r\(pick(6))", zoneID: zone()) }

        mutating func step() {
            machine.basis.now += .milliseconds(pick(400))
            switch pick(100) {
            case 0..<8: call(kind: .fetch)
            case 8..<14: call(kind: .send)
            case 14..<22: trigger()
            case 22..<30: add()
            case 30..<32 where !model.waiting.isEmpty:
                let call = model.waiting.sorted()[pick(model.waiting.count)]
                carryOut(machine.cancel(CallID(number: call)))
            case 32: carryOut(machine.cancelAll())
            case 33: machine.basis.now += .seconds(pick(2_000))
            case 34: account = [.available(userID: "u"), .available(userID: "v"), .none][pick(3)]
            case 35..<40:
                if let next = machine.nextWakeUp, next <= machine.basis.now { carryOut(machine.wake()) }
            default: answer()
            }
            check()
        }

        mutating func drain() {
            isDraining = true
            account = .available(userID: "u")
            carryOut(machine.receive(.accountChanged).1)
            for _ in 0..<5_000 {
                if model.open.isEmpty {
                    if machine.queue.running == nil, machine.queue.waiting.isEmpty { break }
                    problems.append("a pass runs or waits, and nobody drives it")
                    return
                }
                answer()
                check()
            }
            if !model.open.isEmpty { problems.append("it does not come to rest: \(model.open.map(\.action))") }
            if !model.waiting.isEmpty { problems.append("callers still wait: \(model.waiting)") }
            if machine.basis.session.records.all.contains(where: { $0.inFlight != nil }) {
                problems.append("something is in flight that nobody sends")
            }
        }

        mutating func call(kind: PassQueue.Kind) {
            lastCall += 1
            var pass = PassQueue.Pass(number: machine.nextPassNumber(), kind: kind, reason: .manual)
            pass.callers = [CallID(number: lastCall)]
            pass.asksDatabase = true
            if chance(20) {
                pass.fetch.scope = .zoneIDs([zone()])
                pass.forcedZoneIDs = [zone()]
                pass.asksDatabase = false
            }
            model.waiting.insert(lastCall)
            carryOut(machine.call(pass, named: kind.rawValue))
        }

        mutating func trigger() {
            let triggers: [SyncEngine.Trigger] = [
                .launch, .enteredForeground, .networkBecameAvailable, .accountChanged, .pendingChangesAdded, .periodic,
                .retryDue,
            ]
            carryOut(machine.receive(triggers[pick(triggers.count)]).1)
        }

        mutating func add() {
            let recordID = recordID()
            let intent: Intent = chance(70) ? .save : .delete
            let zoneID = zone()
            let addsZone = chance(20)
            let consequences = machine.changePending(inHandler: false) { log, nextGeneration in
                if addsZone {
                    log.record(.zoneAdded(zoneID, .init(intent: .save, generation: nextGeneration(), tag: nil)))
                    return ([], 0)
                }
                log.record(.recordAdded(recordID, .init(intent: intent, generation: nextGeneration(), tag: nil)))
                return ([recordID], 0)
            }
            carryOut(consequences)
        }

        /// One of the drivers comes back: the one whose turn it is, or one that is late.
        mutating func answer() {
            guard !model.open.isEmpty else { return }
            let index = pick(model.open.count)
            let (driver, action) = model.open.remove(at: index)
            let isCurrent = driver == machine.driver
            switch action {
            case .askAccount:
                let result: Result<Account, ChangeFeedError> = fails(10) ? .failure(error()) : .success(account)
                follow(driver, machine.accountReceived(driver, result))
            case .askOptions(let context): follow(driver, machine.optionsReceived(driver, context.options))
            case .requestDatabaseChanges: follow(driver, machine.databasePageReceived(driver, databasePage()))
            case .requestZoneChanges(let request):
                follow(driver, machine.zonePageReceived(driver, zonePage(request.zoneID)))
            case .requestRecords(let request):
                let recordIDs = request.recordIDs
                follow(driver, machine.recordsReceived(driver, .success([:]), asked: recordIDs))
            case .modifyZones(let request):
                if fails(20) {
                    follow(driver, machine.zonesModified(driver, .failure(error())))
                } else {
                    follow(
                        driver,
                        machine.zonesModified(
                            driver,
                            .success(
                                RecordZoneModifyResults(
                                    saves: request.saving.map { .init(zoneID: $0.zoneID, result: .success($0)) },
                                    deletions: request.deleting.map { .init(zoneID: $0, result: .success(())) }))))
                }
            case .askBatch: follow(driver, machine.batchReceived(driver, batch(isCurrent)))
            case .modifyRecords(let request): follow(driver, machine.recordsModified(driver, modified(request)))
            case .deliver(let delivery):
                let handled = Handled(failure: fails(8) ? "refused" : nil)
                if handled.failure == nil { machine.basis.record(delivery.changes) }
                if isCurrent { note(delivery) }
                machine.acknowledged(delivery, handled)
                follow(driver, machine.delivered(driver, delivery, handled))
            case .finish:
                let (next, consequences) = machine.finished(driver)
                if isCurrent, case .none = next { passCount += 1 }
                carryOut(consequences)
                follow(driver, next)
            case .subscribe, .none: break
            }
        }

        func fails(_ percent: Int) -> Bool { !isDraining && chance(percent) }

        func error() -> ChangeFeedError {
            let codes = ChangeFeedError.Code.allCases
            return ChangeFeedError(
                codes[pick(codes.count)], "planned", detail: chance(20) ? .expired : nil,
                retryAfter: chance(30) ? .seconds(pick(60)) : nil)
        }

        func databasePage() -> Result<DatabaseChanges, ChangeFeedError> {
            if fails(15) { return .failure(error()) }
            var changes: [DatabaseChanges.Change] = []
            for zoneID in zones where chance(40) {
                changes.append(
                    chance(85) ? .modified(zoneID) : .deleted(.init(zoneID: zoneID, reason: .deleted)))
            }
            return .success(
                DatabaseChanges(
                    changes: changes, changeToken: tokens.database[pick(40)], moreComing: !isDraining && chance(20)))
        }

        func zonePage(_ zoneID: RecordZone.ID) -> Result<ZoneChanges, ChangeFeedError> {
            if fails(15) { return .failure(error()) }
            let from = fails(3) ? zone() : zoneID
            let changes = (0..<pick(3)).map { _ in
                ZoneChanges.Change.modified(
                    Record(recordType: "T", recordID: Record.ID(recordName: "r\(pick(6))", zoneID: from)))
            }
            return .success(
                ZoneChanges(
                    changes: changes, changeToken: tokens.zone[pick(40)], clientChangeTokenData: nil,
                    moreComing: !isDraining && chance(30)))
        }

        func batch(_ isCurrent: Bool) -> SyncEngine.RecordZoneChangeBatch? {
            if fails(10) { return nil }
            let candidates = machine.candidates(after: 0, limit: 3)
            if candidates.isEmpty { return nil }
            var batch = SyncEngine.RecordZoneChangeBatch(atomicByZone: chance(30))
            for candidate in candidates {
                switch candidate.change {
                case .saveRecord(let recordID):
                    var record = Record(recordType: "T", recordID: recordID)
                    record["number"] = pick(100)
                    if chance(20) { record.setParent(Record.ID(recordName: "r\(pick(6))", zoneID: recordID.zoneID)) }
                    batch.recordsToSave.append(record)
                case .deleteRecord(let recordID): batch.recordsToDelete.append(.init(recordID: recordID))
                }
            }
            return batch
        }

        func modified(_ request: RecordModifyRequest) -> Result<RecordModifyResults, ChangeFeedError> {
            if fails(15) { return .failure(error()) }
            return .success(
                RecordModifyResults(
                    saves: request.saving.map {
                        .init(recordID: $0.recordID, result: fails(15) ? .failure(error()) : .success($0))
                    },
                    deletions: request.deleting.map {
                        .init(recordID: $0.recordID, result: fails(15) ? .failure(error()) : .success(()))
                    }))
        }

        mutating func follow(_ driver: Int, _ action: PassAction) {
            if case .none = action { return }
            if driver != machine.driver { problems.append("a late driver was told to go on: \(action)") }
            model.open.append((driver, action))
        }

        mutating func carryOut(_ consequences: SyncStateMachine.Consequences) {
            for settlement in consequences.settlements
            where model.waiting.remove(settlement.call.number) == nil {
                problems.append("caller \(settlement.call.number) was answered twice")
            }
            if let start = consequences.start { follow(start.driver, start.action) }
        }

        /// Events come in brackets (rules EO3, EO4, EO7).
        mutating func note(_ delivery: Delivery) {
            switch delivery.name {
            case "willFetchChanges":
                if model.isFetching || model.isSending { problems.append("a pass began in another") }
                model.isFetching = true
            case "didFetchChanges":
                if !model.isFetching || model.openZone != nil { problems.append("a fetch ended that had not begun") }
                model.isFetching = false
            case "willSendChanges":
                if model.isFetching || model.isSending { problems.append("a pass began in another") }
                model.isSending = true
            case "didSendChanges":
                if !model.isSending { problems.append("a send ended that had not begun") }
                model.isSending = false
            case "willFetchRecordZoneChanges":
                if model.openZone != nil { problems.append("two zones at once") }
                model.openZone = zones[0]
            case "didFetchRecordZoneChanges":
                if model.openZone == nil { problems.append("a zone ended that had not begun") }
                model.openZone = nil
            case "fetchedRecordZoneChanges":
                if model.openZone == nil { problems.append("a page outside of its zone") }
            case "sentRecordZoneChanges", "sentDatabaseChanges":
                if !model.isSending { problems.append("a result outside of a send") }
            default: break
            }
        }

        mutating func check() {
            trace += machine.basis.notes.map { "\($0)" }
            if trace.count > 40 { trace.removeFirst(trace.count - 40) }
            machine.basis.notes = []
            if !problems.isEmpty { return }
            let current = model.open.filter { $0.driver == machine.driver }
            if current.count > 1 { problems.append("two things at once: \(current.map(\.action))") }
            if machine.queue.running != nil, current.isEmpty { problems.append("a pass runs, and nobody drives it") }
            if machine.queue.running == nil, !machine.queue.waiting.isEmpty {
                problems.append("passes wait, and none runs")
            }
        }
    }
}
