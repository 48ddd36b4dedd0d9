extension Feed {
    /// A token, decoded and found to belong to this feed.
    func content(
        of bytes: [UInt8], kind: TokenContent.Kind, feedDigest: UInt64, zoneID: RecordZone.ID?,
        in store: any StoreReader
    ) throws(ChangeFeedError) -> TokenContent {
        let content = try tokenContent(bytes)
        guard content.kind == kind else {
            throw ChangeFeedError(
                .invalidArguments, "This is a token of the other kind.", zoneID: zoneID, rule: "T2", detail: .wrongKind)
        }
        guard content.storeID == store.storeID, content.feedDigest == feedDigest else {
            let owner = content.storeID == store.storeID ? (zoneID == nil ? "database" : "zone") : "store"
            throw ChangeFeedError(
                .invalidArguments,
                "The token is of another \(owner). Keep each token under the user, database and zone it came from.",
                zoneID: zoneID, rule: "6.2", detail: .foreign
            )
        }
        return content
    }

    /// Whether the history that a token names is still this store's, and nothing has been discarded of what its reader
    /// has to learn, which is what was deleted after `start`.
    func checkHistory(
        _ content: TokenContent, from start: ChangePosition, horizon: ChangePosition, zoneID: RecordZone.ID?,
        in store: any StoreReader
    ) throws(ChangeFeedError) {
        guard try isOfThisHistory(content, in: store) else {
            throw expired(
                .historyReset, "the store was put back to a state before it", zoneID: zoneID, rule: "6.1.5")
        }
        guard start >= horizon else {
            throw expired(
                .expired, "deletions after it have been discarded", zoneID: zoneID, rule: "6.2")
        }
    }

    func expired(
        _ detail: ChangeFeedError.Detail, _ because: String, zoneID: RecordZone.ID?, rule: String
    ) -> ChangeFeedError {
        let scope = zoneID == nil ? "database" : "zone"
        return ChangeFeedError(
            .changeTokenExpired,
            "The change token has expired: \(because). Fetch the \(scope) with none and drop what does not come.",
            zoneID: zoneID, rule: rule, detail: detail
        )
    }

    private func isOfThisHistory(_ content: TokenContent, in store: any StoreReader) throws(ChangeFeedError) -> Bool {
        let latest = content.latest
        // Given before the first write of all: every history begins there.
        if latest == .beginning { return content.epoch == 0 }
        guard latest <= (try store.head) else { return false }
        let epochs = try store.epochs
        guard let index = epochs.lastIndex(where: { $0.nonce == content.epoch }) else { return false }
        let isBeforeNext = index == epochs.count - 1 || latest < epochs[index + 1].firstPosition
        return isBeforeNext && latest >= epochs[index].firstPosition
    }

    /// The nonce of the epoch in which a position lies; 0 for the beginning, before all epochs.
    func epochNonce(of position: ChangePosition, in store: any StoreReader) throws(ChangeFeedError) -> UInt64 {
        if position == .beginning { return 0 }
        return try store.epochs.last { $0.firstPosition <= position }?.nonce ?? 0
    }
}
