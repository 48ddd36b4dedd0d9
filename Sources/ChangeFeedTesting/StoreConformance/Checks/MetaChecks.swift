import ChangeFeed

extension StoreConformance.Check {
    /// The tables of small things.
    static let metaTables = [
        values, removed, emptyValue, order, from, tablesApart, megabyte, stop, thrownByVisitor, many,
    ]

    private static let values = Self(
        "meta.values", "A value comes back byte for byte under its key, and the latest stands for those before."
    ) { trial in
        for value in [[0], [255, 0, 1], Array(0...255), [7]] as [[UInt8]] {
            try await trial.write { writer in
                try writer.setMetaValue(value, for: "key", of: .requests)
                try expect("reading in the write", try writer.metaValue("key", of: .requests), is: value)
            }
            let found = try await trial.read { try $0.metaValue("key", of: .requests) }
            try expect("reading afterwards", found, is: value)
        }
        let rows = try await trial.read { try $0.metaRows(of: .requests) }
        try expect("scanning", rows, is: [Shown.metaRow("key", [7])])
    }

    private static let removed = Self("meta.remove", "Nil removes a key, and only that.") { trial in
        try await trial.write { writer in
            for key in ["a", "b", "c"] { try writer.setMetaValue([1], for: key, of: .usage) }
        }
        try await trial.write { writer in
            try writer.setMetaValue(nil, for: "b", of: .usage)
            try writer.setMetaValue(nil, for: "never there", of: .usage)
            try expect("reading in the write", try writer.metaValue("b", of: .usage), is: nil)
        }
        let rows = try await trial.read { try $0.metaRows(of: .usage) }
        try expect("scanning", rows, is: [Shown.metaRow("a", [1]), Shown.metaRow("c", [1])])
        let found = try await trial.read { try $0.metaValue("b", of: .usage) }
        try expect("reading afterwards", found, is: nil)
    }

    private static let emptyValue = Self("meta.empty", "An empty value is a value, and differs from none.") { trial in
        try await trial.write { try $0.setMetaValue([], for: "key", of: .schema) }
        try await trial.read { reader in
            try expect("reading", try reader.metaValue("key", of: .schema), is: [])
            try expect("reading another key", try reader.metaValue("other", of: .schema), is: nil)
            try expect("scanning", try reader.metaRows(of: .schema), is: [Shown.metaRow("key", [])])
        }
    }

    private static let order = Self("meta.order", "Keys are visited in ascending order of their UTF-8 bytes.") {
        trial in
        let keys = Specimen.names
        var random = SeededGenerator(seed: trial.seed)
        let shuffled = keys.shuffled(using: &random)
        try await trial.write { writer in
            for key in shuffled { try writer.setMetaValue(Array(key.utf8), for: key, of: .assets) }
        }
        let sorted = keys.sortedByBytes.map { Shown.metaRow($0, Array($0.utf8)) }
        try expect("scanning", try await trial.read { try $0.metaRows(of: .assets) }, is: sorted)
        try await trial.read { reader in
            for key in keys {
                let found = try reader.metaValue(key, of: .assets)
                try expect("reading \(Shown.name(key))", found, is: Array(key.utf8))
            }
        }
    }

    private static let from = Self("meta.from", "A scan begins with the key that is given, whether it is there or not.")
    {
        trial in
        let keys = Specimen.names.filter { $0 != "aa" }
        try await trial.write { writer in
            for key in keys { try writer.setMetaValue([], for: key, of: .assets) }
        }
        try await trial.read { reader in
            for start in Specimen.names + ["a\u{1}", "zz"] {
                let expected = keys.sortedByBytes.filter {
                    !$0.utf8.lexicographicallyPrecedes(start.utf8)
                }
                let found = try reader.metaRows(of: .assets, from: start)
                try expect("scanning from \(Shown.name(start))", found, is: expected.map { Shown.metaRow($0, []) })
            }
        }
    }

    private static let tablesApart = Self("meta.tables", "The tables know nothing of each other's keys.") { trial in
        try await trial.write { writer in
            for table in MetaTable.allCases { try writer.setMetaValue([UInt8(table.rawValue)], for: "key", of: table) }
            try writer.setMetaValue(nil, for: "key", of: .usage)
        }
        try await trial.read { reader in
            for table in MetaTable.allCases {
                let expected: [UInt8]? = table == .usage ? nil : [UInt8(table.rawValue)]
                try expect("reading of \(table)", try reader.metaValue("key", of: table), is: expected)
            }
        }
    }

    private static let megabyte = Self("meta.megabyte", "A value may have a megabyte.") { trial in
        var value = [UInt8](repeating: 0x5A, count: 1 << 20)
        value[1 << 19] = 0
        let expected = value
        try await trial.write { try $0.setMetaValue(expected, for: "large", of: .subscriptions) }
        let found = try await trial.read { try $0.metaValue("large", of: .subscriptions) ?? [] }
        try expect("reading", Shown.bytes(found), is: Shown.bytes(expected))
    }

    private static let stop = Self("meta.stop", "A scan of a table ends where its visitor says so.") { trial in
        try await trial.write { writer in
            for key in ["a", "b", "c"] { try writer.setMetaValue([], for: key, of: .usage) }
        }
        let visited = try await trial.read { reader in
            var visited: [String] = []
            try reader.scanMeta(of: .usage, from: "") { key, _ in
                visited.append(key)
                return visited.count == 2 ? .stop : .next
            }
            return visited
        }
        try expect("stopping at the second", visited, is: ["a", "b"])
    }

    private static let thrownByVisitor = Self(
        "meta.throw", "What a visitor of a table throws ends the scan and is handed on."
    ) { trial in
        try await trial.write { writer in
            for key in ["a", "b", "c"] { try writer.setMetaValue([], for: key, of: .usage) }
        }
        try await trial.read { reader in
            var visits = 0
            try expectOnPurpose("scanning a table") { () throws(ChangeFeedError) in
                try reader.scanMeta(of: .usage, from: "") { (_, _) throws(ChangeFeedError) in
                    visits += 1
                    throw .onPurpose
                }
            }
            try expect("counting the visits", visits, is: 1)
        }
    }

    private static let many = Self(
        "meta.many", "Keys that come and go keep their order, within a write and from one to the next."
    ) { trial in
        var random = SeededGenerator(seed: trial.seed, step: 1)
        var model: Set<String> = []
        for round in 1...8 {
            let changes = (0..<80).map { _ in (key: "\(random.below(200))", stays: !random.once(in: 3)) }
            for change in changes {
                if change.stays { model.insert(change.key) } else { model.remove(change.key) }
            }
            let expected = Array(model).sortedByBytes.map { Shown.metaRow($0, []) }
            try await trial.write { writer in
                for (number, change) in changes.enumerated() {
                    try writer.setMetaValue(change.stays ? [] : nil, for: change.key, of: .requestAges)
                    if number % 16 == 3 { _ = try writer.metaRows(of: .requestAges) }
                }
                try expect("scanning in write \(round)", try writer.metaRows(of: .requestAges), is: expected)
            }
            let found = try await trial.read { try $0.metaRows(of: .requestAges) }
            try expect("scanning after write \(round)", found, is: expected)
        }
    }
}

extension [String] {
    var sortedByBytes: [String] { sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
}
