import ChangeFeed

extension SyncEngine {
    /// What an engine knows and has to do. Reading and changing it is synchronous and safe from everywhere, also from
    /// within handlers and providers.
    ///
    /// What is added is kept in memory until the next checkpoint is stored (rule ST3): a crash in between loses it. See
    /// ``SyncEngine/addDurably(pendingRecordZoneChanges:pendingDatabaseChanges:)``.
    public struct State: Sendable {
        let core: EngineCore
        /// The delivery in whose handler this was got.
        let delivery: Int?

        // MARK: What is pending

        /// Changes of records that are to be sent, in the order of first adding (rule P3). Those that are on their way
        /// are not among them.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            core.withMachine { machine in
                machine.basis.session.records.all.compactMap { entry in
                    entry.pending.map { $0.intent == .save ? .saveRecord(entry.id) : .deleteRecord(entry.id) }
                }
            }
        }

        /// Changes of records that are on their way (rule P5).
        public var inFlightRecordZoneChanges: [PendingRecordZoneChange] {
            core.withMachine { machine in
                machine.basis.session.records.all.compactMap { entry in
                    entry.inFlight.map { $0.intent == .save ? .saveRecord(entry.id) : .deleteRecord(entry.id) }
                }
            }
        }

        /// Changes of zones that are to be sent, in the order of first adding.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            core.withMachine { $0.basis.session.zones.all.filter { $0.pending != nil }.compactMap(\.unsentChange) }
        }

        /// How many changes of records are pending: no list is made.
        public var pendingRecordZoneChangeCount: Int { core.withMachine { $0.basis.session.records.pendingCount } }

        /// Adds changes of records. One entry is kept for each record, at its first place; the latest kind wins
        /// (rule P2).
        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            core.add(changes.map { ($0, nil) }, zones: [], in: delivery)
        }

        /// Adds the deletion of a record in the version that the app knows: if somebody has changed the record since,
        /// that is a conflict, and nothing is deleted.
        public func addDeletion(of recordID: Record.ID, recordChangeTag: String?) {
            core.add([(.deleteRecord(recordID), recordChangeTag)], zones: [], in: delivery)
        }

        /// Takes changes of records back: those of the same kind that are pending and not on their way.
        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            core.remove(changes, zones: [], in: delivery)
        }

        /// Adds changes of zones (rule P2).
        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            core.add([], zones: changes, in: delivery)
        }

        /// Takes changes of zones back.
        public func remove(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            core.remove([], zones: changes, in: delivery)
        }

        /// Whether the app has changes that the engine does not keep: it is then asked for batches although nothing is
        /// pending, until it gives none (rule P11).
        public var hasPendingUntrackedChanges: Bool {
            get { core.withMachine { $0.basis.session.hasUntracked } }
            nonmutating set { core.setUntracked(newValue, in: delivery) }
        }

        /// Whether something is pending that a send would take up by itself.
        public var needsSend: Bool { core.withMachine(\.hasSendableChanges) }

        /// Pending changes that are not sent by themselves, and why.
        public var unresolvedPendingChanges: [UnresolvedPendingChange] {
            core.withMachine { machine in
                let memory = machine.memory
                return machine.basis.session.records.all.compactMap { entry in
                    guard entry.pending != nil, let change = entry.unsentChange else { return nil }
                    if let error = memory.blocked[entry.id] {
                        let twice = memory.refusals[entry.id].map { $0.isConflict && $0.count >= 2 } ?? false
                        return .init(change: change, reason: twice ? .conflictNotResolved(error) : .refused(error))
                    }
                    guard let skipped = memory.skipped[entry.id] else { return nil }
                    return .init(change: change, reason: skipped.map { .providerFailed($0) } ?? .skipped)
                }
            }
        }

        /// Changes that were refused for good and are no longer pending, with the reasons; until they are added anew
        /// or cleared, and while the engine lives.
        public var failedRecordChanges: [Record.ID: ChangeFeedError] { core.withMachine { $0.memory.failed } }

        /// Takes note of a refusal.
        public func clearFailure(of recordID: Record.ID) { core.withMachine { $0.clearFailure(recordID) } }

        // MARK: What is set aside

        /// Changes of records of a zone that is gone. Nothing of them is sent.
        public func parkedChanges(inZoneWith zoneID: RecordZone.ID) -> [PendingRecordZoneChange] {
            core.withMachine { machine in
                (machine.basis.session.parkedRecords[zoneID] ?? []).map {
                    $0.part.intent == .save ? .saveRecord($0.id) : .deleteRecord($0.id)
                }
            }
        }

        /// Makes the changes of a zone pending again that were set aside when it went.
        public func restoreParkedChanges(inZoneWith zoneID: RecordZone.ID) {
            core.changeParked(.zoneUnparked(zoneID), in: delivery)
        }

        /// Drops the changes of a zone that were set aside when it went.
        public func dropParkedChanges(inZoneWith zoneID: RecordZone.ID) {
            core.changeParked(.parkedZoneDropped(zoneID), in: delivery)
        }

        /// Drops what is kept for a user who is signed out: how far he had fetched, and what he had not sent.
        public func dropParkedAccount(userID: String) {
            core.changeParked(.parkedAccountDropped(userID), in: delivery)
        }

        /// Records that could not be applied, or that the server could not give, in the order in which they were set
        /// aside.
        public var quarantinedRecords: [QuarantinedRecord] {
            core.withMachine { machine in
                machine.basis.session.quarantineOrder.compactMap { machine.basis.session.quarantine[$0] }
            }
        }

        // MARK: What is known

        /// Zones that were reported and have not been read to their end since (rule ST6).
        public var zoneIDsWithUnfetchedServerChanges: [RecordZone.ID] {
            core.withMachine { $0.basis.cursors.dirtyZoneIDs }
        }

        /// The user whose state it is; nil before anybody has signed in.
        public var accountUserID: String? { core.withMachine { $0.basis.log.state.account } }

        /// The whole state, made now.
        public var serialization: Serialization { core.serialization(in: delivery) }
    }
}
