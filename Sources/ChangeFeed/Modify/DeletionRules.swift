/// What goes with a record that is deleted, and what keeps it from being deleted (rules R11, R14, M15).
extension Feed {
    /// Everything that a request's deletions take with them.
    struct Cascade {
        /// A record that goes.
        struct Member {
            let version: RecordVersion
            /// The place in the request of the deletion that it goes with.
            let origin: Int
            /// Whether the request named it.
            let isRequested: Bool
        }

        /// The records that go, those named by the request first.
        private(set) var members: [Member] = []
        /// Deletions that would leave children without their parent.
        private(set) var violations: [Int: ChangeFeedError] = [:]
    }

    /// Follows the references of kind `deleteSelf` from the records that are to be deleted, however deep and in
    /// whatever circles, at a cost in proportion to what goes.
    func cascade(
        of requested: [(index: Int, version: RecordVersion)], in zone: ZoneKey, from store: any StoreReader
    ) throws(ChangeFeedError) -> Cascade {
        var cascade = Cascade()
        var names: Set<ByteString> = []
        for (index, version) in requested where names.insert(ByteString(version.recordID.recordName)).inserted {
            cascade.add(.init(version: version, origin: index, isRequested: true))
        }
        // The list is its own queue: no recursion, so no depth is too much.
        var next = 0
        while next < cascade.members.count {
            let member = cascade.members[next]
            next += 1
            var sources: [String] = []
            try store.scanLinks(to: member.version.recordID.recordName, kind: .deleteSelf, in: zone) { source in
                sources.append(source)
                return .next
            }
            // In an order of its own, so that the same history always gives the same feed.
            for source in sources.sorted(by: precedesByBytes) {
                guard names.insert(ByteString(source)).inserted,
                    case .live(let version) = try store.record(named: source, in: zone)
                else { continue }
                cascade.add(.init(version: version, origin: member.origin, isRequested: false))
            }
        }
        for member in cascade.members where !cascade.isRefused(member.origin) {
            let name = member.version.recordID.recordName
            try store.scanLinks(to: name, kind: .parent, in: zone) { child in
                if names.contains(ByteString(child)) { return .next }
                cascade.refuse(member)
                return .stop
            }
        }
        return cascade
    }
}

extension Feed.Cascade {
    fileprivate mutating func add(_ member: Member) {
        members.append(member)
    }

    fileprivate func isRefused(_ origin: Int) -> Bool {
        violations[origin] != nil
    }

    /// Rule R14.
    fileprivate mutating func refuse(_ member: Member) {
        let parentID = member.version.recordID
        violations[member.origin] = ChangeFeedError(
            .referenceViolation,
            "The record \"\(parentID)\" has children: delete them or move them away first, "
                + "or in the same request.",
            recordID: parentID, rule: "R14")
    }
}
