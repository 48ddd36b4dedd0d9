import ChangeFeed
import Foundation
import XCTest

/// Literals and typed getters: what goes in comes out exactly, and a type that cannot hold a value gives nil.
final class RecordValueTests: XCTestCase {
    /// Writes a value through a field and reads it back as a type.
    private func read<Value: RecordValueConvertible>(_ value: RecordValue, as type: Value.Type) -> Value? {
        var record = Record(recordType: "Note")
        record["field"] = value
        return record["field"]
    }

    /// Writes a Swift value through a field and reads it back as the same type.
    private func roundTrip<Value: RecordValueConvertible>(_ value: Value) -> Value? {
        var record = Record(recordType: "Note")
        record["field"] = value
        return record["field"]
    }

    func testR1_literalsReadNaturally() {
        var record = Record(recordType: "Note")
        record["title"] = "x"
        record["count"] = 3
        record["ratio"] = 0.5
        record["done"] = true
        record["tags"] = ["a", "b"]
        record["gone"] = nil

        let title: String? = record["title"]
        let count: Int? = record["count"]
        let done: Bool? = record["done"]
        XCTAssertEqual(title, "x")
        XCTAssertEqual(count, 3)
        XCTAssertEqual(record["ratio"], 0.5)
        XCTAssertEqual(done, true)
        XCTAssertEqual(record["tags"] as [String]?, ["a", "b"])
        XCTAssertEqual(record.fields.map(\.value.kind), [.int64, .int64, .double, .list, .string])
    }

    func testR1_literalsOfValuesHaveTheTypeTheyLookLike() {
        XCTAssertEqual("x" as RecordValue, .string("x"))
        XCTAssertEqual(3 as RecordValue, .int64(3))
        XCTAssertEqual(3.0 as RecordValue, .double(3))
        XCTAssertEqual(true as RecordValue, .int64(1))
        XCTAssertEqual(false as RecordValue, .int64(0))
        XCTAssertEqual([] as RecordValue, .list([]))
        XCTAssertEqual([1, 2] as RecordValue, .list([.int64(1), .int64(2)]))
    }

    func testIntegersThatDoNotFitAreNil() {
        XCTAssertEqual(read(.int64(127), as: Int8.self), 127)
        XCTAssertNil(read(.int64(128), as: Int8.self))
        XCTAssertNil(read(.int64(300), as: Int8.self))
        XCTAssertEqual(read(.int64(-128), as: Int8.self), -128)
        XCTAssertNil(read(.int64(-129), as: Int8.self))
        XCTAssertNil(read(.int64(32_768), as: Int16.self))
        XCTAssertNil(read(.int64(-2_147_483_649), as: Int32.self))
        XCTAssertEqual(read(.int64(255), as: UInt8.self), 255)
        XCTAssertNil(read(.int64(256), as: UInt8.self))
        XCTAssertNil(read(.int64(-1), as: UInt8.self))
        XCTAssertNil(read(.int64(65_536), as: UInt16.self))
        XCTAssertEqual(read(.int64(4_294_967_295), as: UInt32.self), .max)
        XCTAssertNil(read(.int64(4_294_967_296), as: UInt32.self))
    }

    func testEveryIntegerTypeKeepsItsEdges() {
        func expectEdges<Number: FixedWidthInteger & RecordValueConvertible>(of type: Number.Type) {
            for number in [Number.min, 0, 1, 15, 16, Number.max] {
                XCTAssertEqual(roundTrip(number), number, "\(type)")
            }
        }
        expectEdges(of: Int.self)
        expectEdges(of: Int8.self)
        expectEdges(of: Int16.self)
        expectEdges(of: Int32.self)
        expectEdges(of: Int64.self)
        expectEdges(of: UInt8.self)
        expectEdges(of: UInt16.self)
        expectEdges(of: UInt32.self)
    }

    func testTypesWithValuesThatDoNotFitAreNotOffered() {
        XCTAssertFalse(UInt64.self is any RecordValueConvertible.Type)
        XCTAssertFalse(UInt.self is any RecordValueConvertible.Type)
    }

    func testWholeNumbersAndDoublesAreNotMistakenForEachOther() {
        XCTAssertNil(read(.int64(3), as: Double.self))
        XCTAssertNil(read(.int64(3), as: Float.self))
        XCTAssertNil(read(.double(3), as: Int.self))
        XCTAssertNil(read(.double(1), as: Bool.self))
        XCTAssertNotEqual(RecordValue.int64(3), .double(3))
    }

    func testDoublesKeepEveryBit() {
        let numbers: [Double] = [
            0, -0.0, 1 / 3, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan,
            Double(bitPattern: 0x7FF0_0000_0000_0001), Double(bitPattern: 0xFFF8_0000_0000_BEEF),
        ]
        for number in numbers {
            XCTAssertEqual(roundTrip(number)?.bitPattern, number.bitPattern, "\(number)")
        }
    }

