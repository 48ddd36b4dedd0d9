/// A table of small things in memory: a dictionary, and its keys in order for scans.
///
/// The order is made when a scan needs it and kept while keys are added at the end or taken away, which is how the
/// large tables are used.
struct MemoryMetaTable {
    private var values: [ByteString: [UInt8]] = [:]
    private var order: [String] = []
    /// Whether `order` has every key, in ascending order; it may have keys that are gone.
    private var isOrdered = true

    subscript(key: String) -> [UInt8]? { values[ByteString(key)] }

    /// Sets or removes the value of a key and gives back the earlier one.
    mutating func set(_ value: [UInt8]?, for key: String) -> [UInt8]? {
        guard let value else { return values.removeValue(forKey: ByteString(key)) }
        let previous = values.updateValue(value, forKey: ByteString(key))
        if previous == nil {
            if isOrdered, order.last.map({ precedesByBytes($0, key) }) ?? true {
                order.append(key)
            } else {
                isOrdered = false
            }
        }
        return previous
    }

    /// Prepares for a scan.
    mutating func sortKeys() {
        guard !isOrdered || order.count > 2 * values.count + 64 else { return }
        order = values.keys.map(\.string).sorted(by: precedesByBytes)
        isOrdered = true
    }

    /// Visits the keys that are not before one, in ascending order. The keys have been sorted.
    func scan(
        from key: String, _ visit: (String, [UInt8]) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError) {
        var low = 0
        var high = order.count
        while low < high {
            let middle = (low + high) / 2
            if precedesByBytes(order[middle], key) { low = middle + 1 } else { high = middle }
        }
        for key in order[low...] {
            guard let value = values[ByteString(key)] else { continue }
            if try visit(key, value) == .stop { return }
        }
    }
}
