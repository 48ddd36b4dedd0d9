import ChangeFeed

extension StoreConformance.Check {
    /// Links between records.
    static let links = [put, twice, removed, kinds, zonesApart, spellings, stop, thrownByVisitor, independent]

    private static let put = Self("links.put", "A link is found from its target, by count and by visit.") { trial in
        let key = try await trial.linked([("s1", "t"), ("s2", "t"), ("s3", "t"), ("s1", "u"), ("t", "t")])
        try await trial.expectSources(["s1", "s2", "s3", "t"], of: "t", in: key)
        try await trial.expectSources(["s1"], of: "u", in: key)
        try await trial.expectSources([], of: "s1", in: key)
    }

    private static let twice = Self("links.twice", "A link that is put twice is there once.") { trial in
        let key = try await trial.linked([("s", "t"), ("s", "t")])
        try await trial.write { try $0.putLink(from: "s", to: "t", kind: .parent, in: key) }
        try await trial.expectSources(["s"], of: "t", in: key)
        try await trial.write { try $0.removeLink(from: "s", to: "t", kind: .parent, in: key) }
        try await trial.expectSources([], of: "t", in: key)
    }

    private static let removed = Self(
        "links.remove", "A removed link is gone and no other; one that is not there can be removed."
    ) { trial in
        let key = try await trial.linked([("s1", "t"), ("s2", "t"), ("s1", "u")])
        try await trial.write { writer in
            try writer.removeLink(from: "s1", to: "t", kind: .parent, in: key)
            try writer.removeLink(from: "s1", to: "t", kind: .parent, in: key)
            try writer.removeLink(from: "nobody", to: "nothing", kind: .deleteSelf, in: key)
        }
        try await trial.expectSources(["s2"], of: "t", in: key)
        try await trial.expectSources(["s1"], of: "u", in: key)
    }

    private static let kinds = Self("links.kinds", "Links of one kind are not links of another.") { trial in
        let key = try await trial.linked([("s1", "t"), ("s2", "t")])
        try await trial.write { try $0.putLink(from: "s2", to: "t", kind: .deleteSelf, in: key) }
        try await trial.expectSources(["s1", "s2"], of: "t", in: key)
        try await trial.expectSources(["s2"], of: "t", kind: .deleteSelf, in: key)
        try await trial.write { try $0.removeLink(from: "s2", to: "t", kind: .parent, in: key) }
        try await trial.expectSources(["s1"], of: "t", in: key)
        try await trial.expectSources(["s2"], of: "t", kind: .deleteSelf, in: key)
    }

    private static let zonesApart = Self("links.zones", "Links of one zone are not links of another.") { trial in
        let ground = try await trial.ground()
        try await trial.expectSources(["b", "c"], of: "a", in: ground.zone.key)
        try await trial.expectSources([], of: "a", in: ground.other.key)
        try await trial.write { try $0.removeLink(from: "b", to: "a", kind: .parent, in: ground.other.key) }
        try await trial.expectSources(["b", "c"], of: "a", in: ground.zone.key)
    }

    private static let spellings = Self("links.names", "Sources and targets of links are told apart by their bytes.") {
        trial in
        let names = Specimen.names
        let pairs = names.map { ($0, "t") } + names.enumerated().map { ("to \($0)", $1) }
        let key = try await trial.linked(pairs)
        try await trial.expectSources(names, of: "t", in: key)
        for (index, name) in names.enumerated() {
            try await trial.expectSources(["to \(index)"], of: name, in: key)
        }
    }

    private static let stop = Self("links.stop", "A scan of links ends where its visitor says so.") { trial in
        let key = try await trial.linked([("s1", "t"), ("s2", "t"), ("s3", "t")])
        let visits = try await trial.read { reader in
            var visits = 0
            try reader.scanLinks(to: "t", kind: .parent, in: key) { _ in
                visits += 1
                return visits == 2 ? .stop : .next
            }
            return visits
        }
        try expect("stopping at the second", visits, is: 2)
    }

    private static let thrownByVisitor = Self(
        "links.throw", "What a visitor of links throws ends the scan and is handed on."
    ) { trial in
        let key = try await trial.linked([("s1", "t"), ("s2", "t")])
        try await trial.read { reader in
            var visits = 0
            try expectOnPurpose("scanning links") { () throws(ChangeFeedError) in
                try reader.scanLinks(to: "t", kind: .parent, in: key) { (_) throws(ChangeFeedError) in
                    visits += 1
                    throw .onPurpose
                }
            }
            try expect("counting the visits", visits, is: 1)
        }
    }

    private static let independent = Self(
        "links.independent", "Links do not depend on records: they may come before them and stay after them."
    ) { trial in
        let ground = try await trial.ground()
        try await trial.write { writer in
            try writer.putLink(from: "early", to: "late", kind: .parent, in: ground.zone.key)
            try writer.save("late", in: ground.zone)
            try writer.delete("late", in: ground.zone)
            try writer.discardTombstone(named: "late", in: ground.zone.key)
            try writer.delete("b", in: ground.zone)
            try writer.moveZone(ground.zone)
        }
        try await trial.expectSources(["early"], of: "late", in: ground.zone.key)
        try await trial.expectSources(["b", "c"], of: "a", in: ground.zone.key)
    }
}

extension Trial {
    /// A zone with these links of the kind `parent`.
    fileprivate func linked(_ links: [(source: String, target: String)]) async throws -> ZoneKey {
        try await write { writer in
            let row = try writer.makeZone("zone")
            for link in links { try writer.putLink(from: link.source, to: link.target, kind: .parent, in: row.key) }
            return row.key
        }
    }

    fileprivate func expectSources(
        _ sources: [String], of target: String, kind: LinkKind = .parent, in key: ZoneKey
    ) async throws {
        try await read { reader in
            let step = "the \(kind) links to \(Shown.name(target))"
            let found = try reader.sources(of: target, kind: kind, in: key)
            try expect("visiting \(step)", found, is: sources.map(Shown.name).sorted())
            try expect("counting \(step)", try reader.linkCount(to: target, kind: kind, in: key), is: sources.count)
        }
    }
}
