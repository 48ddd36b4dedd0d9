import ChangeFeed

extension StoreConformance.Check {
    /// What holds when many use the store at once.
    static let concurrency = [counters, oneState, noSmallerPosition, failing, cancelled]

    private static let counters = Self(
        "concurrency.counters", "Of two writes one sees all that the other did: no update is lost."
    ) { trial in
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<25 { try await trial.write { try $0.count("counter") } }
                }
            }
            try await group.waitForAll()
        }
        let found = try await trial.read { try $0.counted("counter") }
        try expect("adding one 200 times in 8 tasks", found, is: 200)
    }

    private static let oneState = Self(
        "concurrency.oneState", "A transaction sees one state, however much is written meanwhile."
    ) { trial in
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<40 {
                        try await trial.write { writer in
                            for key in ["first", "second", "third"] { try writer.count(key) }
                        }
                    }
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    var last = 0
                    for _ in 0..<40 {
                        let seen = try await trial.read { reader in
                            let first = try reader.counted("first")
                            for _ in 0..<20 { _ = try reader.metaRows(of: .usage) }
                            return (first, try reader.counted("second"), try reader.counted("third"))
                        }
                        let step = "reading three counters that change together"
                        try expect(step, [seen.1, seen.2], is: [seen.0, seen.0])
                        try expect(
                            "reading a counter again", seen.0 >= last, "\(last) or more", found: "\(seen.0)")
                        last = seen.0
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static let noSmallerPosition = Self(
        "concurrency.positions", "No position appears after a greater one has been seen."
    ) { trial in
        let row = try await trial.write { try $0.makeZone("zone") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<25 {
                        try await trial.write { transaction in
                            try transaction.save("\(writer)-\(number)-a", in: row)
                            try transaction.save("\(writer)-\(number)-b", in: row)
                        }
                    }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    var seen: [String] = []
                    var seenHead = ChangePosition.beginning
                    for _ in 0..<30 {
                        let (head, entries) = try await trial.read { (try $0.head, try $0.entries(of: row.key)) }
                        let old = entries.filter { $0.position <= seenHead }.map(\.recordName)
                        try expect("reading the entries up to \(Shown.position(seenHead)) again", old, is: seen)
                        let last = entries.last?.position ?? .beginning
                        try expect(
                            "reading the head", last <= head, "no entry after it", found: Shown.position(last))
                        seen = entries.map(\.recordName)
                        seenHead = head
                    }
                }
            }
            try await group.waitForAll()
        }
        let positions = try await trial.read { try $0.entries(of: row.key).map(\.position) }
        try expect("counting the positions", Set(positions).count, is: 200)
    }

    private static let failing = Self(
        "concurrency.throwing", "A write that throws disturbs no other that runs at the same time."
    ) { trial in
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<6 {
                group.addTask {
                    for _ in 0..<20 {
                        if task % 2 == 0 {
                            try await trial.write { try $0.count("counter") }
                        } else {
                            try await trial.writeInVain { writer in
                                try writer.count("counter")
                                try writer.makeZone("never")
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try expect("counting", try await trial.read { try $0.counted("counter") }, is: 60)
        try expect("scanning zones", try await trial.read { try $0.zoneRows().count }, is: 0)
    }

    private static let cancelled = Self(
        "concurrency.cancelled", "A write of a cancelled task is done as a whole or throws and leaves nothing."
    ) { trial in
        let done = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        try await trial.write { writer in for key in ["first", "second"] { try writer.count(key) } }
                        done.add()
                    } catch {
                        // Both are allowed; which it was is seen in the counters.
                    }
                }
            }
            group.cancelAll()
        }
        let found = try await trial.read { [try $0.counted("first"), try $0.counted("second")] }
        try expect("counting the writes that returned", found, is: [done.value, done.value])
    }
}

extension StoreReader {
    fileprivate func counted(_ key: String) throws(ChangeFeedError) -> Int {
        let bytes = try metaValue(key, of: .usage) ?? []
        return bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}

extension StoreWriter {
    fileprivate func count(_ key: String) throws(ChangeFeedError) {
        let next = try counted(key) + 1
        try setMetaValue([UInt8(next >> 8 & 255), UInt8(next & 255)], for: key, of: .usage)
    }
}
