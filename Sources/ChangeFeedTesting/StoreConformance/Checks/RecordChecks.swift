import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StoreConformance.Check {
    /// Entries of records and what they keep.
    static let records = [
        payloads, encrypted, parents, dates, zeroDates, users, tags, spellings, oneEntry, apart, large,
    ]

    private static let payloads = Self(
        "records.payloads", "The fields of a record come back byte for byte, whatever they are."
    ) { trial in
        let payloads = trial.payloads
        try await trial.keeps(payloads.all.map(\.name)) { index in (payloads[index], VersionTraits()) }
    }

    private static let encrypted = Self(
        "records.encrypted", "The encrypted fields of a record come back byte for byte; none and no fields differ."
    ) { trial in
        let payloads = trial.payloads
        try await trial.keeps(payloads.all.map(\.name) + ["none"]) { index in
            let sealed = index == payloads.all.count ? nil : payloads[index]
            return (payloads[index + 3], VersionTraits(encryptedPayload: sealed))
        }
    }

    private static let parents = Self("records.parents", "The parent of a record comes back with its action.") {
        trial in
        let actions = Record.Reference.Action.allCases
        try await trial.keeps(Specimen.names.map { "parent \($0)" }) { index in
            let target = Record.ID(
                recordName: Specimen.names[index], zoneID: RecordZone.ID(zoneName: "zone", ownerName: "\u{E9}\u{0}"))
            let parent = Record.Reference(recordID: target, action: actions[index % actions.count])
            return (.empty, VersionTraits(parent: parent))
        }
    }

    private static let dates = Self("records.dates", "Dates of a record come back to the last bit.") { trial in
        let moments = [0, 1, 0.1, -0.1, 123_456_789.012_345_67, -63_114_076_800, 1e300, .leastNonzeroMagnitude].map {
            Date(timeIntervalSinceReferenceDate: $0)
        }
        try await trial.keeps(moments.map { "\($0.timeIntervalSinceReferenceDate)" }) { index in
            let modified = moments[(index + index / 2) % moments.count]
            return (.empty, VersionTraits(creationDate: moments[index], modificationDate: modified))
        }
    }

    private static let zeroDates = Self(
        "records.zeroDates",
        "Dates of a record keep the sign of a zero."
    ) { trial in
        let zero = Date(timeIntervalSinceReferenceDate: -0.0)
        try await trial.keeps(["created", "modified", "both"]) { index in
            let created = index == 1 ? Date.specimen(0) : zero
            return (.empty, VersionTraits(creationDate: created, modificationDate: index == 0 ? .specimen(0) : zero))
        }
    }

    private static let users = Self("records.users", "Users and types of a record come back by their bytes.") { trial in
        try await trial.keeps(Specimen.names.map { "user \($0)" }) { index in
            let names = Specimen.names
            let next = names[(index + 1) % names.count]
            return (
                .empty, VersionTraits(recordType: names[index], creatorUserID: names[index], lastModifiedUserID: next)
            )
        }
    }

    private static let tags = Self("records.tags", "The tag of a record comes back with the epoch that it was made in.")
    {
        trial in
        let epochs: [UInt64] = [0, 1, .max, 1 << 63, 0xFFFF_FFFF]
        try await trial.keeps(epochs.map { "epoch \($0)" }) { (.empty, VersionTraits(epoch: epochs[$0])) }
        let found = try await trial.read { reader in
            guard let row = try reader.zoneRows().first else { return [UInt64?]() }
            return try reader.entries(of: row.key).map {
                if case .live(let version) = $0 { version.system?.changeTag.epoch } else { nil }
            }
        }
        try expect("reading the epochs of the tags", found, is: epochs)
    }

    private static let spellings = Self("records.names", "Record names are told apart by their bytes.") { trial in
        try await trial.keeps(Specimen.names) { _ in (.empty, VersionTraits()) }
    }

    private static let oneEntry = Self(
        "records.oneEntry", "A name has one entry, that of its latest write: living, deleted, living again."
    ) { trial in
        let ground = try await trial.ground()
        let before = try await trial.read { try $0.shownEntries(of: ground.zone.key) }
        for round in 1...3 {
            let version = try await trial.write { try $0.save("again", in: ground.zone) }
            try await trial.expectLast(.live(version), in: ground.zone.key, beside: before, "saving, time \(round)")
            let next = try await trial.write { try $0.save("again", in: ground.zone) }
            try await trial.expectLast(.live(next), in: ground.zone.key, beside: before, "changing, time \(round)")
            let tombstone = try await trial.write { try $0.delete("again", in: ground.zone) }
            try await trial.expectLast(
                .tombstone(tombstone), in: ground.zone.key, beside: before, "deleting, time \(round)")
        }
    }

    private static let apart = Self("records.zones", "Zones know nothing of each other's records.") { trial in
        let ground = try await trial.ground()
        let before = try await trial.read { try $0.shownEntries(of: ground.other.key) }
        try await trial.write { writer in
            try writer.save("a", in: ground.zone)
            try writer.delete("b", in: ground.zone)
            try writer.save("only here", in: ground.zone)
            try writer.discardTombstone(named: "x", in: ground.zone.key)
        }
        try await trial.read { reader in
            try expect("reading the other zone", try reader.shownEntries(of: ground.other.key), is: before)
            let missing = try reader.shownRecord("only here", in: ground.other.key)
            try expect("reading a name of another zone", missing, is: "nothing")
        }
    }

    private static let large = Self("records.batch", "A write of 5,000 records is one write like another.") { trial in
        let payloads = trial.payloads
        let row = try await trial.write { writer in
            let row = try writer.makeZone("large")
            for number in 0..<5000 { try writer.save("record \(number)", in: row, payload: payloads[number % 5]) }
            return row
        }
        try await trial.read { reader in
            let entries = try reader.entries(of: row.key)
            try expect("scanning", entries.map(\.recordName), is: (0..<5000).map { "record \($0)" })
            for number in [0, 1, 2499, 4999] {
                let found = try reader.shownRecord("record \(number)", in: row.key)
                try expect("reading record \(number)", found, is: Shown.entry(entries[number]))
            }
        }
        try await trial.writeInVain { writer in
            for number in 0..<5000 { try writer.delete("record \(number)", in: row) }
        }
        try expect("counting", try await trial.read { try $0.tombstoneCount(of: row.key) }, is: 0)
        try expect("scanning after all", try await trial.read { try $0.entries(of: row.key).count }, is: 5000)
    }
}

