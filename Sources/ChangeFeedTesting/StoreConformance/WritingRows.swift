import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Rows as the library above a store writes them: with positions and handles that the store has just given.
extension StoreWriter {
    /// Creates a zone; in place of an earlier life if there is a row of that name.
    @discardableResult
    func makeZone(
        _ name: String, in databaseID: DatabaseID = .specimen, pastDeletion: ZoneRow.PastDeletion? = nil
    ) throws(ChangeFeedError) -> ZoneRow {
        let key = try allocateZoneKey()
        let position = try allocatePosition()
        let row = ZoneRow(
            databaseID: databaseID, zoneID: RecordZone.ID(zoneName: name), key: key, incarnation: position,
            creationDate: .specimen(0.25), pastDeletion: pastDeletion)
        try putZone(row)
        return row
    }

    /// Gives a zone the next place in its database's feed.
    @discardableResult
    func moveZone(_ row: ZoneRow, _ change: (inout ZoneRow) -> Void = { _ in }) throws(ChangeFeedError) -> ZoneRow {
        var row = row
        row.position = try allocatePosition()
        change(&row)
        try putZone(row)
        return row
    }

    /// Deletes a zone: its records go, its row stays as a tombstone.
    @discardableResult
    func deleteZone(
        _ row: ZoneRow, reason: DatabaseChanges.Deletion.Reason = .deleted
    ) throws(ChangeFeedError) -> ZoneRow {
        try eraseRecords(of: row.key)
        return try moveZone(row) { $0.life = .deleted(reason, .specimen(7.75)) }
    }

    /// Stores a version of a record at the next position.
    @discardableResult
    func save(
        _ name: String, in row: ZoneRow, payload: Payload = .empty, _ traits: VersionTraits = VersionTraits()
    ) throws(ChangeFeedError) -> RecordVersion {
        let version = traits.version(
            Record.ID(recordName: name, zoneID: row.zoneID), at: try allocatePosition(), payload: payload)
        try putRecord(.live(version), in: row.key)
        return version
    }

    /// Stores a record's tombstone at the next position.
    @discardableResult
    func delete(
        _ name: String, in row: ZoneRow, tag: RecordChangeTag? = nil, reason: ZoneChanges.Deletion.Reason = .deleted,
        type: String = "Note"
    ) throws(ChangeFeedError) -> Tombstone {
        let tombstone = Tombstone(
            recordID: Record.ID(recordName: name, zoneID: row.zoneID), recordType: type,
            position: try allocatePosition(), changeTag: tag, reason: reason, date: .specimen(3.5))
        try putRecord(.tombstone(tombstone), in: row.key)
        return tombstone
    }
}

/// What a version has beside its identity, its place and its fields.
struct VersionTraits: Sendable {
    var recordType = "Note"
    var epoch: UInt64 = 0xC0FF_EE00_1234_5678
    var creationDate = Date.specimen(1.125)
    var modificationDate = Date.specimen(2.062_5)
    var creatorUserID = "anna"
    var lastModifiedUserID = "ben"
    var parent: Record.Reference?
    var encryptedPayload: Payload?

    func version(_ recordID: Record.ID, at position: ChangePosition, payload: Payload) -> RecordVersion {
        RecordVersion(
            recordID: recordID, recordType: recordType,
            system: RecordSystemFields(
                changeTag: RecordChangeTag(epoch: epoch, position: position), creationDate: creationDate,
                modificationDate: modificationDate, creatorUserID: creatorUserID,
                lastModifiedUserID: lastModifiedUserID),
            parent: parent, payload: payload, encryptedPayload: encryptedPayload)
    }
}

extension DatabaseID {
    /// The database in which a check works that needs but one.
    static let specimen = DatabaseID.private("anna")
    /// Another one.
    static let other = DatabaseID.private("ben")
}

extension Date {
    /// A moment that a test can recognise.
    static func specimen(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: 700_000_000 + seconds) }
}
