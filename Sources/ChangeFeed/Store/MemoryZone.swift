/// One database in memory: its zones by id, and by position of their latest event.
final class MemoryDatabase {
    var rows: [RecordZone.ID: ZoneRow] = [:]
    var log = PositionLog<RecordZone.ID>()
    var horizons = DatabaseHorizons()

    init() {}

    init(copying other: MemoryDatabase) {
        rows = other.rows
        log = other.log
        horizons = other.horizons
    }
}

/// One life of a zone in memory: its entries by name, and by position, living and dead apart, so that a first read
/// does not pass old tombstones.
final class MemoryZone {
    enum Entry {
        case live(RecordVersion)
        case tombstone(Tombstone)
    }

    var entries: [ByteString: Entry] = [:]
    var live = PositionLog<RecordVersion>()
    var tombstones = PositionLog<Tombstone>()
    /// The names of the records that refer to a name, for each kind of link.
    private typealias Links = [ByteString: Set<ByteString>]
    private var parentLinks: Links = [:]
    private var deleteSelfLinks: Links = [:]

    init() {}

    init(copying other: MemoryZone) {
        entries = other.entries
        live = other.live
        tombstones = other.tombstones
        parentLinks = other.parentLinks
        deleteSelfLinks = other.deleteSelfLinks
    }

    /// The names of the records that have a link of a kind to a name.
    func sources(of target: ByteString, kind: LinkKind) -> Set<ByteString>? {
        switch kind {
        case .parent: parentLinks[target]
        case .deleteSelf: deleteSelfLinks[target]
        }
    }

    /// Whether the link was not there before.
    func insertLink(from source: ByteString, to target: ByteString, kind: LinkKind) -> Bool {
        switch kind {
        case .parent: parentLinks[target, default: []].insert(source).inserted
        case .deleteSelf: deleteSelfLinks[target, default: []].insert(source).inserted
        }
    }

    /// Whether the link was there before.
    func removeLink(from source: ByteString, to target: ByteString, kind: LinkKind) -> Bool {
        switch kind {
        case .parent: MemoryZone.remove(source, from: target, &parentLinks)
        case .deleteSelf: MemoryZone.remove(source, from: target, &deleteSelfLinks)
        }
    }

    private static func remove(_ source: ByteString, from target: ByteString, _ links: inout Links) -> Bool {
        guard let index = links.index(forKey: target) else { return false }
        let wasThere = links.values[index].remove(source) != nil
        if links.values[index].isEmpty { links.remove(at: index) }
        return wasThere
    }

    /// Removes a tombstone for good.
    func discardTombstone(_ name: ByteString) -> Tombstone? {
        guard case .tombstone(let tombstone) = entries[name] else { return nil }
        entries[name] = nil
        tombstones.remove(at: tombstone.position.low)
        return tombstone
    }

    /// Takes back ``discardTombstone(_:)``.
    func restore(_ tombstone: Tombstone) {
        entries[ByteString(tombstone.recordID.recordName)] = .tombstone(tombstone)
        tombstones.restore(tombstone, at: tombstone.position.low)
    }

    /// Puts an entry in the place of the name's earlier one, which is returned.
    func put(_ entry: Entry, name: ByteString) -> Entry? {
        let previous = entries.updateValue(entry, forKey: name)
        switch previous {
        case .live(let version): live.remove(at: version.position.low)
        case .tombstone(let tombstone): tombstones.remove(at: tombstone.position.low)
        case nil: break
        }
        switch entry {
        case .live(let version): live.append(version, at: version.position.low)
        case .tombstone(let tombstone): tombstones.append(tombstone, at: tombstone.position.low)
        }
        return previous
    }

    /// Takes back the latest ``put(_:name:)``.
    func undoPut(name: ByteString, previous: Entry?) {
        switch entries.updateOrRemove(previous, forKey: name) {
        case .live: live.removeLast()
        case .tombstone: tombstones.removeLast()
        case nil: break
        }
        switch previous {
        case .live(let version): live.restore(version, at: version.position.low)
        case .tombstone(let tombstone): tombstones.restore(tombstone, at: tombstone.position.low)
        case nil: break
        }
    }
}

extension Dictionary {
    mutating func updateOrRemove(_ value: Value?, forKey key: Key) -> Value? {
        if let value { updateValue(value, forKey: key) } else { removeValue(forKey: key) }
    }
}
