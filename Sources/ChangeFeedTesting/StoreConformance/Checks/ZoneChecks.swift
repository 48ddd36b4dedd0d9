import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StoreConformance.Check {
    /// Rows of zones and their order.
    static let zones = [fields, zeroDates, replaced, order, after, stop, thrownByVisitor, apart, spellings, owners]

    private static let fields = Self("zones.fields", "A zone's row comes back with all that it had, exactly.") {
        trial in
        let rows = try await trial.write { writer in
            var rows: [ZoneRow] = []
            for (index, reason) in DatabaseChanges.Deletion.Reason.allCases.enumerated() {
                let deletion = ZoneRow.PastDeletion(
                    position: try writer.allocatePosition(), reason: reason, date: .specimen(-0.1))
                let row = try writer.makeZone("past \(index)", pastDeletion: deletion)
                rows.append(row)
                rows.append(
                    try writer.moveZone(try writer.makeZone("gone \(index)")) {
                        $0.life = .deleted(reason, .specimen(-0.1))
                        $0.horizon = row.position
                        $0.byteCount = Int(Int32.max) + index
                        $0.clientChangeTokenData = index == 0 ? Data() : Data([0, 1, 255])
                    })
            }
            return rows
        }
        try await trial.read { reader in
            for row in rows {
                try expect("reading a zone", try reader.shownZone(row.zoneID), is: Shown.zone(row))
            }
            try expect("scanning the zones", try reader.zoneRows().map(Shown.zone), is: rows.map(Shown.zone))
        }
    }

    private static let zeroDates = Self("zones.zeroDates", "Dates of a zone's row keep the sign of a zero.") { trial in
        let row = try await trial.write { writer in
            try writer.moveZone(try writer.makeZone("zone")) {
                $0.life = .deleted(.deleted, Date(timeIntervalSinceReferenceDate: -0.0))
            }
        }
        try expect("reading", try await trial.read { try $0.shownZone(row.zoneID) }, is: Shown.zone(row))
    }

    private static let replaced = Self(
        "zones.replaced", "A zone's row stands in place of the one before, in its place or at a new one."
    ) { trial in
        let row = try await trial.write { writer in
            var row = try writer.makeZone("zone")
            row.byteCount = 1
            row.clientChangeTokenData = Data([1])
            try writer.putZone(row)
            row.clientChangeTokenData = nil
            try writer.putZone(row)
            return row
        }
        try expect("reading", try await trial.read { try $0.zoneRows().map(Shown.zone) }, is: [Shown.zone(row)])
        let moved = try await trial.write { try $0.moveZone(row) { $0.byteCount = 2 } }
        try expect(
            "reading the moved row", try await trial.read { try $0.zoneRows().map(Shown.zone) },
            is: [Shown.zone(moved)])
    }

    private static let order = Self("zones.order", "Zones are visited in ascending order of position.") { trial in
        let expected = try await trial.threeZones()
        try expect("scanning", try await trial.read { try $0.zoneRows().map(Shown.zone) }, is: expected.map(Shown.zone))
    }

    private static let after = Self("zones.after", "A scan of zones begins behind the position that is given.") {
        trial in
        let rows = try await trial.threeZones()
        try await trial.read { reader in
            for (index, row) in rows.enumerated() {
                try expect(
                    "scanning after row \(index + 1)", try reader.zoneRows(after: row.position).map(Shown.zone),
                    is: rows[(index + 1)...].map(Shown.zone))
            }
        }
    }

    private static let stop = Self("zones.stop", "A scan of zones ends where its visitor says so.") { trial in
        let rows = try await trial.threeZones()
        let visited = try await trial.read { reader in
            var visited: [String] = []
            try reader.scanZones(of: .specimen, after: .beginning) {
                visited.append(Shown.zone($0))
                return visited.count == 2 ? .stop : .next
            }
            return visited
        }
        try expect("stopping at the second", visited, is: rows.prefix(2).map(Shown.zone))
    }

    private static let thrownByVisitor = Self(
        "zones.throw", "What a visitor of zones throws ends the scan and is handed on, and the transaction goes on."
    ) { trial in
        _ = try await trial.threeZones()
        try await trial.read { reader in
            var visits = 0
            try expectOnPurpose("scanning zones") { () throws(ChangeFeedError) in
                try reader.scanZones(of: .specimen, after: .beginning) { (_) throws(ChangeFeedError) in
                    visits += 1
                    throw .onPurpose
                }
            }
            try expect("counting the visits", visits, is: 1)
            try expect("scanning again", try reader.zoneRows().count, is: 3)
        }
    }

    private static let apart = Self("zones.databases", "Databases know nothing of each other's zones.") { trial in
        let databaseIDs: [DatabaseID] = [
            .specimen, .other, .public, .private("ann\u{61}\u{300}"), .private("ann\u{E0}"),
        ]
        let rows = try await trial.write { writer in
            try databaseIDs.map { try writer.makeZone("zone", in: $0) }
        }
        try await trial.read { reader in
            let found = try reader.databaseIDs.map(Shown.databaseID).sorted()
            try expect("reading the databases", found, is: databaseIDs.map(Shown.databaseID).sorted())
            for row in rows {
                try expect("scanning", try reader.zoneRows(of: row.databaseID).map(Shown.zone), is: [Shown.zone(row)])
                try expect("reading a head", try reader.head(of: row.databaseID), is: row.position)
            }
            try expect("reading of a database without zones", try reader.zoneRows(of: .private("")).count, is: 0)
        }
    }

    private static let spellings = Self("zones.names", "Zone names and owners are told apart by their bytes.") {
        trial in
        let names = Specimen.names
        let rows = try await trial.write { writer in try names.map { try writer.makeZone($0) } }
        try await trial.read { reader in
            for row in rows {
                try expect("reading a zone", try reader.shownZone(row.zoneID), is: Shown.zone(row))
            }
            try expect("scanning", try reader.zoneRows().map(Shown.zone), is: rows.map(Shown.zone))
        }
    }

    private static let owners = Self("zones.owners", "Zones of one name and two owners are two zones.") { trial in
        let rows = try await trial.write { writer in
            try ["anna", "ben"].map { owner in
                let position = try writer.allocatePosition()
                let row = ZoneRow(
                    databaseID: .specimen, zoneID: RecordZone.ID(zoneName: "zone", ownerName: owner),
                    key: try writer.allocateZoneKey(), incarnation: position, creationDate: .specimen(0),
                    pastDeletion: nil)
                try writer.putZone(row)
                return row
            }
        }
        let found = try await trial.read { try $0.zoneRows().map(Shown.zone) }
        try expect("scanning", found, is: rows.map(Shown.zone))
    }
}

extension Trial {
    /// Three zones whose order in the feed is not that of their creation.
    fileprivate func threeZones() async throws -> [ZoneRow] {
        try await write { writer in
            let first = try writer.makeZone("first")
            let second = try writer.makeZone("second")
            let third = try writer.makeZone("third")
            try writer.makeZone("elsewhere", in: .other)
            return [second, try writer.moveZone(third), try writer.moveZone(first)]
        }
    }
}
