/// What can be told of a request as a whole (rules M1, M21), and the bound on one record (rule R4). A request that fails
/// here does nothing.
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
        try checkItemCount(count, first: { request.itemID(at: $0) })

        var grouping = Grouping(expected: count)
        for index in request.saving.indices {
            grouping.groups[try grouping.enter(request.saving[index].recordID)].saves.append(index)
        }
        for index in request.deleting.indices {
            grouping.groups[try grouping.enter(request.deleting[index].recordID)].deletions.append(index)
        }
        return grouping.groups
    }

    /// Sorts items by zone and notices those that come twice.
    private struct Grouping {
        let expected: Int
        var groups: [ZoneGroup] = []
        /// The names of each group; nil while they came in strictly ascending order, which makes them distinct.
        private var seen: [Set<ByteString>?] = []
        private var entered: [[String]] = []
        private var current = 0

        init(expected: Int) {
            self.expected = expected
        }

        /// The group of the item.
        mutating func enter(_ recordID: Record.ID) throws(ChangeFeedError) -> Int {
            if groups.isEmpty || groups[current].zoneID != recordID.zoneID {
                current = groups.firstIndex { $0.zoneID == recordID.zoneID } ?? groups.count
                if current == groups.count {
                    groups.append(ZoneGroup(zoneID: recordID.zoneID))
                    seen.append(nil)
                    entered.append([])
                }
            }
            if seen[current] == nil, entered[current].last.map({ !precedesByBytes($0, recordID.recordName) }) == true {
                seen[current] = Set(minimumCapacity: min(expected, 1024))
                for name in entered[current] { seen[current]?.insert(ByteString(name)) }
            }
            if seen[current] == nil {
                entered[current].append(recordID.recordName)
            } else if seen[current]?.insert(ByteString(recordID.recordName)).inserted == false {
                throw ChangeFeedError(
                    .invalidArguments,
                    "The record \"\(recordID)\" is in the request twice: one entry for each record.",
                    recordID: recordID, rule: "M1")
            }
            return current
        }
    }

    /// Rule M21. `first` names the item at a place: the error tells the first that is too many.
    func checkItemCount(_ count: Int, first item: (Int) -> Record.ID? = { _ in nil }) throws(ChangeFeedError) {
        guard count <= limits.itemsPerRequest else {
            throw ChangeFeedError(
                .limitExceeded,
                "The request has \(count) items, more than the \(limits.itemsPerRequest) allowed: split it.",
                recordID: item(limits.itemsPerRequest),
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

    /// Rule R4: the bound on one record's keys and values.
    func checkSize(of save: PlannedSave) throws(ChangeFeedError) {
        let bytes = save.fieldBytes
        guard bytes <= limits.recordBytes else {
            throw ChangeFeedError(
                .limitExceeded,
                "The record \"\(save.recordID)\" has \(bytes) bytes, more than the \(limits.recordBytes) allowed: "
                    + "make it smaller.",
                recordID: save.recordID,
                rule: "R4",
                limit: .init(name: "recordBytes", allowed: limits.recordBytes, found: bytes))
        }
    }

    /// Rule M21. The record is the one that goes past the bound; what comes after it has not been counted.
    func checkRequestBytes(_ bytes: Int, at recordID: Record.ID) throws(ChangeFeedError) {
        guard bytes <= limits.bytesPerRequest else {
            throw ChangeFeedError(
                .limitExceeded,
                "With the record \"\(recordID)\", the request has more than the \(limits.bytesPerRequest) bytes allowed: "
                    + "split it.",
                recordID: recordID,
                rule: "M21",
                limit: .init(name: "bytesPerRequest", allowed: limits.bytesPerRequest, found: bytes))
        }
    }
}

extension RecordModifyRequest {
    /// The record at a place, the saves before the deletions.
    func itemID(at place: Int) -> Record.ID? {
        if place < saving.count { return saving[place].recordID }
        let place = place - saving.count
        return place < deleting.count ? deleting[place].recordID : nil
    }
}
