import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One kind of write that can be seen in the store's content, done to a ``Ground``.
struct Deed: Sendable {
    /// The end of a check's identifier.
    let id: String
    /// What is done, as the end of a sentence.
    let phrase: String
    let body: @Sendable (any StoreWriter, Ground) throws -> Void

    init(_ id: String, _ phrase: String, _ body: @escaping @Sendable (any StoreWriter, Ground) throws -> Void) {
        self.id = id
        self.phrase = phrase
        self.body = body
    }

    static let all = counters + zones + records + small

    private static let counters = [
        Deed("positions", "allocated positions") { writer, _ in _ = try writer.allocatePosition() },
        Deed("epochs", "a new epoch") { writer, _ in try writer.beginEpoch(nonce: 0xE1) },
        Deed("horizons", "a raised horizon of past deletions") { writer, ground in
            try writer.raisePastDeletionHorizon(of: ground.zone.databaseID, to: try writer.allocatePosition())
        },
    ]

    private static let zones = [
        Deed("newZone", "the row of a new zone") { writer, _ in try writer.makeZone("fresh") },
        Deed("newDatabase", "the first zone of a database") { writer, _ in
            try writer.makeZone("fresh", in: .private("fresh"))
        },
        Deed("movedZone", "a zone's new place in the feed") { writer, ground in
            try writer.moveZone(ground.other) { $0.clientChangeTokenData = Data([9]) }
        },
        Deed("changedZone", "a change of a zone's row in its place") { writer, ground in
            var row = ground.zone
            row.byteCount += 1
            row.horizon = row.position
            try writer.putZone(row)
        },
        Deed("anotherLife", "a zone's next life and the end of its records") { writer, ground in
            try writer.makeZone(ground.zone.zoneID.zoneName)
        },
        Deed("deletedZone", "the deletion of a zone") { writer, ground in try writer.deleteZone(ground.zone) },
        Deed("erasedRecords", "the erasure of a zone's records") { writer, ground in
            try writer.eraseRecords(of: ground.zone.key)
        },
        Deed("discardedZone", "the removal of a deleted zone's row") { writer, ground in
            try writer.discardZone(ground.gone.zoneID, in: ground.gone.databaseID)
        },
    ]

    private static let records = [
        Deed("newRecord", "a new record") { writer, ground in try writer.save("fresh", in: ground.zone) },
        Deed("changedRecord", "a record's next version") { writer, ground in try writer.save("a", in: ground.zone) },
        Deed("deletedRecord", "a record's deletion") { writer, ground in try writer.delete("b", in: ground.zone) },
        Deed("revivedRecord", "a deleted record's return") { writer, ground in try writer.save("x", in: ground.zone) },
        Deed("deletedAgain", "a tombstone in a tombstone's place") { writer, ground in
            try writer.delete("x", in: ground.zone)
        },
        Deed("discardedTombstone", "the removal of a tombstone") { writer, ground in
            try writer.discardTombstone(named: "y", in: ground.zone.key)
        },
    ]

    private static let small = [
        Deed("newLink", "a new link") { writer, ground in
            try writer.putLink(from: "b", to: "root", kind: .deleteSelf, in: ground.zone.key)
        },
        Deed("removedLink", "the removal of a link") { writer, ground in
            try writer.removeLink(from: "c", to: "a", kind: .parent, in: ground.zone.key)
        },
        Deed("newMeta", "a new small thing") { writer, _ in try writer.setMetaValue([0], for: "fresh", of: .requests) },
        Deed("changedMeta", "the change of a small thing") { writer, _ in
            try writer.setMetaValue([4], for: "key", of: .usage)
        },
        Deed("removedMeta", "the removal of a small thing") { writer, _ in
            try writer.setMetaValue(nil, for: "empty", of: .schema)
        },
    ]
}
