/// What can be told of a request as a whole (rules M1, M21). A request that fails here does nothing.
extension Feed {
    /// The items of one zone, by their place in the request.
    struct ZoneGroup {
        let zoneID: RecordZone.ID
        var saves: [Int] = []
        var deletions: [Int] = []
    }

    /// The items of a request zone by zone, in order of first appearance. Throws if the request is empty, has too many
    /// items, or names a record twice.
    func groups(of request: RecordModifyRequest) throws(ChangeFeedError) -> [ZoneGroup] {
        let count = request.saving.count + request.deleting.count
        guard count > 0 else {
            throw ChangeFeedError(
                .invalidArguments, "The request is empty: give at least one record to save or delete.", rule: "M1")
        }
        try checkItemCount(count)

        var groups: [ZoneGroup] = []
        var seen: [Set<ByteString>] = []
        var current = 0
        func enter(_ recordID: Record.ID) throws(ChangeFeedError) {
            if groups.isEmpty || groups[current].zoneID != recordID.zoneID {
                current = groups.firstIndex { $0.zoneID == recordID.zoneID } ?? groups.count
                if current == groups.count {
                    groups.append(ZoneGroup(zoneID: recordID.zoneID))
                    seen.append(Set(minimumCapacity: min(count, 1024)))
                }
            }
            guard seen[current].insert(ByteString(recordID.recordName)).inserted else {
                throw ChangeFeedError(
                    .invalidArguments,
                    "The record \"\(recordID)\" is in the request twice: one entry for each record.",
                    recordID: recordID, rule: "M1")
            }
        }
        for (index, record) in request.saving.enumerated() {
            try enter(record.recordID)
            groups[current].saves.append(index)
        }
        for (index, deletion) in request.deleting.enumerated() {
            try enter(deletion.recordID)
            groups[current].deletions.append(index)
        }
        return groups
    }

    func checkItemCount(_ count: Int) throws(ChangeFeedError) {
        guard count <= limits.itemsPerRequest else {
            throw ChangeFeedError(
                .limitExceeded,
                "The request has \(count) items, more than the \(limits.itemsPerRequest) allowed: split it.",
                rule: "M21",
                limit: .init(name: "itemsPerRequest", allowed: limits.itemsPerRequest, found: count))
        }
    }

    func checkRequestID(_ requestID: String?) throws(ChangeFeedError) {
        guard let requestID, requestID.isEmpty || requestID.utf8.count > limits.nameCharacters else { return }
        throw ChangeFeedError(
            .invalidArguments,
            "A request id has 1 to \(limits.nameCharacters) characters, not \(requestID.utf8.count).", rule: "6.13.6")
    }

    func checkRequestBytes(_ bytes: Int) throws(ChangeFeedError) {
        guard bytes <= limits.bytesPerRequest else {
            throw ChangeFeedError(
                .limitExceeded,
                "The request has more than the \(limits.bytesPerRequest) bytes allowed: split it.",
                rule: "M21",
                limit: .init(name: "bytesPerRequest", allowed: limits.bytesPerRequest, found: bytes))
        }
    }
}