    func testFloatsAreReadOnlyWhereTheyAreExact() {
        XCTAssertEqual(roundTrip(Float(0.1)), Float(0.1))
        XCTAssertEqual(roundTrip(-Float.greatestFiniteMagnitude), -.greatestFiniteMagnitude)
        XCTAssertEqual(roundTrip(Float.leastNonzeroMagnitude), .leastNonzeroMagnitude)
        XCTAssertEqual(roundTrip(Float.infinity), .infinity)
        XCTAssertEqual(roundTrip(-Float.zero)?.sign, .minus)
        XCTAssertEqual(roundTrip(Float.nan)?.isNaN, true)
        XCTAssertEqual(read(.double(0.5), as: Float.self), 0.5)
        XCTAssertNil(read(.double(0.1), as: Float.self))
        XCTAssertNil(read(.double(1e300), as: Float.self))
        XCTAssertNil(read(.double(.leastNonzeroMagnitude), as: Float.self))
    }

    func testBoolIsZeroOrOneAndNothingElse() {
        XCTAssertEqual(roundTrip(true), true)
        XCTAssertEqual(roundTrip(false), false)
        XCTAssertEqual(read(.int64(1), as: Bool.self), true)
        XCTAssertEqual(read(.int64(0), as: Bool.self), false)
        XCTAssertNil(read(.int64(2), as: Bool.self))
        XCTAssertNil(read(.int64(-1), as: Bool.self))
        XCTAssertNil(read(.string("true"), as: Bool.self))
        XCTAssertEqual(read(true.recordValue, as: Int.self), 1)
    }

    func testDatesKeepFullPrecision() {
        let seconds: [Double] = [
            700_000_000.123_456_7, 0, -0.0, -63_114_076_800, .leastNonzeroMagnitude, 1e18, .infinity, .nan,
        ]
        for second in seconds {
            let read = roundTrip(Date(timeIntervalSinceReferenceDate: second))
            XCTAssertEqual(read?.timeIntervalSinceReferenceDate.bitPattern, second.bitPattern, "\(second)")
        }
    }

    func testTextKeepsItsBytes() {
        for text in ["", "a", "e\u{301}", "\u{E9}", "\u{0}\u{0}", "👩‍👩‍👧", String(repeating: "x", count: 70_000)] {
            XCTAssertEqual(roundTrip(text).map { Array($0.utf8) }, Array(text.utf8))
        }
    }

    func testDataSlicesAreTakenByTheirContent() {
        // Given a slice that does not start at zero
        let slice = Data([0, 1, 2, 3, 4])[2...]
        XCTAssertNotEqual(slice.startIndex, 0)

        // Then it reads, compares and hashes as its bytes
        XCTAssertEqual(roundTrip(slice), Data([2, 3, 4]))
        XCTAssertEqual(RecordValue.bytes(slice), .bytes(Data([2, 3, 4])))
        XCTAssertEqual(Set([RecordValue.bytes(slice), .bytes(Data([2, 3, 4]))]).count, 1)
        XCTAssertEqual(roundTrip(Data()), Data())
    }

    func testPlacesAndLinksComeBackWhole() {
        let place = Location(
            latitude: 48.2, longitude: -0.0, altitude: .nan, horizontalAccuracy: nil, verticalAccuracy: 3,
            timestamp: Date(timeIntervalSinceReferenceDate: 1.5))
        XCTAssertEqual(roundTrip(place), place)
        XCTAssertEqual(roundTrip(place)?.longitude.sign, .minus)
        XCTAssertNil(roundTrip(place)?.horizontalAccuracy)

        let zone = RecordZone.ID(zoneName: "Z", ownerName: "ben")
        for action in Record.Reference.Action.allCases {
            let link = Record.Reference(recordID: Record.ID(recordName: "r", zoneID: zone), action: action)
            XCTAssertEqual(roundTrip(link), link)
        }
        let asset = Asset(data: Data("content".utf8))
        XCTAssertEqual(roundTrip(asset), asset)
    }

    func testEveryOtherTypeReadsAsNil() {
        let link = Record.Reference(recordID: Record.ID(recordName: "r"))
        let values: [RecordValue] = [
            "x", 3, 0.5, .bytes(Data()), .date(Date(timeIntervalSinceReferenceDate: 0)),
            .location(Location(latitude: 0, longitude: 0)), .reference(link), .asset(Asset(data: Data())), [],
        ]
        XCTAssertEqual(values.map(\.kind), RecordValue.Kind.allCases)
        for value in values {
            XCTAssertEqual(read(value, as: String.self) != nil, value.kind == .string)
            XCTAssertEqual(read(value, as: Int64.self) != nil, value.kind == .int64)
            XCTAssertEqual(read(value, as: Double.self) != nil, value.kind == .double)
            XCTAssertEqual(read(value, as: Data.self) != nil, value.kind == .bytes)
            XCTAssertEqual(read(value, as: Date.self) != nil, value.kind == .date)
            XCTAssertEqual(read(value, as: Location.self) != nil, value.kind == .location)
            XCTAssertEqual(read(value, as: Record.Reference.self) != nil, value.kind == .reference)
            XCTAssertEqual(read(value, as: Asset.self) != nil, value.kind == .asset)
            XCTAssertEqual(read(value, as: [String].self) != nil, value.kind == .list)
            XCTAssertEqual(read(value, as: RecordValue.self), value)
        }
    }
}
