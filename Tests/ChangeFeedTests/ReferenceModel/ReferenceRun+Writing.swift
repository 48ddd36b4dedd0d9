import ChangeFeed
import Foundation

/// Random writes, and what both sides say of them.
extension ReferenceRun {
    func modify() async throws {
        var request = ReferenceLog.Request()
        request.policy =
            [.ifServerRecordUnchanged, .ifServerRecordUnchanged, .changedKeys, .allKeys]
            .randomElement(using: &random) ?? .changedKeys
        request.isAtomic = chance(60)
        request.marker = chance(30) ? "marker \(counts["request", default: 0])" : nil
        var real = RecordModifyRequest(
            savePolicy: request.policy, atomically: request.isAtomic,
            clientChangeTokenData: request.marker.map { Data($0.utf8) })

        let user = chance(85) ? 0 : 1
        let places = ReferenceRun.zones.filter { $0.user == user }
        let zones = chance(80) ? [places[Int.random(in: places.indices, using: &random)]] : places
        for zone in zones {
            var numbers = Array(0..<ReferenceRun.recordCount).shuffled(using: &random)
            for number in numbers.prefix(Int.random(in: 0...4, using: &random)) {
                let (save, record) = randomSave(of: number, in: zone, policy: request.policy)
                request.saves.append((zone, save))
                real.saving.append(record)
            }
            numbers.removeFirst(real.saving.filter { $0.recordID.zoneID == zoneID(zone) }.count)
            for number in numbers.prefix(chance(50) ? Int.random(in: 0...3, using: &random) : 0) {
                var deletion = ReferenceLog.Deletion(record: number)
                var tag: String?
                let versions = held.filter { $0.zone == zone && $0.number == number }
                if chance(40), let known = chance(50) ? versions.last : versions.randomElement(using: &random) {
                    deletion.known = known.version.serial
                    tag = known.record.recordChangeTag
                }
                request.deletions.append((zone, deletion))
                real.deleting.append(.init(recordID: recordID(number, in: zone), recordChangeTag: tag))
            }
        }
        guard !real.saving.isEmpty || !real.deleting.isEmpty else { return }
        count("request")

        let results = try await database(of: user).modifyRecords(real)
        let manner = "\(request.policy)\(request.isAtomic ? "" : " not atomically")"
        note("modify \(manner): \(results.story.joined(separator: ", ")).")
        let told = try await tombstones()
        let expected = try log.modify(request, date: feed.clock.now) { zone, cascaded in
            let order = (told.records[zone] ?? []).filter(cascaded.contains)
            try expect(Set(order) == cascaded, "a cascade should have taken \(cascaded), tombstones are \(order)")
            return order
        }
        try compare(results, with: expected, request)
    }

    private func compare(
        _ results: RecordModifyResults,
        with expected: (saves: [ReferenceLog.Outcome], deletions: [ReferenceLog.Outcome]),
        _ request: ReferenceLog.Request
    ) throws {
        try expect(
            results.saves.count == expected.saves.count && results.deletions.count == expected.deletions.count,
            "as many results as items")
        for (index, save) in results.saves.enumerated() {
            let (zone, number) = (request.saves[index].zone, request.saves[index].save.record)
            switch (save.result, expected.saves[index]) {
            case (.success(let record), .saved(let version)):
                try learn(record, version)
                try compare(record, with: version, of: number, in: zone)
                hold(record, version, number, in: zone)
            case (.failure(let error), .refused(let codes)):
                count("\(error.code)")
                try expect(codes.contains(error.code), "save of \(save.recordID): \(error), expected one of \(codes)")
                try expect(
                    error.recordID == save.recordID || error.code == .zoneNotFound || error.code == .userDeletedZone,
                    "\(error) names \(String(describing: error.recordID)) and not \(save.recordID)")
                if let server = error.serverRecord, let version = log.version(of: number, in: log.state(of: zone)) {
                    hold(server, version, number, in: zone)
                }
            case (let result, let outcome):
                throw Disagreement(description: "save of \(save.recordID): \(result), expected \(outcome)")
            }
        }
        for (index, deletion) in results.deletions.enumerated() {
            switch (deletion.result, expected.deletions[index]) {
            case (.success, .deleted): break
            case (.failure(let error), .refused(let codes)):
                count("\(error.code) of a deletion")
                try expect(
                    codes.contains(error.code), "deletion of \(deletion.recordID): \(error), expected one of \(codes)")
            case (let result, let outcome):
                throw Disagreement(description: "deletion of \(deletion.recordID): \(result), expected \(outcome)")
            }
        }
    }

