/// Two aligned columns: what something is, and its value, right-aligned.
struct Table {
    private var rows: [(label: String, value: String)] = []

    mutating func add(_ label: String, _ count: Int) {
        add(label, NumberText.grouped(count))
    }

    /// Adds `value` rounded to `places` decimal places.
    mutating func add(_ label: String, _ value: Double, places: Int) {
        add(label, NumberText.decimal(value, places: places))
    }

    mutating func add(_ label: String, _ value: String) {
        rows.append((label, value))
    }

    /// One line a row, each ended by a newline, none with space at its end.
    var text: String {
        let labelWidth = rows.map(\.label.count).max() ?? 0
        let valueWidth = rows.map(\.value.count).max() ?? 0
        return rows.map { row in
            let gap = labelWidth - row.label.count + 2 + valueWidth - row.value.count
            return row.label + String(repeating: " ", count: gap) + row.value + "\n"
        }.joined()
    }
}
