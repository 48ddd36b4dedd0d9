import ChangeFeed

/// A store with a little of everything, on which checks of single deeds stand.
struct Ground: Sendable {
    /// The names of records to which there can be links.
    static let targets = ["a", "b", "x", "fresh", "root"]

    /// A living zone: records `a`, `b` and `c`, tombstones `x` and `y`, links, a horizon.
    let zone: ZoneRow
    /// A living zone of another database, with the same names in it.
    let other: ZoneRow
    /// A deleted zone.
    let gone: ZoneRow
}

extension Trial {
    /// Prepares the store.
    func ground() async throws -> Ground {
        let payloads = payloads
        return try await write { writer in
            try writer.beginEpoch(nonce: 0xE0)
            var zone = try writer.makeZone("zone")
            let other = try writer.makeZone("zone", in: .other)
            var gone = try writer.makeZone("gone")
            for (index, name) in ["a", "x", "b", "y", "c"].enumerated() {
                try writer.save(name, in: zone, payload: payloads[index])
                try writer.save(name, in: other, payload: payloads[index + 5])
            }
            let tag = RecordChangeTag("a tag of the last version")
            try writer.delete("x", in: zone, tag: tag)
            try writer.delete("y", in: zone, reason: .cascaded)
            try writer.putLink(from: "b", to: "a", kind: .parent, in: zone.key)
            try writer.putLink(from: "c", to: "a", kind: .parent, in: zone.key)
            try writer.putLink(from: "c", to: "a", kind: .deleteSelf, in: zone.key)
            gone = try writer.deleteZone(gone, reason: .purged)
            zone = try writer.moveZone(zone) {
                $0.byteCount = 4711
                $0.horizon = zone.position
            }
            try writer.raisePastDeletionHorizon(of: .specimen, to: zone.position)
            try writer.setMetaValue([1, 2, 3], for: "key", of: .usage)
            try writer.setMetaValue([], for: "empty", of: .schema)
            return Ground(zone: zone, other: other, gone: gone)
        }
    }

    /// Everything that a read sees of the store.
    func content(keys: [ZoneKey] = []) async throws -> [String] {
        try await read { try $0.content(keys: keys) }
    }
}
