#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Requests with an id: what they were answered, so that a repeated one can be answered the same (section 6.13.6).
///
/// Kept zone by zone, under user, device and id, with a digest of what was asked; once more in the order of age, so
/// that retention finds the oldest first.
struct RequestRepeats {
    private let request: RecordModifyRequest
    private let requestID: String
    private let scope: String

    /// Nil if the request has no id.
    init?(request: RecordModifyRequest, databaseID: DatabaseID, userID: String, deviceID: String?) {
        guard let requestID = request.requestID else { return nil }
        self.request = request
        self.requestID = requestID
        // Each part with its length, so that no two scopes are spelled alike.
        scope = ["\(databaseID.scope.rawValue)", databaseID.userID, userID, deviceID ?? "", requestID]
            .map { "\($0.utf8.count):\($0)" }.joined()
    }

    /// What the items of a zone were answered, in the order of the group.
    struct Outcome {
        var saves: [Result<RecordVersion, ChangeFeedError>]
        var deletions: [Result<Void, ChangeFeedError>]
    }

    /// What the same request was answered; nil if it was not made, or wrote nothing. Throws `invalidArguments` if the
    /// id was used for another request.
    func outcome(of group: Feed.ZoneGroup, in store: any StoreReader) throws(ChangeFeedError) -> Outcome? {
        guard let bytes = try store.metaValue(key(group.zoneID), of: .requests) else { return nil }
        let stored: RequestOutcomeCodec.Stored
        do throws(MalformedBytes) {
            stored = try RequestOutcomeCodec.decode(bytes, saving: group.saves.map { request.saving[$0] })
        } catch {
            // An answer that cannot be read is no reason to do the same thing twice.
            throw ChangeFeedError(
                .internalError, "The stored outcome of the request \"\(requestID)\" \(error.reason).",
                zoneID: group.zoneID, rule: "6.13.6", detail: .damaged)
        }
        guard stored.digest == digest(of: group) else {
            throw ChangeFeedError(
                .invalidArguments,
                "The request id \"\(requestID)\" was used for another request: give each request an id of its own.",
                zoneID: group.zoneID, rule: "6.13.6")
        }
        return stored.outcome
    }

    /// Keeps what the items of a zone were answered, unless nothing was written.
    func keep(
        saves: [Result<RecordVersion, ChangeFeedError>], deletions: [Result<Void, ChangeFeedError>],
        of group: Feed.ZoneGroup, in zone: ZoneRow, date: Date, to store: any StoreWriter
    ) throws(ChangeFeedError) {
        guard saves.contains(where: \.isSuccess) || deletions.contains(where: \.isSuccess) else { return }
        let key = key(group.zoneID)
        let bytes = RequestOutcomeCodec.encode(digest: digest(of: group), saves: saves, deletions: deletions)
        try store.setMetaValue(bytes, for: key, of: .requests)
        var age = ByteWriter()
        age.word(date.timeIntervalSinceReferenceDate.bitPattern)
        age.string(key)
        try store.setMetaValue(age.bytes, for: RequestRepeats.ageKey(try store.head, key), of: .requestAges)
    }

    private func key(_ zoneID: RecordZone.ID) -> String {
        scope + [zoneID.zoneName, zoneID.ownerName].map { "\($0.utf8.count):\($0)" }.joined()
    }

    private func digest(of group: Feed.ZoneGroup) -> [UInt8] {
        var hash = SHA256()
        hash.update([UInt8(request.savePolicy.rawValue), request.atomically ? 1 : 0])
        for index in group.saves { hash.update(request.saving[index].encoded()) }
        for index in group.deletions {
            var writer = ByteWriter()
            writer.string(request.deleting[index].recordID.recordName)
            writer.string(request.deleting[index].recordChangeTag ?? "")
            hash.update(writer.bytes)
        }
        return hash.finalize()
    }

    /// Sorts by position: both halves in hexadecimal at full length.
    private static func ageKey(_ position: ChangePosition, _ key: String) -> String {
        func digits(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return digits(position.high) + digits(position.low) + key
    }

    /// The position in a key of the table of ages.
    static func position(ofAgeKey key: String) -> ChangePosition? {
        guard let high = UInt64(key.prefix(16), radix: 16), let low = UInt64(key.dropFirst(16).prefix(16), radix: 16)
        else { return nil }
        return ChangePosition(high: high, low: low)
    }

    /// When the outcome under a key of the table of ages was kept, and where it stands.
    static func age(_ bytes: [UInt8]) -> (date: Date, key: String)? {
        try? bytes.decode { (reader) throws(MalformedBytes) in
            let seconds = Double(bitPattern: try reader.word())
            return (Date(timeIntervalSinceReferenceDate: seconds), try reader.string())
        }
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
