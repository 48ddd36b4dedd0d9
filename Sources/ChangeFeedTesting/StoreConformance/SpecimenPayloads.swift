import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Fields of every kind as stores get them.
///
/// Their stored form is the library's own affair: each is saved through a container in memory once, and taken from there.
struct SpecimenPayloads: Sendable {
    /// Each kind of value by a name that says what is special about it.
    let all: [(name: String, payload: Payload)]

    /// The payload at a place, counted round and round.
    subscript(index: Int) -> Payload { all[index % all.count].payload }

    /// The specimens, which are made once.
    static func shared() async throws -> SpecimenPayloads { try await making.value }

    private static let making = Task { try await make() }

    private static func make() async throws -> SpecimenPayloads {
        let store = InMemoryStore()
        let database = Container(identifier: "specimens", store: store).database(.private, for: "specimens")
        let zone = try await database.save(RecordZone(zoneName: "Specimens"))
        var all: [(name: String, payload: Payload)] = [("no fields", .empty)]
        for specimen in specimens(of: zone.zoneID) {
            let recordID = Record.ID(recordName: "specimen-\(all.count)", zoneID: zone.zoneID)
            var record = Record(recordType: "Specimen\(all.count)", recordID: recordID)
            for (key, value) in specimen.fields { record[key] = value }
            _ = try await database.save(record)
            let entry = try await store.read { reader throws(ChangeFeedError) -> RecordEntry? in
                let row = try reader.zone(recordID.zoneID, in: .private("specimens"))
                guard let row else { return nil }
                return try reader.record(named: recordID.recordName, in: row.key)
            }
            if case .live(let version) = entry { all.append((specimen.name, version.payload)) }
        }
        return SpecimenPayloads(all: all)
    }

    private typealias Specimen = (name: String, fields: [String: RecordValue])

    private static func specimens(of zoneID: RecordZone.ID) -> [Specimen] {
        let target = Record.ID(recordName: "target", zoneID: zoneID)
        return numbers + [
            ("strings that differ only in normalisation", ["nfc": "\u{E9}", "nfd": "e\u{301}"]),
            ("a string with an embedded NUL", ["text": "before\u{0}after"]),
            ("an empty string", ["text": ""]),
            ("bytes", ["bytes": .bytes(Data((0...255).map { UInt8($0) })), "none": .bytes(Data())]),
            ("many bytes", ["bytes": .bytes(Data(repeating: 0xA5, count: 70_000))]),
            ("dates", ["date": .date(moment), "early": .date(Date(timeIntervalSinceReferenceDate: -0.1))]),
            ("a place", ["place": .location(place)]),
            ("a reference", ["reference": .reference(Record.Reference(recordID: target))]),
            ("an asset", ["asset": .asset(Asset(data: Data([1, 2, 3])))]),
            ("lists", ["list": .list([.int64(1), .int64(2)]), "words": .list([.string("a"), .string("b")])]),
            ("many keys", Dictionary(uniqueKeysWithValues: (0..<60).map { ("key\($0)", .int64($0)) })),
        ]
    }

    private static let numbers: [Specimen] = [
        ("whole numbers", ["low": .int64(.min), "high": .int64(.max), "zero": .int64(0), "small": .int64(15)]),
        ("a NaN", ["nan": .double(.nan), "payload": .double(Double(bitPattern: 0x7FF8_0000_DEAD_BEEF))]),
        ("a negative zero", ["zero": .double(-0.0)]),
        ("extreme doubles", ["least": .double(.leastNonzeroMagnitude), "most": .double(-.infinity)]),
    ]

    private static let moment = Date(timeIntervalSinceReferenceDate: 123_456_789.012_345_6)

    private static let place = Location(
        latitude: -0.0, longitude: 13.4, altitude: nil, horizontalAccuracy: .nan, verticalAccuracy: 0, timestamp: moment
    )
}
