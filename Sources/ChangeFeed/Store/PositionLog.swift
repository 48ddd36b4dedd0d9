/// Entries in ascending order of position, of which some have been taken out again: the index of a feed in memory.
///
/// Appending, taking out and seeking cost no more than a binary search, and a scan passes at most one hole an entry.
struct PositionLog<Entry> {
    private struct Slot {
        let position: UInt64
        var entry: Entry?
    }

    private var slots: ContiguousArray<Slot> = []
    private var holes = 0
    /// No entry stands before this place: what is taken out at the front is not passed again.
    private var front = 0

    /// How many entries there are.
    var count: Int { slots.count - holes }

    /// The position of the last entry that was appended, whether it is still there or not.
    var lastPosition: UInt64? { slots.last?.position }

    /// Adds an entry with a position greater than all before.
    mutating func append(_ entry: Entry, at position: UInt64) {
        slots.append(Slot(position: position, entry: entry))
    }

    /// Takes an entry out, leaving a hole until ``compact()``.
    mutating func remove(at position: UInt64) {
        let index = firstIndex(after: position &- 1)
        guard index < slots.count, slots[index].position == position, slots[index].entry != nil else { return }
        slots[index].entry = nil
        holes += 1
        guard index == front else { return }
        while front < slots.count, slots[front].entry == nil { front += 1 }
    }

    /// Undoes ``remove(at:)``: no ``compact()`` may have come between.
    mutating func restore(_ entry: Entry, at position: UInt64) {
        let index = firstIndex(after: position &- 1)
        guard index < slots.count, slots[index].position == position, slots[index].entry == nil else { return }
        slots[index].entry = entry
        holes -= 1
        front = min(front, index)
    }

    /// Undoes the latest ``append(_:at:)``: everything that was done since has been undone.
    mutating func removeLast() {
        if slots.removeLast().entry == nil { holes -= 1 }
        front = min(front, slots.count)
    }

    /// Closes the holes once they are half of all slots, so that each costs a constant share of work.
    mutating func compact() {
        guard holes > 32, holes * 2 > slots.count else { return }
        slots.removeAll { $0.entry == nil }
        holes = 0
        front = 0
    }

    /// The place of the first slot after a position.
    func firstIndex(after position: UInt64) -> Int {
        // Most readers are near the end: look there first.
        if slots.isEmpty || slots[slots.count - 1].position <= position { return slots.count }
        var low = 0
        var high = slots.count - 1
        while low < high {
            let middle = (low + high) / 2
            if slots[middle].position <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The entry at or after a place, and its place; nil at the end.
    @inline(__always)
    func next(from index: Int) -> (index: Int, position: UInt64, entry: Entry)? {
        var index = max(index, front)
        while index < slots.count {
            if let entry = slots[index].entry { return (index, slots[index].position, entry) }
            index += 1
        }
        return nil
    }
}
