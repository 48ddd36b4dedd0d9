import ChangeFeed
import Foundation

/// A history that has something of everything a store can hold, and what is there at its end.
///
/// Always the same: the clock stands still, and the randomness is one number.
struct Everything {
    static let notes = RecordZone.ID(zoneName: "Notes")

    /// What a device was given in the course of the history.
    struct Tokens: Codable {
        /// The zone's, from before anything was discarded.
        let early: Data
        /// The zone's, from the middle.
        let middle: Data
        /// The database's, from the middle.
        let database: Data
    }

    let container: Container
    let database: Database

    init(over store: any ChangeStore) {
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        var configuration = Container.Configuration(now: { date }, randomness: { 42 })
        // Hides nothing from anybody: it only looks like a cipher.
        configuration.encryption = FieldEncryption(
            seal: { plain, field in Data(field.authenticatedData.prefix(4) + plain.map { $0 ^ 0x55 }) },
            open: { sealed, _ in Data(sealed.dropFirst(4).map { $0 ^ 0x55 }) })
        container = Container(identifier: "test", store: store, configuration: configuration)
        database = container.database(.private, for: "anna")
    }

    /// The values of the record `values`: of every type but assets, and lists of them.
    static let values: [String: RecordValue] = [
        "string": .string("é and e\u{301} and \u{1F4BE}"),
        "empty": .string(""),
        "int": .int64(.min),
        "double": .double(-0.0),
        "nan": .double(.nan),
        "bytes": .bytes(Data([0, 255, 0])),
        "date": .date(Date(timeIntervalSinceReferenceDate: 0.125)),
        "location": .location(
            Location(
                latitude: 1.5, longitude: -2.5, altitude: 3,
                timestamp: Date(timeIntervalSinceReferenceDate: -1))),
        "reference": .reference(Record.Reference(recordID: id("parent"), action: .validate)),
        "strings": .list([.string("b"), .string("a")]),
        "numbers": .list([.int64(1), .int64(-1)]),
        "doubles": .list([.double(.infinity)]),
        "references": .list([.reference(Record.Reference(recordID: id("child")))]),
    ]

    static let sealed: [String: RecordValue] = ["secret": .string("nobody's business"), "number": .int64(7)]

    static let subscriptions = [
        Subscription(subscriptionID: "all", kind: .database),
        Subscription(
            subscriptionID: "notes", kind: .recordZone(notes), recordType: "Note", excludesOriginatingDevice: true),
    ]

    /// A request that is answered with what it was answered the first time.
    static let repeated = RecordModifyRequest(
        saving: [record("repeated")], savePolicy: .allKeys, requestID: "a request")

    static func id(_ name: String) -> Record.ID {
        Record.ID(recordName: name, zoneID: notes)
    }

    static func record(_ name: String, type: String = "Note") -> Record {
        Record(recordType: type, recordID: id(name))
    }

    /// Lets it all happen.
    func happen() async throws -> Tokens {
        for name in ["Notes", "Gone", "Again", "Purged", "Reset"] {
            try await database.save(RecordZone(zoneName: name))
        }
        for subscription in Self.subscriptions { try await database.save(subscription) }
        try await database.save(Self.record("forgotten"))
        let early = try await database.recordZoneChanges(inZoneWith: Self.notes, since: nil).changeToken.data
        try await database.deleteRecord(withID: Self.id("forgotten"))
        while try await !container.compact(before: .date(.distantFuture)).isComplete {}

        try await database.save(Self.record("parent"))
        var child = Self.record("child")
        child.setParent(Self.id("parent"))
        try await database.save(child)
        for name in ["gone", "owner"] { try await database.save(Self.record(name)) }
        let middle = try await database.recordZoneChanges(inZoneWith: Self.notes, since: nil).changeToken.data
        let changes = try await database.databaseChanges(since: nil).changeToken.data

        var values = Self.record("values", type: "Values")
        for (key, value) in Self.values.sorted(by: { $0.key < $1.key }) { values[key] = value }
        for (key, value) in Self.sealed.sorted(by: { $0.key < $1.key }) { values.encryptedValues[key] = value }
        try await database.save(values)
        var owned = Self.record("owned")
        owned["owner"] = Record.Reference(recordID: Self.id("owner"), action: .deleteSelf)
        try await database.save(owned)
        _ = try await database.modifyRecords(Self.repeated)
        try await database.deleteRecord(withID: Self.id("gone"))
        for name in ["Gone", "Again"] { try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: name)) }
        try await database.save(RecordZone(zoneName: "Again"))
        try await container.purgeZone(RecordZone.ID(zoneName: "Purged"), for: "anna")
        try await container.resetEncryptedData(inZoneWith: RecordZone.ID(zoneName: "Reset"), for: "anna")

        // Somebody else's, under the same names.
        let berta = container.database(.private, for: "berta")
        try await berta.save(RecordZone(zoneID: Self.notes))
        try await berta.save(Self.record("values"))
        return Tokens(early: early, middle: middle, database: changes)
    }
}
