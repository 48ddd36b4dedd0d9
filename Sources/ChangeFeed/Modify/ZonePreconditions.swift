/// "Commit only if the zone is still at this token" (section 6.13.1).
extension Feed {
    func checkZones(
        _ tokens: [RecordZone.ID: ZoneChangeToken], in databaseID: DatabaseID, from store: any StoreReader
    ) throws(ChangeFeedError) {
        if tokens.isEmpty { return }
        // In the order of names, so that of several errors always the same one is thrown.
        for (zoneID, token) in tokens.sorted(by: { precedesByBytes($0.key.zoneName, $1.key.zoneName) }) {
            let (content, zone) = try self.content(of: token, for: zoneID, in: databaseID, from: store)
            guard content.start == nil, content.position >= zone.position else {
                throw ChangeFeedError(
                    .serverRecordChanged,
                    "The zone \"\(zoneID)\" has changed since the token: fetch its changes, then decide again.",
                    zoneID: zoneID, rule: "6.13.1", detail: .zoneChanged)
            }
        }
    }
}
