/// What each save policy makes of a record that meets what the server has (rules M2 to M7, N5, Z5).
extension Feed {
    /// A save that may go ahead, as far as the record itself is concerned. An object, because it is handed on whole and
    /// often.
    final class PlannedSave {
        let recordID: Record.ID
        let recordType: String
        let payload: Payload
        /// Sealed; nil if no field is encrypted.
        let encryptedPayload: Payload?
        /// The same, open, for the answer.
        let openedPayload: Payload?
        let parent: Record.Reference?
        /// The version that is replaced; nil for a new record.
        let previous: RecordVersion?
        /// How much of the fields the client sent.
        let sentBytes: Int

        init(
            recordID: Record.ID, recordType: String, payload: Payload, encryptedPayload: Payload?,
            openedPayload: Payload?, parent: Record.Reference?, previous: RecordVersion?, sentBytes: Int
        ) {
            self.recordID = recordID
            self.recordType = recordType
            self.payload = payload
            self.encryptedPayload = encryptedPayload
            self.openedPayload = openedPayload
            self.parent = parent
            self.previous = previous
            self.sentBytes = sentBytes
        }

        /// Whether links have to be looked at: most records have none and had none.
        var mayHaveLinks: Bool {
            parent != nil || payload.mayLink || previous.map { $0.parent != nil || $0.payload.mayLink } == true
        }
        /// Whether there can be `deleteSelf` references, now or before.
        var mayHaveOwners: Bool { payload.mayLink || previous?.payload.mayLink == true }
        var links: Links { Links(parent: parent, payload: payload) }
        var previousLinks: Links { previous.map(Links.init(of:)) ?? .none }

        var fieldBytes: Int { payload.byteCount + (encryptedPayload?.byteCount ?? 0) }
    }

    /// Who writes where.
    struct Writer {
        let databaseID: DatabaseID
        let userID: String
    }

    func plan(
        _ record: Record, over entry: RecordEntry?, policy: RecordSavePolicy, by writer: Writer,
        merge: inout FieldMerge
    ) throws(ChangeFeedError) -> PlannedSave {
        let previous = try version(thatMayBeReplacedBy: record, entry: entry, policy: policy, writer: writer)
        let allKeys = policy == .allKeys && previous != nil
        let edits = allKeys || record.hasOtherSpaces ? record.edits(in: .plain, allKeys: allKeys) : record.edits
        let merged = previous.map { merge.over($0.payload, edits) } ?? merge.created(edits)

        var encrypted = previous?.encryptedPayload
        var encryptedBytes = 0
        let encryptedEdits =
            allKeys || record.hasOtherSpaces ? record.edits(in: .encrypted, allKeys: allKeys) : []
        if !encryptedEdits.isEmpty {
            let sealed = try sealed(
                encryptedEdits, of: record.recordID, userID: writer.databaseID.userID, scope: writer.databaseID.scope)
            let merged = merge.over(encrypted ?? .empty, sealed)
            encrypted = merged.payload.isEmpty ? nil : merged.payload
            encryptedBytes = merged.sentBytes
        }
        let recordID = previous?.recordID ?? record.recordID
        // Before anything is written: a save that cannot be answered is refused.
        let opened = try encrypted.map { (sealed) throws(ChangeFeedError) in
            try self.opened(sealed, of: recordID, userID: writer.databaseID.userID)
        }
        return PlannedSave(
            recordID: recordID,
            recordType: previous?.recordType ?? record.recordType,
            payload: merged.payload,
            encryptedPayload: encrypted,
            openedPayload: opened,
            parent: record.isParentChanged ? record.parent : (allKeys ? record.parent : nil) ?? previous?.parent,
            previous: previous,
            sentBytes: merged.sentBytes + encryptedBytes
        )
    }

    /// The version that the record is to be written over; nil if it becomes a new record.
    private func version(
        thatMayBeReplacedBy record: Record, entry: RecordEntry?, policy: RecordSavePolicy, writer: Writer
    ) throws(ChangeFeedError) -> RecordVersion? {
        let version: RecordVersion
        switch entry {
        case .live(let live): version = live
        case .unreadable(_, _, let error): throw error
        case .tombstone, nil:
            if record.base.system == nil { return nil }
            throw ChangeFeedError(
                .unknownItem,
                "The record \"\(record.recordID)\" was deleted since it was fetched. "
                    + "Drop it, or save its fields as a new record.",
                recordID: record.recordID, rule: "M7", clientRecord: record)
        }
        if policy == .ifServerRecordUnchanged, record.base.system?.changeTag != version.system?.changeTag {
            throw try conflict(of: record, with: version, of: writer.databaseID.userID)
        }
        guard sameBytes(record.recordType, version.recordType) else {
            throw ChangeFeedError(
                .invalidArguments,
                "The record \"\(record.recordID)\" is of the type \"\(version.recordType)\" "
                    + "and cannot become one of the type \"\(record.recordType)\".",
                recordID: record.recordID, rule: "N5")
        }
        return version
    }

    /// The error of a client that changed a version which is no longer the server's (rules M3, M6, M18).
    private func conflict(
        of record: Record, with version: RecordVersion, of userID: String
    ) throws(ChangeFeedError) -> ChangeFeedError {
        let isNew = record.base.system == nil
        let hasBase = !isNew && record.base.loadedFields != .none
        return ChangeFeedError(
            .serverRecordChanged,
            isNew
                ? "A record \"\(record.recordID)\" exists already: merge into the server's, or choose another name."
                : "The record \"\(record.recordID)\" was changed on the server since it was fetched: "
                    + "merge into the server's record and save that.",
            recordID: record.recordID,
            rule: isNew ? "M6" : "M3",
            serverRecord: try self.record(version, of: userID),
            clientRecord: record,
            ancestorRecord: hasBase ? Record(version: record.base) : nil
        )
    }

    /// Rule M9: a delete that names no version removes whichever is there; one that does meets the same conflict as a
    /// save (section 6.9).
    func checkDeletion(
        _ deletion: RecordModifyRequest.Deletion, of version: RecordVersion, by writer: Writer
    ) throws(ChangeFeedError) {
        guard let tag = deletion.recordChangeTag, let current = version.system?.changeTag,
            current != RecordChangeTag(tag)
        else { return }
        throw ChangeFeedError(
            .serverRecordChanged,
            "The record \"\(deletion.recordID)\" was changed on the server since it was fetched: "
                + "look at the server's record before deleting it.",
            recordID: deletion.recordID, rule: "M9",
            serverRecord: try record(version, of: writer.databaseID.userID))
    }
}
