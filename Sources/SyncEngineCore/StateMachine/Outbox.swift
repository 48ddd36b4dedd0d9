/// What is to be done to an item on the server.
enum Intent: UInt8, Sendable, Hashable {
    case save
    case delete
}

/// Pending changes in the order of first adding, one for each item: the latest kind wins (rules P2, P3).
///
/// An item has a pending part, a part in flight, or both: what is added while a request is under way is a new pending
/// change (rule P5). Each adding has a generation, so that an answer ends just what was sent (case B39).
///
/// Adding, removing and finding an item take constant time, however many there are.
struct Outbox<ID: Hashable & Sendable>: Sendable {
    /// One adding of a change.
    struct Part: Sendable, Equatable {
        var intent: Intent
        /// Which adding it is.
        var generation: UInt64
        /// For a deletion, the tag of the version that the app knows. For a save an empty one: the server does not have
        /// what it was made from.
        var tag: String?

        var isMarked: Bool { intent == .save && tag != nil }
    }

    struct Entry: Sendable {
        let id: ID
        /// Its place in the order, which never changes while it is here.
        let place: UInt64
        var pending: Part?
        var inFlight: Part?

        var isEmpty: Bool { pending == nil && inFlight == nil }
        /// What is to be kept on disk: what would still have to be sent if the process ended now.
        var unsent: Part? { pending ?? inFlight }
    }

    /// In the order of their places; those that are empty have been removed and wait to be swept.
    private var entries: [Entry] = []
    private var places: [ID: UInt64] = [:]
    private var firstOccupied = 0
    private var emptyCount = 0
    private var nextPlace: UInt64 = 1
    /// How many items have a pending part.
    private(set) var pendingCount = 0

    var isEmpty: Bool { places.isEmpty }
    /// How many items there are, pending or in flight.
    var count: Int { places.count }

    subscript(id: ID) -> Entry? {
        guard let place = places[id] else { return nil }
        return entries[index(of: place)]
    }

    /// Items from after a place on, in order.
    func entries(after place: UInt64) -> some Sequence<Entry> {
        let first = max(firstOccupied, firstIndex(after: place))
        return entries[min(first, entries.count)...].lazy.filter { !$0.isEmpty }
    }

    var all: some Sequence<Entry> { entries(after: 0) }

    mutating func add(_ part: Part, for id: ID) {
        if let place = places[id] {
            let index = index(of: place)
            let old = entries[index].pending
            if old == nil { pendingCount += 1 }
            entries[index].pending = part
            if let old, old.isMarked, part.intent == .save { entries[index].pending?.tag = old.tag }
        } else {
            entries.append(Entry(id: id, place: nextPlace, pending: part, inFlight: nil))
            places[id] = nextPlace
            nextPlace += 1
            pendingCount += 1
        }
    }

    /// Forgets what was added up to a generation.
    mutating func remove(_ id: ID, upTo generation: UInt64) {
        guard let place = places[id] else { return }
        let index = index(of: place)
        if let pending = entries[index].pending, pending.generation <= generation {
            entries[index].pending = nil
            pendingCount -= 1
        }
        if let inFlight = entries[index].inFlight, inFlight.generation <= generation { entries[index].inFlight = nil }
        sweep(index)
    }

    /// Marks a pending save: it is sent whatever is in it.
    mutating func mark(_ id: ID) {
        guard let place = places[id] else { return }
        let index = index(of: place)
        if entries[index].pending?.intent == .save { entries[index].pending?.tag = "" }
    }

    /// Forgets the pending part.
    mutating func takeBackPending(_ id: ID) {
        guard let place = places[id] else { return }
        let index = index(of: place)
        guard entries[index].pending != nil else { return }
        entries[index].pending = nil
        pendingCount -= 1
        sweep(index)
    }

    /// Notes that the pending part is on its way, if it is no younger than `generation`. Gives what is on its way.
    @discardableResult
    mutating func send(_ id: ID, upTo generation: UInt64) -> Part? {
        guard let place = places[id] else { return nil }
        let index = index(of: place)
        guard let pending = entries[index].pending, pending.generation <= generation else { return nil }
        entries[index].inFlight = pending
        entries[index].pending = nil
        pendingCount -= 1
        return pending
    }

    /// Takes back what was on its way: it is pending again, unless something newer is.
    mutating func takeBack(_ id: ID) {
        guard let place = places[id] else { return }
        let index = index(of: place)
        guard let inFlight = entries[index].inFlight else { return }
        entries[index].inFlight = nil
        if entries[index].pending == nil {
            entries[index].pending = inFlight
            pendingCount += 1
        }
    }

    mutating func takeAllBack() {
        for id in all.filter({ $0.inFlight != nil }).map(\.id) { takeBack(id) }
    }

    private mutating func sweep(_ index: Int) {
        guard entries[index].isEmpty else { return }
        places[entries[index].id] = nil
        emptyCount += 1
        while firstOccupied < entries.count, entries[firstOccupied].isEmpty { firstOccupied += 1 }
        guard emptyCount > 64, emptyCount * 2 > entries.count else { return }
        entries.removeAll(where: \.isEmpty)
        emptyCount = 0
        firstOccupied = 0
    }

    private func index(of place: UInt64) -> Int { firstIndex(after: place - 1) }

    /// The index of the first entry whose place is after `place`.
    private func firstIndex(after place: UInt64) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place <= place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