    /// The tag of a version: never one that was there before (R8, 6.1.5).
    private func learn(_ record: Record, _ version: ReferenceLog.Version) throws {
        guard let tag = record.recordChangeTag else { throw Disagreement(description: "\(record.recordID) has no tag") }
        try expect(knownTags.insert(tag).inserted, "the tag \(tag) of \(record.recordID) was given before")
        tags[version.serial] = tag
    }

    func hold(_ record: Record, _ version: ReferenceLog.Version, _ number: Int, in zone: Zone) {
        held.append(Held(zone: zone, number: number, record: record, version: version))
        if held.count > 80 { held.remove(at: Int.random(in: 0..<40, using: &random)) }
    }

    // MARK: Random items

    private func randomSave(
        of number: Int, in zone: Zone, policy: RecordSavePolicy
    ) -> (ReferenceLog.Save, Record) {
        var save = ReferenceLog.Save(record: number)
        var record = Record(recordType: "Note", recordID: recordID(number, in: zone))
        // Mostly what the client has last, sometimes something old, sometimes a new record
        let known = held.filter { $0.zone == zone && $0.number == number }
        if let held = chance(75) ? known.last : known.randomElement(using: &random), chance(85) {
            save.base = held.version
            record = held.record
        }
        if chance(2) {
            save.isMalformed = true
            record["not a key"] = 1
        }
        func set(_ key: String, _ value: ReferenceLog.Value?) {
            save.edits[key] = .some(value)
            switch value {
            case .text(let text): record[key] = text
            case .owner(let target): record[key] = reference(to: target, in: zone, .deleteSelf)
            case .link(let target): record[key] = reference(to: target, in: zone, .none)
            case nil: record[key] = RecordValue?.none
            }
        }
        if chance(70) { set("title", .text("t\(Int.random(in: 0..<1_000, using: &random))")) }
        if chance(20) { set("body", chance(70) ? .text(String(repeating: "b", count: 200)) : nil) }
        for key in ["owner", "second"] where chance(18) {
            set(key, chance(75) ? .owner(Int.random(in: 0..<ReferenceRun.recordCount, using: &random)) : nil)
        }
        if chance(15) {
            set("link", chance(70) ? .link(Int.random(in: 0..<ReferenceRun.recordCount, using: &random)) : nil)
        }
        if chance(30) {
            let parent = chance(60) ? Int.random(in: 0..<ReferenceRun.recordCount, using: &random) : nil
            save.parent = .some(parent)
            record.setParent(parent.map { Record.Reference(recordID: recordID($0, in: zone)) })
        }
        return (save, record)
    }

    private func reference(to number: Int, in zone: Zone, _ action: Record.Reference.Action) -> RecordValue {
        .reference(.init(recordID: recordID(number, in: zone), action: action))
    }

    // MARK: Zones

    func changeAZone() async throws {
        let custom = ReferenceRun.zones.filter { !$0.isDefault }
        let zone = custom[Int.random(in: custom.indices, using: &random)]
        let (zoneID, database) = (zoneID(zone), database(of: zone.user))
        if log.state(of: zone).incarnation == nil || chance(40) {
            note("save zone \(zone.name).")
            try await database.save(RecordZone(zoneID: zoneID))
            log.create(zone, date: feed.clock.now)
            return
        }
        let reason =
            [DatabaseChanges.Deletion.Reason.deleted, .purged, .encryptedDataReset]
            .randomElement(using: &random) ?? .deleted
        note("end zone \(zone.name) (\(reason)).")
        count("zone \(reason)")
        do {
            switch reason {
            case .purged: try await feed.container.purgeZone(zoneID, for: "user\(zone.user)")
            case .encryptedDataReset:
                try await feed.container.resetEncryptedData(inZoneWith: zoneID, for: "user\(zone.user)")
            case .deleted, .accessRevoked: try await database.deleteRecordZone(withID: zoneID)
            }
            let refusal = log.end(zone, reason, date: feed.clock.now)
            try expect(refusal == nil, "the zone \(zone) went, expected \(String(describing: refusal))")
        } catch let error as ChangeFeedError {
            throw Disagreement(description: "the zone \(zone) could not be ended: \(error)")
        }
    }
}
