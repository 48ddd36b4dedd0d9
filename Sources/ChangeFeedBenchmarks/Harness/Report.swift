#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// All figures of a run, for people and for programs.
struct Report: Encodable {
    let figures: [Figure]

    /// One object.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Aligned columns: words to the left, numbers to the right.
    var table: String {
        var rows = [["figure", "changefeed", "baseline", "ratio", "unit", "better"]]
        for figure in figures {
            rows.append([
                figure.id,
                shown(figure.ours),
                figure.baseline.map(shown) ?? "-",
                figure.ratio.map { decimal($0, places: 2) } ?? "-",
                figure.unit.rawValue,
                figure.unit.better,
            ])
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                if (1...3).contains(column) { return space + row[column] }
                return column == row.count - 1 ? row[column] : row[column] + space
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// A number with as many places as are worth reading.
    private func shown(_ value: Double) -> String {
        decimal(value, places: value < 100 ? 2 : 0)
    }

    /// A number of at most `places` decimal places, with a comma between thousands.
    private func decimal(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1) { product, _ in product * 10 }
        guard let units = Int(exactly: (value * Double(scale)).rounded()) else { return "-" }
        let digits = Array(String((units / scale).magnitude))
        var text = units < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        guard places > 0 else { return text }
        let fraction = String(units.magnitude % scale.magnitude)
        return text + "." + String(repeating: "0", count: places - fraction.count) + fraction
    }
}
