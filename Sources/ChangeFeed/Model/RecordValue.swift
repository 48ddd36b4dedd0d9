#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The value of one field: one of the types of rule R1, kept exactly.
///
/// An integer is never turned into a double, NaN and -0.0 survive, dates keep their full precision. Values are
/// compared by their stored bytes: doubles and dates by bit pattern, strings by UTF-8, assets by their content.
public enum RecordValue: Sendable {
    /// Text.
    case string(String)
    /// A whole number.
    case int64(Int64)
    /// A floating-point number.
    case double(Double)
    /// Raw bytes.
    case bytes(Data)
    /// A moment.
    case date(Date)
    /// A place.
    indirect case location(Location)
    /// A link to another record.
    indirect case reference(Record.Reference)
    /// Content that lives apart from the record.
    case asset(Asset)
    /// Values of one type; a mixture is refused when the record is saved.
    case list([RecordValue])
}

extension RecordValue {
    /// The type of a value, by its CloudKit name.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// See ``RecordValue/string(_:)``.
        case string
        /// See ``RecordValue/int64(_:)``.
        case int64
        /// See ``RecordValue/double(_:)``.
        case double
        /// See ``RecordValue/bytes(_:)``.
        case bytes
        /// See ``RecordValue/date(_:)``.
        case date
        /// See ``RecordValue/location(_:)``.
        case location
        /// See ``RecordValue/reference(_:)``.
        case reference
        /// See ``RecordValue/asset(_:)``.
        case asset
        /// See ``RecordValue/list(_:)``.
        case list
    }

    /// The value's type.
    public var kind: Kind {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .bytes: .bytes
        case .date: .date
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list: .list
        }
    }
}

extension RecordValue: Hashable {
    /// Whether both have the same type and the same stored bytes.
    public static func == (left: RecordValue, right: RecordValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): sameBytes(left, right)
        case (.int64(let left), .int64(let right)): left == right
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.bytes(let left), .bytes(let right)): left == right
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
        case (.location(let left), .location(let right)): left == right
        case (.reference(let left), .reference(let right)): left == right
        case (.asset(let left), .asset(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        default: false
        }
    }

    /// Hashes the value in accordance with its equality.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let string): hasher.combine(string)
        case .int64(let number): hasher.combine(number)
        case .double(let number): hasher.combine(number.bitPattern)
        case .bytes(let data): hasher.combine(data)
        case .date(let date): hasher.combine(date.timeIntervalSinceReferenceDate.bitPattern)
        case .location(let location): hasher.combine(location)
        case .reference(let reference): hasher.combine(reference)
        case .asset(let asset): hasher.combine(asset)
        case .list(let values): hasher.combine(values)
        }
    }
}

extension RecordValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .int64(value) }
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A Bool is stored as the whole number 0 or 1: the feed has no type for it.
    public init(booleanLiteral value: Bool) { self = .int64(value ? 1 : 0) }
    /// A list.
    public init(arrayLiteral elements: RecordValue...) { self = .list(elements) }
}
