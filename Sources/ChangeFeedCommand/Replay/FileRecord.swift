import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a file of a tree is kept as a record: type "File", the path in its fields as the bytes that it is.
enum FileRecord {
    static let recordType = "File"
    static let zoneID = RecordZone.ID(zoneName: "Files")

    private static let pathKey = "path"
    private static let modeKey = "mode"
    private static let sizeKey = "size"
    private static let blobKey = "blob"

    /// The name of the record of `path`. A path may be longer than a name and have bytes that a name must not, so the
    /// name is its digest.
    static func recordName(for path: [UInt8]) -> String {
        var name: [UInt8] = [UInt8(ascii: "f")]
        name.reserveCapacity(1 + 2 * SHA256.byteCount)
        for byte in SHA256.hash(path) {
            name.append(hexadecimalDigits[Int(byte >> 4)])
            name.append(hexadecimalDigits[Int(byte & 0xf)])
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// A record for a path that has none yet.
    static func make(for path: [UInt8], _ file: GitFile) -> Record {
        let recordID = Record.ID(recordName: recordName(for: path), zoneID: zoneID)
        var record = Record(recordType: recordType, recordID: recordID)
        record[pathKey] = Data(path)
        set(file, in: &record)
        return record
    }

    /// Makes `record` one of `file`, at the path that it has.
    static func set(_ file: GitFile, in record: inout Record) {
        record[modeKey] = file.mode
        record[sizeKey] = file.size
        record[blobKey] = file.blobID
    }

    /// What a fetched record says.
    ///
    /// - Throws: a `ReplayFailure` that names the record where a field is missing or of another type than was saved.
    static func read(_ record: Record) throws(ReplayFailure) -> (path: [UInt8], file: GitFile) {
        func field<Value: RecordValueConvertible>(_ key: String) throws(ReplayFailure) -> Value {
            guard let value: Value = record[key] else {
                throw ReplayFailure("the record \"\(record.recordID)\" was fetched without a good field \"\(key)\"")
            }
            return value
        }
        let path: Data = try field(pathKey)
        return (
            [UInt8](path),
            GitFile(mode: try field(modeKey), blobID: try field(blobKey), size: try field(sizeKey))
        )
    }

    /// No fewer bytes than the feed counts for saving `file`: keys, values, and what frames each value.
    static func mostBytes(for path: [UInt8], _ file: GitFile) -> Int {
        path.count + file.mode.utf8.count + file.blobID.utf8.count + 128
    }

    private static let hexadecimalDigits = Array("0123456789abcdef".utf8)
}
