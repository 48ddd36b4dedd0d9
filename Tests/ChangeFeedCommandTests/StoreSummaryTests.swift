import XCTest

@testable import ChangeFeedCommand

/// What a store holds, as a person and as a program read it.
final class StoreSummaryTests: XCTestCase {
    func testTheTablesOfAStore() {
        XCTAssertEqual(
            store.text,
            """
            user    zone   life     records  tombstones  position  horizon    bytes
            replay  Files  live      12,000       1,024    20,100       30  480,000
            replay  \\x1b[  deleted        0           0     9,999        0        0

            head 20,100, epochs 2

            table    rows    bytes
            entry  13,024  303,104
            zone        2        -

            """)
    }

    func testTheObjectOfAStore() throws {
        XCTAssertEqual(
            try InspectRequest.object(store),
            #"{"epochs":2,"head":20100,"tables":[{"bytes":303104,"rows":13024,"table":"entry"},{"rows":2,"table":"zone"}],"#
                + #""zones":[{"bytes":480000,"horizon":30,"life":"live","position":20100,"records":12000,"#
                + #""tombstones":1024,"user":"replay","zone":"Files"},"#
                + #"{"bytes":0,"horizon":0,"life":"deleted","position":9999,"records":0,"tombstones":0,"#
                + #""user":"replay","zone":"\u001b["}]}"# + "\n")
    }

    func testTheTableOfAZonesChanges() {
        XCTAssertEqual(
            zone.text,
            """
            change      record  type  tag  about
            modified    a       Note  7-1  pages title
            deleted     b       Note  -    deleted
            unreadable  c\\x0a   -     -    Its row is damaged.

            token abc=

            """)
    }

    func testTheObjectOfAZonesChanges() throws {
        XCTAssertEqual(
            try InspectRequest.object(zone),
            #"{"changes":[{"about":"pages title","change":"modified","record":"a","tag":"7-1","type":"Note"},"#
                + #"{"about":"deleted","change":"deleted","record":"b","type":"Note"},"#
                + #"{"about":"Its row is damaged.","change":"unreadable","record":"c\n"}],"token":"abc="}"# + "\n")
    }

    private let store = StoreSummary(
        head: 20_100,
        epochs: 2,
        zones: [
            .init(
                user: "replay", zone: "Files", life: "live", records: 12_000, tombstones: 1_024, position: 20_100,
                horizon: 30, bytes: 480_000),
            .init(
                user: "replay", zone: "\u{1B}[", life: "deleted", records: 0, tombstones: 0, position: 9_999,
                horizon: 0,
                bytes: 0),
        ],
        tables: [
            .init(table: "entry", rows: 13_024, bytes: 303_104), .init(table: "zone", rows: 2, bytes: nil),
        ]
    )

    private let zone = ZoneSummary(
        changes: [
            .init(change: "modified", record: "a", type: "Note", tag: "7-1", about: "pages title"),
            .init(change: "deleted", record: "b", type: "Note", tag: nil, about: "deleted"),
            .init(change: "unreadable", record: "c\n", type: nil, tag: nil, about: "Its row is damaged."),
        ],
        token: "abc="
    )
}
