/// The grammar of names (rules N1 to N7). Each check gives what is wrong, in words that follow the name of the thing;
/// nil if nothing is.
struct NameRules: Sendable {
    let limits: Limits

    /// Record names and owner names (rules N1, N3).
    @inline(__always)
    func fault(inRecordName name: String) -> String? {
        var name = name
        return name.withUTF8 { utf8 in
            if utf8.isEmpty { return "is empty" }
            if utf8[0] == UInt8(ascii: "_") { return "begins with \"_\"" }
            if utf8.count > limits.nameCharacters {
                return "has \(utf8.count) characters, more than the \(limits.nameCharacters) allowed"
            }
            return NameRules.isASCII(utf8) ? nil : "has characters that are not ASCII"
        }
    }

    /// Zone names; the default zone's own name is the exception (rule N2).
    func fault(inZoneID zoneID: RecordZone.ID) -> String? {
        if !zoneID.isDefault, let fault = fault(inRecordName: zoneID.zoneName) { return fault }
        if zoneID.ownerName == RecordZone.ID.currentUserName { return nil }
        return fault(inRecordName: zoneID.ownerName).map { "has an owner name that \($0)" }
    }

    /// Record types (rule N5), and keys in their documented form (rule N6): the measured wider form of N7 is read but
    /// not written (section 6.12).
    @inline(__always)
    func fault(inIdentifier identifier: String) -> String? {
        var identifier = identifier
        return identifier.withUTF8 { utf8 in
            if utf8.isEmpty { return "is empty" }
            if !NameRules.isLetter(utf8[0]) { return "does not begin with a letter" }
            if utf8.count > limits.nameCharacters {
                return "has \(utf8.count) characters, more than the \(limits.nameCharacters) allowed"
            }
            for byte in utf8 where !NameRules.isLetter(byte) && !NameRules.isDigit(byte) && byte != UInt8(ascii: "_") {
                return "has characters other than letters, digits and \"_\""
            }
            return nil
        }
    }

    @inline(__always)
    private static func isASCII(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        var bits: UInt8 = 0
        for byte in utf8 { bits |= byte }
        return bits < 0x80
    }

    @inline(__always)
    private static func isLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    @inline(__always)
    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }
}

/// A name as it is shown in a message: not longer than a line.
func shown(_ name: String) -> String {
    name.utf8.count <= 80 ? name : String(name.prefix(80)) + "…"
}