extension Trial {
    /// Stores one version for each name and expects each back, by name and in a scan, in the write and afterwards.
    fileprivate func keeps(
        _ names: [String], _ content: @escaping @Sendable (Int) -> (Payload, VersionTraits)
    ) async throws {
        let (row, saved) = try await write { writer in
            let row = try writer.makeZone("zone")
            var saved: [RecordVersion] = []
            for (index, name) in names.enumerated() {
                let (payload, traits) = content(index)
                saved.append(try writer.save(name, in: row, payload: payload, traits))
            }
            try writer.expect(saved, in: row.key)
            return (row, saved)
        }
        try await read { try $0.expect(saved, in: row.key) }
    }

    fileprivate func expectLast(
        _ entry: RecordEntry, in key: ZoneKey, beside others: [String], _ step: String
    ) async throws {
        try await read { reader in
            let shown = Shown.entry(entry)
            try expect("\(step) and scanning", try reader.shownEntries(of: key), is: others + [shown])
            try expect("\(step) and reading", try reader.shownRecord(entry.recordName, in: key), is: shown)
        }
    }
}

extension StoreReader {
    fileprivate func expect(_ saved: [RecordVersion], in key: ZoneKey) throws {
        let shown = saved.map { Shown.entry(.live($0)) }
        for (version, line) in zip(saved, shown) {
            let found = try shownRecord(version.recordID.recordName, in: key)
            try ChangeFeedTesting.expect("reading \(Shown.name(version.recordID.recordName))", found, is: line)
        }
        try ChangeFeedTesting.expect("scanning", try shownEntries(of: key), is: shown)
    }
}
