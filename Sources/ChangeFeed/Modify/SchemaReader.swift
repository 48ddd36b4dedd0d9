/// Reads a schema's JSON (RFC 8259).
///
/// It reads this one form and not any JSON: every level is known, so hostile nesting is refused where it begins, and a
/// member that occurs twice is seen, which a general decoder hides.
struct SchemaReader {
    /// What is wrong, in words that follow the number of the line.
    struct Fault: Error {
        let line: Int
        let reason: String
    }

    private let bytes: [UInt8]
    private var offset = 0
    /// The names of the members around the place that is read.
    private var path: [String] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func unknown(version: Int) -> String {
        "has the format version \(version), and this library reads \(Schema.formatVersion)"
    }

    // MARK: The form

    mutating func document() throws(Fault) -> [String: Schema.RecordType] {
        var types: [String: Schema.RecordType]?
        var hasVersion = false
        try object { (reader, name) throws(Fault) in
            switch name {
            case "formatVersion":
                let version = try reader.number()
                guard version == Schema.formatVersion else {
                    throw reader.fault(SchemaReader.unknown(version: version))
                }
                hasVersion = true
            case "recordTypes": types = try reader.recordTypes()
            default: throw reader.unknown(name)
            }
        }
        skipSpace()
        guard offset == bytes.count else { throw fault("goes on after the end of the schema") }
        guard hasVersion else { throw fault("ends the schema without a \"formatVersion\"") }
        guard let types else { throw fault("ends the schema without \"recordTypes\"") }
        return types
    }

    private mutating func recordTypes() throws(Fault) -> [String: Schema.RecordType] {
        var types: [String: Schema.RecordType] = [:]
        try object { (reader, name) throws(Fault) in
            types[name] = try reader.recordType()
        }
        return types
    }

    private mutating func recordType() throws(Fault) -> Schema.RecordType {
        var fields: [String: Schema.Field]?
        var encryptedFields: [String: Schema.Field] = [:]
        try object { (reader, name) throws(Fault) in
            switch name {
            case "fields": fields = try reader.fields()
            case "encryptedFields": encryptedFields = try reader.fields()
            default: throw reader.unknown(name)
            }
        }
        guard let fields else { throw fault("ends \(place) without \"fields\"") }
        return Schema.RecordType(fields: fields, encryptedFields: encryptedFields)
    }

    private mutating func fields() throws(Fault) -> [String: Schema.Field] {
        var fields: [String: Schema.Field] = [:]
        try object { (reader, name) throws(Fault) in fields[name] = try reader.field() }
        return fields
    }

    private mutating func field() throws(Fault) -> Schema.Field {
        var type: Schema.ValueType?
        try object { (reader, name) throws(Fault) in
            guard name == "type" else { throw reader.unknown(name) }
            let text = try reader.string()
            type = Schema.ValueType(rawValue: text)
            if type == nil { throw reader.fault("has no known type but \"\(shown(text))\" at \(reader.place)") }
        }
        guard let type else { throw fault("ends \(place) without a \"type\"") }
        return Schema.Field(type)
    }

    // MARK: JSON

    private mutating func object(
        _ member: (inout SchemaReader, _ name: String) throws(Fault) -> Void
    ) throws(Fault) {
        guard take("{") else { throw expected("an object") }
        if take("}") { return }
        var seen: Set<ByteString> = []
        repeat {
            skipSpace()
            let name = try string()
            guard seen.insert(ByteString(name)).inserted else {
                throw fault("has \"\(shown(name))\" a second time in \(place)")
            }
            guard take(":") else { throw expected("\":\"") }
            path.append(shown(name))
            try member(&self, name)
            path.removeLast()
        } while take(",")
        guard take("}") else { throw expected("\",\" or \"}\"") }
    }

    private mutating func number() throws(Fault) -> Int {
        skipSpace()
        let start = offset
        while offset < bytes.count, bytes[offset] >= UInt8(ascii: "0"), bytes[offset] <= UInt8(ascii: "9") {
            offset += 1
        }
        let digits = String(decoding: bytes[start..<offset], as: UTF8.self)
        guard let number = Int(digits), digits == "0" || !digits.hasPrefix("0"),
            offset == bytes.count || !".eE".utf8.contains(bytes[offset])
        else {
            offset = start
            throw expected("a whole number")
        }
        return number
    }

    private mutating func string() throws(Fault) -> String {
        guard take("\"") else { throw expected("a string") }
        var content: [UInt8] = []
        while offset < bytes.count, bytes[offset] >= 0x20 {
            let byte = bytes[offset]
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: content, as: UTF8.self)
            case UInt8(ascii: "\\"): content.append(contentsOf: String(try escaped()).utf8)
            default: content.append(byte)
            }
        }
        throw fault("has a string without an end")
    }

    private mutating func escaped() throws(Fault) -> Unicode.Scalar {
        guard offset < bytes.count else { throw fault("has a string without an end") }
        let byte = bytes[offset]
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let digits = String(decoding: bytes[offset...].prefix(4), as: UTF8.self)
            // A half of a surrogate pair is no scalar; no name has a character that needs a pair.
            guard digits.utf8.count == 4, digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }),
                let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code)
            else { throw fault("has an escape that no name of a schema has") }
            offset += 4
            return scalar
        default: throw fault("has an unknown escape")
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func skipSpace() {
        while offset < bytes.count, " \t\r\n".utf8.contains(bytes[offset]) { offset += 1 }
    }

    // MARK: Faults

    private var place: String { path.isEmpty ? "the schema" : path.joined(separator: ".") }

    private func expected(_ what: String) -> Fault {
        fault("has \(offset < bytes.count ? "something else" : "nothing") where \(what) belongs, in \(place)")
    }

    private func unknown(_ name: String) -> Fault {
        fault("has a member \"\(shown(name))\" that this version does not know, at \(place)")
    }

    private func fault(_ reason: String) -> Fault {
        Fault(line: bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1, reason: reason)
    }
}
