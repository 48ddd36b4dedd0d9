import ChangeFeed

extension StoreConformance.Check {
    /// Lives of zones, their handles, and what is discarded of them.
    static let zoneLives = [
        keys, anotherKey, erased, deletedRow, discarded, discardLiving, horizons, horizonsApart, heads, unknownRead,
        unknownWrite,
    ]

    private static let keys = Self("zones.keys", "Every life of a zone has a handle of its own.") { trial in
        let keys = try await trial.write { writer in try (0..<10).map { _ in try writer.allocateZoneKey() } }
        let more = try await trial.write { writer in try (0..<10).map { _ in try writer.allocateZoneKey() } }
        try expect("counting the handles", Set(keys + more).count, is: 20)
    }

    private static let anotherKey = Self(
        "zones.anotherLife", "A row with another handle ends the earlier life's records, tombstones and links."
    ) { trial in
        let ground = try await trial.ground()
        let other = try await trial.read { try $0.shownEntries(of: ground.other.key) }
        let next = try await trial.write { writer in
            let next = try writer.makeZone("zone")
            try writer.save("a", in: next)
            try writer.expectNoRecords(of: ground.zone.key)
            return next
        }
        try await trial.read { reader in
            try reader.expectNoRecords(of: ground.zone.key)
            try expect("reading the new life", try reader.entries(of: next.key).count, is: 1)
            try expect("reading the row", try reader.shownZone(next.zoneID), is: Shown.zone(next))
            try expect("reading another database", try reader.shownEntries(of: ground.other.key), is: other)
        }
    }

    private static let erased = Self(
        "zones.erase", "Erasing a zone's records removes records, tombstones and links of that zone alone, not its row."
    ) { trial in
        let ground = try await trial.ground()
        let other = try await trial.read { try $0.shownEntries(of: ground.other.key) }
        try await trial.write { writer in
            try writer.eraseRecords(of: ground.zone.key)
            try writer.expectNoRecords(of: ground.zone.key)
        }
        try await trial.read { reader in
            try reader.expectNoRecords(of: ground.zone.key)
            try expect("reading the row", try reader.shownZone(ground.zone.zoneID), is: Shown.zone(ground.zone))
            try expect("reading another zone", try reader.shownEntries(of: ground.other.key), is: other)
        }
    }

    private static let deletedRow = Self("zones.deleted", "A deleted zone's row stays, with reason and date.") {
        trial in
        let ground = try await trial.ground()
        try await trial.read { reader in
            try expect("reading the row", try reader.shownZone(ground.gone.zoneID), is: Shown.zone(ground.gone))
            try expect("scanning", try reader.zoneRows().map(\.key), is: [ground.gone.key, ground.zone.key])
        }
    }

    private static let discarded = Self(
        "zones.discard", "Discarding a deleted zone removes its row and raises the horizon of tombstones to it."
    ) { trial in
        let ground = try await trial.ground()
        try await trial.write { try $0.discardZone(ground.gone.zoneID, in: .specimen) }
        try await trial.read { reader in
            try expect("reading the row", try reader.shownZone(ground.gone.zoneID), is: "nothing")
            try expect("scanning", try reader.zoneRows().map(\.key), is: [ground.zone.key])
            try expect("the horizon", try reader.horizons(of: .specimen).tombstones, is: ground.gone.position)
            try expect("another horizon", try reader.horizons(of: .other), is: DatabaseHorizons())
        }
    }

    private static let discardLiving = Self(
        "zones.discardLiving", "Discarding leaves a living zone, and what is not there, alone."
    ) { trial in
        let ground = try await trial.ground()
        let before = try await trial.content()
        try await trial.write { writer in
            try writer.discardZone(ground.zone.zoneID, in: .specimen)
            try writer.discardZone(RecordZone.ID(zoneName: "nowhere"), in: .specimen)
            try writer.discardZone(ground.gone.zoneID, in: .private("nobody"))
        }
        try expect("looking afterwards", try await trial.content(), is: before)
    }

