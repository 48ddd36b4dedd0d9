/// A path of any bytes as text that a terminal and JSON can carry, without loss.
///
/// What is valid UTF-8 and visible stands for itself. A backslash is doubled; every byte of a control, format or line
/// separating character, and every byte that belongs to no valid UTF-8 sequence, is written as `\x` and two lower-case
/// hexadecimal digits. So two paths never have the same text, and the bytes can be read back from it.
enum PathText {
    static func printable(_ bytes: [UInt8]) -> String {
        var text = ""
        var rest = bytes[...]
        while let first = rest.first {
            let length = sequenceLength(startingWith: first)
            let sequence = rest.prefix(length)
            if let scalar = String(validating: sequence, as: UTF8.self)?.unicodeScalars.first {
                append(scalar, to: &text)
                rest = rest.dropFirst(length)
            } else {
                append(byte: first, to: &text)
                rest = rest.dropFirst()
            }
        }
        return text
    }

    /// The bytes of the UTF-8 sequence that `first` would begin; 1 where it begins none, which is then not valid.
    private static func sequenceLength(startingWith first: UInt8) -> Int {
        switch first {
        case 0xc2...0xdf: 2
        case 0xe0...0xef: 3
        case 0xf0...0xf4: 4
        default: 1
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            for byte in String(scalar).utf8 { append(byte: byte, to: &text) }
        default:
            if scalar == "\\" { text += "\\\\" } else { text.unicodeScalars.append(scalar) }
        }
    }

    private static func append(byte: UInt8, to text: inout String) {
        let digits = String(byte, radix: 16)
        text += digits.count == 1 ? "\\x0" + digits : "\\x" + digits
    }
}
