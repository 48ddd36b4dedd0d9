/// Numbers as a person reads them, the same in every locale.
enum NumberText {
    /// An integer with a comma between thousands: "1,234,567".
    static func grouped(_ value: Int) -> String {
        let digits = String(value.magnitude)
        var text = value < 0 ? "-" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0, (digits.count - position).isMultiple(of: 3) { text += "," }
            text.append(digit)
        }
        return text
    }

    /// A number rounded to `places` decimal places (0...9), its integer part grouped: "1,234.50". A number that is not
    /// finite, or too large to round, is "-".
    static func decimal(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1) { product, _ in product * 10 }
        let scaled = (value * Double(scale)).rounded()
        guard let units = Int(exactly: scaled) else { return "-" }
        let sign = units < 0 && units > -scale ? "-" : ""
        let whole = sign + grouped(units / scale)
        guard places > 0 else { return whole }
        let fraction = String(units.magnitude % scale.magnitude)
        return whole + "." + String(repeating: "0", count: places - fraction.count) + fraction
    }
}
