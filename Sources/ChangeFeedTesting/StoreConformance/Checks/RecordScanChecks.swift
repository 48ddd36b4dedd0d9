import ChangeFeed

extension StoreConformance.Check {
    /// How entries are visited.
    static let recordScans = [merged, after, tombstonesAfter, stop, thrownByVisitor, nested, withinWrite]

    private static let merged = Self(
        "scans.merged", "A scan visits versions and tombstones together, in ascending order of position."
    ) { trial in
        let (key, expected) = try await trial.mixedZone()
        let found = try await trial.read { try $0.shownEntries(of: key) }
        try expect("scanning", found, is: expected.map(Shown.entry))
    }

    private static let after = Self("scans.after", "A scan begins behind the position that is given.") { trial in
        let (key, expected) = try await trial.mixedZone()
        try await trial.read { reader in
            for (index, entry) in expected.enumerated() {
                let found = try reader.shownEntries(of: key, after: entry.position)
                try expect("scanning after entry \(index + 1)", found, is: expected[(index + 1)...].map(Shown.entry))
            }
            let beyond = try reader.shownEntries(of: key, after: ChangePosition(high: .max, low: .max))
            try expect("scanning after all positions", beyond, is: [])
        }
    }

    private static let tombstonesAfter = Self(
        "scans.tombstonesAfter", "A scan passes over the tombstones up to the position that is given for them."
    ) { trial in
        let (key, expected) = try await trial.mixedZone()
        try await trial.read { reader in
            for (index, start) in expected.enumerated() {
                for bound in expected[index...] {
                    let found = try reader.shownEntries(of: key, after: start.position, tombstonesAfter: bound.position)
                    let wanted = expected[(index + 1)...].filter { $0.isLive || $0.position > bound.position }
                    let step =
                        "scanning after \(Shown.position(start.position)), tombstones after "
                        + Shown.position(bound.position)
                    try expect(step, found, is: wanted.map(Shown.entry))
                }
            }
        }
    }

    private static let stop = Self("scans.stop", "A scan of records ends where its visitor says so.") { trial in
        let (key, expected) = try await trial.mixedZone()
        try await trial.read { reader in
            for count in 1...expected.count {
                var visited: [String] = []
                try reader.scanRecords(of: key, after: .beginning, tombstonesAfter: .beginning) {
                    visited.append(Shown.entry($0))
                    return visited.count == count ? .stop : .next
                }
                try expect("stopping at entry \(count)", visited, is: expected.prefix(count).map(Shown.entry))
            }
            var visits = 0
            try reader.scanTombstones(of: key) { _ in
                visits += 1
                return .stop
            }
            try expect("stopping at the first tombstone", visits, is: 1)
        }
    }

    private static let thrownByVisitor = Self(
        "scans.throw", "What a visitor of records throws ends the scan and is handed on, and the transaction goes on."
    ) { trial in
        let (key, expected) = try await trial.mixedZone()
        try await trial.write { writer in
            var visits = 0
            try expectOnPurpose("scanning records") { () throws(ChangeFeedError) in
                try writer.scanRecords(of: key, after: .beginning, tombstonesAfter: .beginning) {
                    (_) throws(ChangeFeedError) in
                    visits += 1
                    if visits < 3 { return .next }
                    throw .onPurpose
                }
            }
            try expectOnPurpose("scanning tombstones") { () throws(ChangeFeedError) in
                try writer.scanTombstones(of: key) { (_) throws(ChangeFeedError) in
                    visits += 1
                    throw .onPurpose
                }
            }
            try expect("counting the visits", visits, is: 4)
            try expect("scanning again", try writer.shownEntries(of: key), is: expected.map(Shown.entry))
        }
    }

    private static let nested = Self(
        "scans.nested", "A visitor may read and scan in the same transaction, whatever it is visiting."
    ) { trial in
        let ground = try await trial.ground()
        let key = ground.zone.key
        let expected = try await trial.content()
        let once = try await trial.read { try $0.shownEntries(of: key) }
        let ran = Counter()
        try await trial.read { reader in
            var contents: [[String]] = []
            var visited: [String] = []
            func look() throws(ChangeFeedError) -> ScanStep {
                contents.append(try reader.content())
                ran.add()
                return .next
            }
            try reader.scanRecords(of: key, after: .beginning, tombstonesAfter: .beginning) {
                (entry) throws(ChangeFeedError) in
                visited.append(Shown.entry(entry))
                return try look()
            }
            try expect("reading while visiting records", visited, is: once)
            try reader.scanZones(of: .specimen, after: .beginning) { (_) throws(ChangeFeedError) in try look() }
            try reader.scanTombstones(of: key) { (_) throws(ChangeFeedError) in try look() }
            try reader.scanLinks(to: "a", kind: .parent, in: key) { (_) throws(ChangeFeedError) in try look() }
            try reader.scanMeta(of: .usage, from: "") { (_, _) throws(ChangeFeedError) in try look() }
            for content in contents { try expect("reading within a visitor", content, is: expected) }
        }
        try expect("counting the visits", ran.value, is: once.count + 2 + 2 + 2 + 1)
    }

    private static let withinWrite = Self("scans.withinWrite", "A scan in a write sees what the write has done.") {
        trial in
        let ground = try await trial.ground()
        try await trial.write { writer in
            let before = try writer.shownEntries(of: ground.zone.key)
            let version = try writer.save("fresh", in: ground.zone)
            let tombstone = try writer.delete("other", in: ground.zone)
            let added = [Shown.entry(.live(version)), Shown.entry(.tombstone(tombstone))]
            try expect("scanning", try writer.shownEntries(of: ground.zone.key), is: before + added)
            let behind = try writer.shownEntries(of: ground.zone.key, after: RecordEntry.live(version).position)
            try expect("scanning behind the new record", behind, is: [added[1]])
        }
    }
}

extension Trial {
    /// A zone in which versions and tombstones alternate irregularly, with gaps between them.
    fileprivate func mixedZone() async throws -> (ZoneKey, [RecordEntry]) {
        try await write { writer in
            let row = try writer.makeZone("mixed")
            for number in 0..<14 { try writer.save("record \(number)", in: row) }
            var entries: [RecordEntry] = []
            for (number, letter) in "ltlllttltttll".enumerated() {
                if letter == "l" {
                    entries.append(.live(try writer.save("record \(number)", in: row)))
                } else {
                    entries.append(.tombstone(try writer.delete("record \(number)", in: row)))
                }
                if number % 4 == 1 { _ = try writer.allocatePosition() }
            }
            // The one that was not written again stands first.
            guard let first = try writer.record(named: "record 13", in: row.key) else { return (row.key, entries) }
            return (row.key, [first] + entries)
        }
    }
}

extension RecordEntry {
    var isLive: Bool {
        if case .live = self { true } else { false }
    }
}
