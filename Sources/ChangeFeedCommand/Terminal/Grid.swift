/// Aligned columns under a heading: texts to the left, numbers to the right.
struct Grid {
    /// What stands in a place.
    enum Cell {
        case text(String)
        case number(Int)

        fileprivate var shown: String {
            switch self {
            case .text(let text): text
            case .number(let number): NumberText.grouped(number)
            }
        }
    }

    private let heading: [String]
    private var rows: [[Cell]] = []

    init(_ heading: String...) {
        self.heading = heading
    }

    init(_ heading: [String]) {
        self.heading = heading
    }

    mutating func add(_ cells: Cell...) {
        rows.append(cells)
    }

    mutating func add(_ cells: [Cell]) {
        rows.append(cells)
    }

    /// One line a row, each ended by a newline, none with space at its end.
    var text: String {
        let shown = rows.map { $0.map(\.shown) }
        let widths = heading.indices.map { column in
            ([heading] + shown).map { $0[column].count }.max() ?? 0
        }
        let isNumber = heading.indices.map { column in
            if case .number = rows.first?[column] { true } else { false }
        }
        return ([heading] + shown).map { row in
            var line = ""
            for (column, text) in row.enumerated() {
                let space = String(repeating: " ", count: widths[column] - text.count)
                line += (column == 0 ? "" : "  ") + (isNumber[column] ? space + text : text + space)
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }
}
