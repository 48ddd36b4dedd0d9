/// What a sync engine asks of a record that is to be saved.
extension Record {
    /// Whether saving the record would change nothing, as far as can be told: it is a version that a server gave, and
    /// whatever was set on it is what it had.
    ///
    /// False where it cannot be told, because the record was rebuilt without its values.
    package var changesNothing: Bool {
        guard base.system != nil, !isParentChanged || parent == base.parent else { return false }
        return edits.allSatisfy { edit in
            guard base.holds(edit.key, in: edit.space) else { return false }
            return base.value(of: edit.key, in: edit.space) == edit.value
        }
    }

    /// Whether a version on the server has everything that saving this record would have set: the save has happened
    /// already, or somebody else has made the same change.
    package func isSatisfied(by server: Record) -> Bool {
        guard sameBytes(recordType, server.recordType), !isParentChanged || parent == server.parent else {
            return false
        }
        return edits.allSatisfy { server.value(of: $0.key, in: $0.space) == $0.value }
    }

    /// The records that this one links to, by its parent or by a reference in a field.
    package var linkedRecordIDs: [Record.ID] {
        var linked: [Record.ID] = []
        if let parent { linked.append(parent.recordID) }
        for edit in edits { linked += edit.value?.references.map(\.recordID) ?? [] }
        if base.payload.mayLink {
            for field in fields { linked += field.value.references.map(\.recordID) }
        }
        return linked
    }

    /// About how many bytes a request has to carry for the record to be saved.
    package var changedByteCount: Int {
        var writer = ByteWriter()
        var keys = 0
        for edit in edits {
            keys += edit.key.utf8.count
            if let value = edit.value { ValueCodec.encode(value, into: &writer) }
        }
        return keys + writer.bytes.count
    }

    /// The version that the record was made from, if its values are known: the ancestor of a conflict (section 6.9a).
    package var ancestor: Record? {
        base.system == nil || base.loadedFields == .none ? nil : Record(version: base)
    }
}

extension RecordVersion {
    fileprivate func holds(_ key: String, in space: KeySpace) -> Bool {
        switch (loadedFields, space) {
        case (.all, _): true
        case (.keys(let keys), .plain): keys.contains { sameBytes($0, key) }
        case (.keys, .encrypted), (.none, _): false
        }
    }

    fileprivate func value(of key: String, in space: KeySpace) -> RecordValue? {
        Record(version: self).value(of: key, in: space)
    }
}
