import ChangeFeed

extension StoreConformance.Check {
    /// Tombstones: their fields, their count, their end.
    static let tombstones = [fields, count, scan, discarded, discardOthers, discardedName]

    private static let fields = Self(
        "tombstones.fields", "A tombstone comes back with all that it had, exactly; its tag by its text."
    ) { trial in
        let reasons = ZoneChanges.Deletion.Reason.allCases
        let names = Specimen.names
        let (row, expected) = try await trial.write { writer in
            let row = try writer.makeZone("zone")
            var expected: [String] = []
            for (index, name) in names.enumerated() {
                let minted = RecordChangeTag(epoch: .max, position: row.incarnation)
                let tag = [nil, RecordChangeTag(name), minted][index % 3]
                if index % 2 == 0 { try writer.save(name, in: row) }
                let tombstone = try writer.delete(
                    name, in: row, tag: tag, reason: reasons[index % reasons.count],
                    type: names[names.count - 1 - index])
                expected.append(Shown.tombstone(tombstone))
            }
            return (row, expected)
        }
        try await trial.read { reader in
            try expect("scanning tombstones", try reader.tombstones(of: row.key).map(Shown.tombstone), is: expected)
            try expect("scanning records", try reader.shownEntries(of: row.key), is: expected)
            for (name, line) in zip(names, expected) {
                try expect("reading \(Shown.name(name))", try reader.shownRecord(name, in: row.key), is: line)
            }
        }
    }

    private static let count = Self(
        "tombstones.count", "The count of tombstones is right after each kind of write, within the write too."
    ) { trial in
        let ground = try await trial.ground()
        try await trial.write { writer in
            func expectCount(_ expected: Int, _ step: String) throws {
                try expect("counting after \(step)", try writer.tombstoneCount(of: ground.zone.key), is: expected)
            }
            try expectCount(2, "two deletions")
            try writer.delete("a", in: ground.zone)
            try expectCount(3, "a third")
            try writer.delete("a", in: ground.zone)
            try expectCount(3, "deleting the same again")
            try writer.save("a", in: ground.zone)
            try expectCount(2, "a record's return")
            try writer.save("a", in: ground.zone)
            try expectCount(2, "its next version")
            try writer.discardTombstone(named: "x", in: ground.zone.key)
            try expectCount(1, "discarding one")
            try writer.discardTombstone(named: "x", in: ground.zone.key)
            try expectCount(1, "discarding it again")
            var row = ground.zone
            row.byteCount = 0
            try writer.putZone(row)
            try expectCount(1, "putting the zone's row")
            try writer.moveZone(row)
            try expectCount(1, "moving the zone's row")
        }
        try expect("counting afterwards", try await trial.read { try $0.tombstoneCount(of: ground.zone.key) }, is: 1)
        let other = try await trial.read { try $0.tombstoneCount(of: ground.other.key) }
        try expect("counting in another zone", other, is: 0)
    }

    private static let scan = Self("tombstones.scan", "Tombstones are visited in ascending order of position.") {
        trial in
        let ground = try await trial.ground()
        let names = try await trial.write { writer in
            try writer.delete("c", in: ground.zone)
            try writer.delete("x", in: ground.zone)
            try writer.delete("a", in: ground.zone)
            return try writer.tombstones(of: ground.zone.key).map(\.recordID.recordName)
        }
        try expect("scanning within the write", names, is: ["y", "c", "x", "a"])
        let after = try await trial.read { try $0.tombstones(of: ground.zone.key).map(\.recordID.recordName) }
        try expect("scanning afterwards", after, is: names)
    }

    private static let discarded = Self("tombstones.discard", "A discarded tombstone is gone for good.") { trial in
        let ground = try await trial.ground()
        let before = try await trial.read { try $0.shownEntries(of: ground.zone.key) }
        let gone = try await trial.read { try $0.shownRecord("y", in: ground.zone.key) }
        try await trial.write { try $0.discardTombstone(named: "y", in: ground.zone.key) }
        try await trial.read { reader in
            try expect("reading its name", try reader.shownRecord("y", in: ground.zone.key), is: "nothing")
            let entries = try reader.shownEntries(of: ground.zone.key)
            try expect("scanning", entries, is: before.filter { $0 != gone })
            let tombstones = try reader.tombstones(of: ground.zone.key).map(\.recordID.recordName)
            try expect("scanning tombstones", tombstones, is: ["x"])
        }
    }

    private static let discardOthers = Self(
        "tombstones.discardOthers", "Discarding the tombstone of a living record, or of no record, changes nothing."
    ) { trial in
        let ground = try await trial.ground()
        let before = try await trial.content()
        try await trial.write { writer in
            for name in ["a", "nobody", ""] { try writer.discardTombstone(named: name, in: ground.zone.key) }
        }
        try expect("looking afterwards", try await trial.content(), is: before)
    }

    private static let discardedName = Self(
        "tombstones.newRecord", "A name of which the tombstone was discarded can be used again, in the same write too."
    ) { trial in
        let ground = try await trial.ground()
        let version = try await trial.write { writer in
            try writer.discardTombstone(named: "x", in: ground.zone.key)
            return try writer.save("x", in: ground.zone)
        }
        let found = try await trial.read { try $0.shownRecord("x", in: ground.zone.key) }
        try expect("reading", found, is: Shown.entry(.live(version)))
        try expect("counting", try await trial.read { try $0.tombstoneCount(of: ground.zone.key) }, is: 1)
    }
}
