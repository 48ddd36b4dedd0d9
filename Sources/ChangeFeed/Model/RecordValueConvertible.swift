#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Swift type that a field can be set to and read as.
///
/// Reading as a type that cannot hold the stored value gives nil: an `Int8` for 300, a `Double` for an integer,
/// a `Float` for a double of more precision. `UInt` and `UInt64` do not conform because not all of their values fit.
public protocol RecordValueConvertible: Sendable {
    /// The value to store.
    var recordValue: RecordValue { get }
    /// The Swift value of a stored one; nil if this type cannot hold it exactly.
    init?(recordValue: RecordValue)
}

extension RecordValue: RecordValueConvertible {
    /// The value itself.
    @inlinable public var recordValue: RecordValue { self }
    /// The value itself.
    @inlinable public init?(recordValue: RecordValue) { self = recordValue }
}

extension String: RecordValueConvertible {
    /// The text as a value.
    @inlinable public var recordValue: RecordValue { .string(self) }
    /// The text of a string value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .string(let string) = recordValue else { return nil }
        self = string
    }
}

extension RecordValueConvertible where Self: FixedWidthInteger {
    /// The number as a value. Every conforming integer type fits 64 bits with a sign.
    @inlinable public var recordValue: RecordValue { .int64(Int64(self)) }
    /// The number of an integer value, if it fits this type.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .int64(let number) = recordValue, let exact = Self(exactly: number) else { return nil }
        self = exact
    }
}

extension Int: RecordValueConvertible {}
extension Int8: RecordValueConvertible {}
extension Int16: RecordValueConvertible {}
extension Int32: RecordValueConvertible {}
extension Int64: RecordValueConvertible {}
extension UInt8: RecordValueConvertible {}
extension UInt16: RecordValueConvertible {}
extension UInt32: RecordValueConvertible {}

extension Double: RecordValueConvertible {
    /// The number as a value.
    @inlinable public var recordValue: RecordValue { .double(self) }
    /// The number of a double value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .double(let number) = recordValue else { return nil }
        self = number
    }
}

extension Float: RecordValueConvertible {
    /// The number as a double value.
    @inlinable public var recordValue: RecordValue { .double(Double(self)) }
    /// The number of a double value, if this type holds it exactly; any NaN gives NaN.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .double(let number) = recordValue else { return nil }
        if number.isNaN {
            self = .nan
        } else if let exact = Float(exactly: number) {
            self = exact
        } else {
            return nil
        }
    }
}

extension Bool: RecordValueConvertible {
    /// The integer value 0 or 1.
    @inlinable public var recordValue: RecordValue { .int64(self ? 1 : 0) }
    /// The truth of an integer value 0 or 1; nil for every other number.
    @inlinable public init?(recordValue: RecordValue) {
        switch recordValue {
        case .int64(0): self = false
        case .int64(1): self = true
        default: return nil
        }
    }
}

extension Data: RecordValueConvertible {
    /// The bytes as a value.
    @inlinable public var recordValue: RecordValue { .bytes(self) }
    /// The bytes of a bytes value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .bytes(let data) = recordValue else { return nil }
        self = data
    }
}

extension Date: RecordValueConvertible {
    /// The moment as a value.
    @inlinable public var recordValue: RecordValue { .date(self) }
    /// The moment of a date value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .date(let date) = recordValue else { return nil }
        self = date
    }
}

extension Location: RecordValueConvertible {
    /// The place as a value.
    @inlinable public var recordValue: RecordValue { .location(self) }
    /// The place of a location value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .location(let location) = recordValue else { return nil }
        self = location
    }
}

extension Record.Reference: RecordValueConvertible {
    /// The reference as a value.
    @inlinable public var recordValue: RecordValue { .reference(self) }
    /// The reference of a reference value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .reference(let reference) = recordValue else { return nil }
        self = reference
    }
}

extension Asset: RecordValueConvertible {
    /// The asset as a value.
    @inlinable public var recordValue: RecordValue { .asset(self) }
    /// The asset of an asset value.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .asset(let asset) = recordValue else { return nil }
        self = asset
    }
}

extension Array: RecordValueConvertible where Element: RecordValueConvertible {
    /// The elements as a list value.
    @inlinable public var recordValue: RecordValue { .list(map(\.recordValue)) }
    /// The elements of a list value; nil if one of them does not fit.
    @inlinable public init?(recordValue: RecordValue) {
        guard case .list(let values) = recordValue else { return nil }
        self = []
        reserveCapacity(values.count)
        for value in values {
            guard let element = Element(recordValue: value) else { return nil }
            append(element)
        }
    }
}
