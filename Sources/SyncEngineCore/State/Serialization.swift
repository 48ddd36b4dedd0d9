import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which engine wrote a state, and how many it had written before.
struct StateStamp: Sendable, Hashable {
    /// A number that each engine draws for itself.
    var writer: UInt64
    var revision: UInt64
    /// The writer and revision of the state that the engine was started from; zeros if it was started from none.
    var originWriter: UInt64
    var originRevision: UInt64

    /// Whether a state with this stamp may take the place of another: it is later by the same engine, or by one that
    /// was started from just that state (case B15).
    func supersedes(_ other: StateStamp) -> Bool {
        if writer == other.writer { return revision > other.revision }
        return originWriter == other.writer && originRevision == other.revision
    }
}

extension SyncEngine.State {
    /// All that an engine has to know to go on after a restart, as a value to be stored (section 6.10).
    ///
    /// Any coder takes it. It is opaque, versioned and checked: decoding bytes that are none throws. Store it together
    /// with the data that was delivered before it; an older one given to a new engine is legal, and changes are
    /// delivered again (rule ST7).
    public struct Serialization: Sendable, Hashable {
        private(set) var stamp: StateStamp
        private(set) var steps: [UInt8]

        init(stamp: StateStamp, steps: [UInt8]) {
            self.stamp = stamp
            self.steps = steps
        }

        /// From the bytes of ``data``. Total: throws ``SyncEngineError/Code/damagedState`` for any other bytes.
        public init(data: Data) throws(SyncEngineError) {
            let parts = try StateArchive.decode(data, kind: .full)
            self.init(stamp: parts.stamp, steps: parts.steps)
            _ = try durableState()
        }

        /// The bytes to be stored.
        public var data: Data { StateArchive.encode(.full, stamp: stamp, base: 0, steps: steps) }

        /// Which state of its engine this is: later ones have greater numbers.
        public var revision: UInt64 { stamp.revision }

        /// Goes on to the state after an increment. Throws ``SyncEngineError/Code/staleState`` if the increment does
        /// not follow this state.
        public mutating func apply(_ increment: Increment) throws(SyncEngineError) {
            guard increment.follows(stamp) else {
                throw SyncEngineError(
                    .staleState,
                    "The increment \(increment.revision) does not follow the state \(revision): another engine has "
                        + "written since, or one before it is missing. Store the full serialization.")
            }
            stamp = increment.stamp
            steps += increment.steps
        }

        func durableState() throws(SyncEngineError) -> DurableState {
            var state = DurableState()
            try StateArchive.forEachStep(of: steps) { state.apply($0) }
            return state
        }
    }

    /// What has changed in a state since the one before: small, whatever the size of the state.
    public struct Increment: Sendable, Hashable {
        let stamp: StateStamp
        /// The revision that it follows.
        let base: UInt64
        let steps: [UInt8]

        init(stamp: StateStamp, base: UInt64, steps: [UInt8]) {
            self.stamp = stamp
            self.base = base
            self.steps = steps
        }

        /// From the bytes of ``data``. Total: throws ``SyncEngineError/Code/damagedState`` for any other bytes.
        public init(data: Data) throws(SyncEngineError) {
            let parts = try StateArchive.decode(data, kind: .increment)
            self.init(stamp: parts.stamp, base: parts.base, steps: parts.steps)
            try StateArchive.forEachStep(of: steps) { _ in }
        }

        /// The bytes to be stored.
        public var data: Data { StateArchive.encode(.increment, stamp: stamp, base: base, steps: steps) }

        /// The state that it leads to.
        public var revision: UInt64 { stamp.revision }

        /// Whether nothing has changed.
        public var isEmpty: Bool { steps.isEmpty }

        /// The base of an increment that says all, and follows any state that it may take the place of.
        static let anyBase = UInt64.max

        func follows(_ other: StateStamp) -> Bool {
            if base == Self.anyBase { return stamp.supersedes(other) }
            guard base == other.revision else { return false }
            return stamp.writer == other.writer
                || (stamp.originWriter == other.writer && stamp.originRevision == other.revision)
        }
    }
}

extension SyncEngine.State.Serialization: Codable {
    /// Decodes the bytes, checking them.
    public init(from decoder: any Decoder) throws {
        try self.init(data: decoder.singleValueContainer().decode(Data.self))
    }

    /// Encodes the bytes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }
}

extension SyncEngine.State.Increment: Codable {
    /// Decodes the bytes, checking them.
    public init(from decoder: any Decoder) throws {
        try self.init(data: decoder.singleValueContainer().decode(Data.self))
    }

    /// Encodes the bytes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }
}

/// The envelope of a state: what it is, whose, and a check value over all of it.
enum StateArchive {
    enum Kind: UInt8 {
        case full = 1
        case increment = 2
    }

    private static let magic: [UInt8] = [0x43, 0x46, 0x53]  // "CFS"
    private static let version: UInt8 = 1

    static func encode(_ kind: Kind, stamp: StateStamp, base: UInt64, steps: [UInt8]) -> Data {
        var writer = ByteWriter(reserving: steps.count + 64)
        for byte in magic { writer.byte(byte) }
        writer.byte(version)
        writer.byte(kind.rawValue)
        for word in [stamp.writer, stamp.revision, stamp.originWriter, stamp.originRevision, base] { writer.word(word) }
        steps.withUnsafeBytes { writer.raw($0) }
        writer.word(checkValue(writer.bytes[...]))
        return Data(writer.bytes)
    }

    static func decode(
        _ data: Data, kind: Kind
    ) throws(SyncEngineError) -> (stamp: StateStamp, base: UInt64, steps: [UInt8]) {
        do throws(MalformedBytes) {
            return try data.decode { (reader) throws(MalformedBytes) in
                for byte in magic {
                    guard try reader.byte() == byte else { throw MalformedBytes(reason: "is no state of an engine") }
                }
                guard try reader.byte() == version else {
                    throw MalformedBytes(reason: "was written by another version of this library")
                }
                guard try reader.byte() == kind.rawValue else {
                    throw MalformedBytes(reason: "is an increment where a full state belongs, or the reverse")
                }
                let stamp = StateStamp(
                    writer: try reader.word(), revision: try reader.word(), originWriter: try reader.word(),
                    originRevision: try reader.word())
                let base = try reader.word()
                guard reader.remaining >= 8 else { throw MalformedBytes(reason: "ends too early") }
                let steps = [UInt8](try reader.slice(reader.remaining - 8))
                guard try reader.word() == checkValue([UInt8](data.dropLast(8))[...]) else {
                    throw MalformedBytes(reason: "is damaged")
                }
                return (stamp, base, steps)
            }
        } catch {
            throw damaged(error)
        }
    }

    static func forEachStep(of steps: [UInt8], _ body: (StateChange) -> Void) throws(SyncEngineError) {
        do throws(MalformedBytes) {
            try steps.decode { (reader) throws(MalformedBytes) in
                while !reader.isAtEnd { body(try StateChangeCodec.decode(&reader)) }
            }
        } catch {
            throw damaged(error)
        }
    }

    private static func damaged(_ error: MalformedBytes) -> SyncEngineError {
        SyncEngineError(
            .damagedState,
            "The stored state \(error.reason). Start the engine without it: everything is then fetched anew.")
    }

    private static func checkValue(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var hash = StableHash()
        bytes.withUnsafeBytes { hash.combine($0) }
        return hash.value
    }
}
