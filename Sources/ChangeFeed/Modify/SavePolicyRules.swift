/// What each save policy makes of a record that meets what the server has (rules M2 to M7, N5, Z5).
extension Feed {
    /// A save that may go ahead.
    struct PlannedSave {
        let recordID: Record.ID
        let recordType: String
        let payload: Payload
        let parent: Record.Reference?
        /// The version that is replaced; nil for a new record.
        let previous: RecordVersion?
        let sentBytes: Int
    }

    func plan(
        _ record: Record, over entry: RecordEntry?, policy: RecordSavePolicy, merge: inout FieldMerge
    ) throws(ChangeFeedError) -> PlannedSave {
        let previous: RecordVersion?
        switch entry {
        case .live(let version): previous = version
        case .tombstone, nil: previous = nil
        case .unreadable(_, _, let error): throw error
        }

        guard let previous else {
            guard record.base.system == nil else {
                throw ChangeFeedError(
                    .unknownItem,
                    "The record \"\(record.recordID)\" was deleted since it was fetched. "
                        + "Drop it, or save its fields as a new record.",
                    recordID: record.recordID, rule: "M7", clientRecord: record)
            }
            return planned(record, merge.created(record.edits), previous: nil)
        }
        if policy == .ifServerRecordUnchanged, record.base.system?.changeTag != previous.system?.changeTag {
            throw conflict(of: record, with: previous)
        }
        guard sameBytes(record.recordType, previous.recordType) else {
            throw ChangeFeedError(
                .invalidArguments,
                "The record \"\(record.recordID)\" is of the type \"\(previous.recordType)\" "
                    + "and cannot become one of the type \"\(record.recordType)\".",
                recordID: record.recordID, rule: "N5")
        }
        switch policy {
        case .ifServerRecordUnchanged, .changedKeys:
            return planned(record, merge.over(previous.payload, record.edits), previous: previous)
        case .allKeys:
            return planned(record, merge.allKeys(of: record, over: previous.payload), previous: previous)
        }
    }

    private func planned(_ record: Record, _ merged: FieldMerge.Merged, previous: RecordVersion?) -> PlannedSave {
        PlannedSave(
            recordID: previous?.recordID ?? record.recordID,
            recordType: previous?.recordType ?? record.recordType,
            payload: merged.payload,
            parent: record.isParentChanged || previous == nil ? record.parent : previous?.parent,
            previous: previous,
            sentBytes: merged.sentBytes
        )
    }

    /// The error of a client that changed a version which is no longer the server's (rules M3, M6, M18).
    func conflict(of record: Record, with version: RecordVersion) -> ChangeFeedError {
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
            serverRecord: Record(version: version),
            clientRecord: record,
            ancestorRecord: hasBase ? Record(version: record.base) : nil
        )
    }

    /// Rule M9: a delete that names no version removes whichever is there; one that does meets the same conflict as a
    /// save (section 6.9).
    func checkDeletion(_ deletion: RecordModifyRequest.Deletion, of version: RecordVersion) throws(ChangeFeedError) {
        guard let tag = deletion.recordChangeTag, let current = version.system?.changeTag,
            current != RecordChangeTag(tag)
        else { return }
        throw ChangeFeedError(
            .serverRecordChanged,
            "The record \"\(deletion.recordID)\" was changed on the server since it was fetched: "
                + "look at the server's record before deleting it.",
            recordID: deletion.recordID, rule: "M9", serverRecord: Record(version: version))
    }
}
