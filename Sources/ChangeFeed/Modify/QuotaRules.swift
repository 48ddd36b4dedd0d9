/// How many bytes each user's records take, and whether there is room for more (error 25).
///
/// Counted are the fields of live records, sealed where they are encrypted, and each asset's content once. Saves come
/// before deletions: within one request, what is deleted makes no room for what is saved.
struct QuotaRules {
    private let userID: String
    private let allowed: Int?
    private let before: Int
    private(set) var used: Int

    /// What a user has used so far. The public database belongs to nobody and has no quota.
    init(
        databaseID: DatabaseID, quota: (String) -> Int?, store: any StoreReader
    ) throws(ChangeFeedError) {
        userID = databaseID.userID
        allowed = databaseID.scope == .private ? quota(databaseID.userID) : nil
        before = try QuotaRules.bytesUsed(by: databaseID, in: store)
        used = before
    }

    static func bytesUsed(by databaseID: DatabaseID, in store: any StoreReader) throws(ChangeFeedError) -> Int {
        guard let bytes = try store.metaValue(key(databaseID.userID), of: .usage) else { return 0 }
        let word = try? bytes.decode { (reader) throws(MalformedBytes) in try reader.word() }
        guard let word, let used = Int(exactly: word), bytes.count == 8 else {
            throw ChangeFeedError(
                .internalError, "How many bytes the user \"\(shown(databaseID.userID))\" uses cannot be read.",
                detail: .damaged)
        }
        return used
    }

    /// The public database's usage stands under the empty name; a prefix keeps that a name like others.
    private static func key(_ userID: String) -> String { "u" + userID }

    /// Whether a save may add so many bytes; it may always take some away.
    func check(adding bytes: Int, for recordID: Record.ID) throws(ChangeFeedError) {
        guard let allowed, bytes > 0, used + bytes > allowed else { return }
        throw ChangeFeedError(
            .quotaExceeded,
            "There is no room for the record \"\(recordID)\": \(used) of \(allowed) bytes are used. "
                + "Delete something, then save it again.",
            recordID: recordID,
            rule: "1.12",
            limit: .init(name: "quota", allowed: allowed, found: used + bytes))
    }

    mutating func add(_ bytes: Int) {
        used += bytes
    }

    func save(to store: any StoreWriter) throws(ChangeFeedError) {
        guard used != before else { return }
        var writer = ByteWriter()
        writer.word(UInt64(max(0, used)))
        try store.setMetaValue(writer.bytes, for: QuotaRules.key(userID), of: .usage)
    }
}