    private static let horizons = Self("zones.horizons", "Horizons never go back.") { trial in
        let first = try await trial.write { writer in
            let low = try writer.deleteZone(try writer.makeZone("low"))
            let high = try writer.deleteZone(try writer.makeZone("high"))
            try writer.discardZone(high.zoneID, in: .specimen)
            try writer.discardZone(low.zoneID, in: .specimen)
            try writer.raisePastDeletionHorizon(of: .specimen, to: high.position)
            try writer.raisePastDeletionHorizon(of: .specimen, to: low.position)
            return high.position
        }
        try await trial.write { try $0.raisePastDeletionHorizon(of: .specimen, to: .beginning) }
        let found = try await trial.read { try $0.horizons(of: .specimen) }
        try expect("the horizon of tombstones", found.tombstones, is: first)
        try expect("the horizon of past deletions", found.pastDeletions, is: first)
    }

    private static let horizonsApart = Self("zones.twoHorizons", "The two horizons of a database are apart.") { trial in
        let raised = try await trial.write { writer in
            try writer.makeZone("zone")
            let position = try writer.allocatePosition()
            try writer.raisePastDeletionHorizon(of: .specimen, to: position)
            return position
        }
        let found = try await trial.read { try $0.horizons(of: .specimen) }
        try expect("the horizon of tombstones", found.tombstones, is: .beginning)
        try expect("the horizon of past deletions", found.pastDeletions, is: raised)
    }

    private static let heads = Self(
        "zones.head", "A database's head is the position of its latest event, discarded tombstones included."
    ) { trial in
        let gone = try await trial.write { writer in
            let living = try writer.makeZone("living")
            let gone = try writer.deleteZone(try writer.makeZone("gone"))
            try writer.save("a", in: living)
            try expect("reading the head", try writer.head(of: .specimen), is: gone.position)
            try writer.discardZone(gone.zoneID, in: .specimen)
            try expect("reading the head within the write", try writer.head(of: .specimen), is: gone.position)
            return gone
        }
        let head = try await trial.read { try $0.head(of: .specimen) }
        try expect("reading the head afterwards", head, is: gone.position)
        let next = try await trial.write { try $0.makeZone("next") }
        try expect("the head of a new zone", try await trial.read { try $0.head(of: .specimen) }, is: next.position)
    }

    private static let unknownRead = Self("zones.unknownKey", "A handle that was never given leads to nothing.") {
        trial in
        let ground = try await trial.ground()
        try await trial.read { reader in
            for key in unknownKeys(beside: ground.zone.key) { try reader.expectNoRecords(of: key) }
        }
    }

    private static let unknownWrite = Self(
        "zones.unknownKeyWrites",
        "Erasing, discarding and removing under a handle that was never given changes nothing."
    ) { trial in
        let ground = try await trial.ground()
        let before = try await trial.content()
        try await trial.write { writer in
            for key in unknownKeys(beside: ground.zone.key) {
                try writer.discardTombstone(named: "x", in: key)
                try writer.removeLink(from: "b", to: "a", kind: .parent, in: key)
                try writer.eraseRecords(of: key)
            }
        }
        try expect("looking afterwards", try await trial.content(), is: before)
    }

    /// Numbers that no store has given after so few; some have the low bits of one that was.
    private static func unknownKeys(beside key: ZoneKey) -> [ZoneKey] {
        let high = [20, 24, 32, 40, 48, 62].map { key.rawValue | 1 << $0 }
        return ([.min, .max, -1, -key.rawValue - 1] + high).map { ZoneKey(rawValue: $0) }
    }
}

extension StoreReader {
    func expectNoRecords(of key: ZoneKey) throws {
        let step = "reading by the handle \(key.rawValue)"
        try expect("\(step): entries", try shownEntries(of: key), is: [])
        try expect("\(step): tombstones", try tombstones(of: key).map(Shown.tombstone), is: [])
        try expect("\(step): their count", try tombstoneCount(of: key), is: 0)
        for name in ["a", "b", "x", "y"] {
            try expect("\(step): \(name)", try shownRecord(name, in: key), is: "nothing")
        }
        for kind in LinkKind.allCases {
            try expect("\(step): links", try sources(of: "a", kind: kind, in: key), is: [])
            try expect("\(step): their count", try linkCount(to: "a", kind: kind, in: key), is: 0)
        }
    }
}
