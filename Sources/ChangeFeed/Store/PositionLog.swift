/// Entries in ascending order of position, of which some have been taken out again: the index of a feed in memory.
///
/// Kept in chunks, so that appending, taking out, seeking and closing holes each touch a few of them and never all: no
/// single operation takes long, however many entries there are.
struct PositionLog<Entry> {
    private struct Slot {
        let position: UInt64
        var entry: Entry?
    }

    /// Neighbouring slots. Its first position stays when slots go, so that chunks can be searched.
    private struct Chunk {
        let firstPosition: UInt64
        var slots: ContiguousArray<Slot>
        var count: Int

        mutating func append(_ entry: Entry, at position: UInt64) {
            slots.append(Slot(position: position, entry: entry))
            count += 1
        }
    }

    private static var chunkSize: Int { 512 }

    private var chunks: ContiguousArray<Chunk> = []
    /// How many entries there are.
    private(set) var count = 0
    /// The position of the last entry that was appended, whether it is still there or not; after ``removeLast()``, that
    /// of the last slot that is left.
    private(set) var lastPosition: UInt64?
    /// How many chunks have no entry.
    private var emptyChunks = 0
    /// The chunks that a transaction took entries out of, and whose holes may be closed when it ends.
    private var touched: Set<UInt64> = []

    /// How many slots there are, holes included: what the log costs.
    var slotCount: Int { chunks.reduce(0) { $0 + $1.slots.count } }

    /// Where a scan stands.
    struct Place {
        fileprivate var chunk: Int
        fileprivate var slot: Int
    }

    /// Adds an entry with a position greater than all before.
    mutating func append(_ entry: Entry, at position: UInt64) {
        if chunks.isEmpty || chunks[chunks.count - 1].slots.count >= PositionLog.chunkSize {
            chunks.append(Chunk(firstPosition: position, slots: [], count: 0))
            emptyChunks += 1
        }
        let last = chunks.count - 1
        if chunks[last].count == 0 { emptyChunks -= 1 }
        chunks[last].append(entry, at: position)
        count += 1
        lastPosition = position
    }

    /// Takes an entry out, leaving a hole until ``compact()``.
    mutating func remove(at position: UInt64) {
        guard let (chunk, slot) = find(position), chunks[chunk].slots[slot].entry != nil else { return }
        chunks[chunk].slots[slot].entry = nil
        chunks[chunk].count -= 1
        if chunks[chunk].count == 0 { emptyChunks += 1 }
        count -= 1
        touched.insert(chunks[chunk].firstPosition)
    }

    /// Undoes ``remove(at:)``: no ``compact()`` may have come between.
    mutating func restore(_ entry: Entry, at position: UInt64) {
        guard let (chunk, slot) = find(position), chunks[chunk].slots[slot].entry == nil else { return }
        chunks[chunk].slots[slot].entry = entry
        if chunks[chunk].count == 0 { emptyChunks -= 1 }
        chunks[chunk].count += 1
        count += 1
    }

    /// Undoes the latest ``append(_:at:)``: everything that was done since has been undone.
    mutating func removeLast() {
        let last = chunks.count - 1
        guard last >= 0, chunks[last].slots.popLast()?.entry != nil else { return }
        chunks[last].count -= 1
        count -= 1
        if chunks[last].count == 0 { emptyChunks += 1 }
        if chunks[last].slots.isEmpty {
            chunks.removeLast()
            emptyChunks -= 1
        }
        lastPosition = chunks.last.map { $0.slots.last?.position ?? $0.firstPosition }
    }

    /// Closes holes: in each chunk that was touched once they are half of it, and among the chunks once half are empty.
    mutating func compact() {
        if touched.isEmpty { return }
        for firstPosition in touched {
            let index = chunk(of: firstPosition)
            guard index >= 0, chunks[index].firstPosition == firstPosition,
                chunks[index].slots.count >= 2 * chunks[index].count
            else { continue }
            if chunks[index].count == 0 {
                chunks[index].slots = []
            } else if index == chunks.count - 1 {
                chunks[index].slots.removeAll { $0.entry == nil }
            } else {
                // Nothing is added here any more: no room is kept for it.
                chunks[index].slots = ContiguousArray(chunks[index].slots.filter { $0.entry != nil })
            }
        }
        touched.removeAll(keepingCapacity: touched.count <= 64)
        if emptyChunks > 8, emptyChunks * 2 > chunks.count {
            chunks.removeAll { $0.count == 0 }
            emptyChunks = 0
        }
    }

    /// The place of the first slot after a position.
    func place(after position: UInt64) -> Place {
        let chunk = chunk(of: position)
        if chunk < 0 { return Place(chunk: 0, slot: 0) }
        return Place(chunk: chunk, slot: slot(after: position, in: chunk))
    }

    /// The entry at or after a place, which is moved behind it; nil at the end.
    @inline(__always)
    func next(from place: inout Place) -> (position: UInt64, entry: Entry)? {
        while place.chunk < chunks.count {
            if chunks[place.chunk].count > 0 {
                while place.slot < chunks[place.chunk].slots.count {
                    let slot = place.slot
                    place.slot += 1
                    if let entry = chunks[place.chunk].slots[slot].entry {
                        return (chunks[place.chunk].slots[slot].position, entry)
                    }
                }
            }
            place.chunk += 1
            place.slot = 0
        }
        return nil
    }

    // MARK: Searching

    private func find(_ position: UInt64) -> (chunk: Int, slot: Int)? {
        let chunk = chunk(of: position)
        guard chunk >= 0 else { return nil }
        let slot = slot(after: position &- 1, in: chunk)
        guard slot < chunks[chunk].slots.count, chunks[chunk].slots[slot].position == position else { return nil }
        return (chunk, slot)
    }

    /// The chunk in which a position stands or would stand; -1 if it is before all.
    private func chunk(of position: UInt64) -> Int {
        // Most readers and writers are near the end: look there first.
        if let last = chunks.last, last.firstPosition <= position { return chunks.count - 1 }
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].firstPosition <= position { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    private func slot(after position: UInt64, in chunk: Int) -> Int {
        var low = 0
        var high = chunks[chunk].slots.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[chunk].slots[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
