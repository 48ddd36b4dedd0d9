/// Plain Swift with several zones: a ``PlainStore`` for each, and a log of which zone was written to.
struct PlainDatabase {
    private struct Zone {
        var store = PlainStore()
        /// The position in the database's log of the last write to the zone.
        var position = 0
    }

    private var zones: [String: Zone] = [:]
    /// Every write in order. An entry that is not its zone's latest is superseded.
    private var log: [(position: Int, zoneName: String)] = []

    /// The position of the last write.
    var head: Int { log.count }

    /// Writes to a zone, which need not be there yet.
    mutating func write<Result>(to zoneName: String, _ body: (inout PlainStore) -> Result) -> Result {
        let position = log.count + 1
        log.append((position, zoneName))
        zones[zoneName, default: Zone()].position = position
        return body(&zones[zoneName, default: Zone()].store)
    }

    /// The store of a zone.
    subscript(zoneName: String) -> PlainStore? {
        zones[zoneName]?.store
    }

    /// The zones that were written to after a position, each once, and where to go on.
    func changes(after position: Int) -> (zoneNames: [String], position: Int) {
        var names: [String] = []
        for entry in log[position...] where zones[entry.zoneName]?.position == entry.position {
            names.append(entry.zoneName)
        }
        return (names, log.count)
    }
}
