#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The stored form of what a request's items were answered.
enum RequestOutcomeCodec {
    struct Stored {
        let digest: [UInt8]
        let outcome: RequestRepeats.Outcome
    }

    private static let formatVersion: UInt8 = 1

    static func encode(
        digest: [UInt8], saves: [Result<RecordVersion, ChangeFeedError>],
        deletions: [Result<Void, ChangeFeedError>]
    ) -> [UInt8] {
        var writer = ByteWriter(reserving: 256)
        writer.byte(formatVersion)
        writer.blob(digest)
        writer.number(UInt64(saves.count))
        for save in saves {
            switch save {
            case .success(let version):
                writer.byte(1)
                writer.blob(Record(version: version).encoded())
            case .failure(let error):
                writer.byte(0)
                encode(error, into: &writer)
            }
        }
        writer.number(UInt64(deletions.count))
        for deletion in deletions {
            switch deletion {
            case .success: writer.byte(1)
            case .failure(let error):
                writer.byte(0)
                encode(error, into: &writer)
            }
        }
        return writer.bytes
    }

    /// Reads an outcome. The client's records of conflicts are those of the request that is answered.
    static func decode(_ bytes: [UInt8], saving records: [Record]) throws(MalformedBytes) -> Stored {
        try bytes.decode { (reader) throws(MalformedBytes) in
            guard try reader.byte() == formatVersion else { throw MalformedBytes(reason: "has an unknown version") }
            let digest = try reader.blob()
            var outcome = RequestRepeats.Outcome(saves: [], deletions: [])
            for place in 0..<(try reader.count()) {
                if try reader.byte() == 1 {
                    outcome.saves.append(.success(try record(&reader).base))
                } else {
                    let client = records.indices.contains(place) ? records[place] : nil
                    outcome.saves.append(.failure(try error(&reader, client: client)))
                }
            }
            for _ in 0..<(try reader.count()) {
                outcome.deletions.append(
                    try reader.byte() == 1 ? .success(()) : .failure(try error(&reader, client: nil)))
            }
            guard reader.isAtEnd else { throw MalformedBytes(reason: "goes on after its end") }
            return Stored(digest: digest, outcome: outcome)
        }
    }

    // MARK: Errors

    private static func encode(_ error: ChangeFeedError, into writer: inout ByteWriter) {
        writer.number(UInt64(error.code.rawValue))
        writer.string(error.message)
        writer.string(error.rule ?? "")
        writer.string(error.detail?.rawValue ?? "")
        writer.string(error.recordID?.recordName ?? "")
        writer.string(error.zoneID?.zoneName ?? "")
        writer.string(error.zoneID?.ownerName ?? "")
        writer.string(error.limit?.name ?? "")
        writer.number(UInt64(max(0, error.limit?.allowed ?? 0)))
        writer.number(UInt64(max(0, error.limit?.found ?? 0)))
        // Encrypted values leave the store sealed or not at all.
        let server = error.serverRecord.map { Record(version: $0.base.with(encryptedPayload: nil)).encoded() }
        writer.blob(server ?? Data())
    }

    private static func error(
        _ reader: inout ByteReader, client: Record?
    ) throws(MalformedBytes) -> ChangeFeedError {
        guard let code = ChangeFeedError.Code(rawValue: Int(truncatingIfNeeded: try reader.number())) else {
            throw MalformedBytes(reason: "has an unknown error code")
        }
        let message = try reader.string()
        let rule = try reader.string()
        let detail = try reader.string()
        let recordName = try reader.string()
        let zoneName = try reader.string()
        let ownerName = try reader.string()
        let limitName = try reader.string()
        let allowed = Int(truncatingIfNeeded: try reader.number())
        let found = Int(truncatingIfNeeded: try reader.number())
        let server = try reader.blob()
        let zoneID = zoneName.isEmpty ? nil : RecordZone.ID(zoneName: zoneName, ownerName: ownerName)
        let isConflict = code == .serverRecordChanged
        let hasBase = client?.base.system != nil && client?.base.loadedFields != LoadedFields.none
        return ChangeFeedError(
            code, message,
            recordID: recordName.isEmpty ? nil : zoneID.map { Record.ID(recordName: recordName, zoneID: $0) },
            zoneID: zoneID,
            rule: rule.isEmpty ? nil : rule,
            limit: limitName.isEmpty ? nil : .init(name: limitName, allowed: allowed, found: found),
            detail: ChangeFeedError.Detail(rawValue: detail),
            serverRecord: server.isEmpty ? nil : try record(server),
            clientRecord: isConflict || code == .unknownItem ? client : nil,
            ancestorRecord: isConflict && hasBase ? client.map { Record(version: $0.base) } : nil
        )
    }

    // MARK: Records

    private static func record(_ reader: inout ByteReader) throws(MalformedBytes) -> Record {
        try record(try reader.blob())
    }

    private static func record(_ bytes: [UInt8]) throws(MalformedBytes) -> Record {
        do throws(ChangeFeedError) {
            return try Record(encoded: Data(bytes))
        } catch {
            throw MalformedBytes(reason: "has a record that cannot be read")
        }
    }
}
