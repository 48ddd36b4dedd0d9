#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A point in the history of one zone (rules T1, T2).
///
/// Opaque: keep it, compare it for equality, hand it back. It has no order. Store the token of each page together
/// with the page's data, over the one before (rule T5); nil in place of a token means from the beginning (rule T3).
///
/// A token does not remember the desired keys of the fetch that gave it: who asks for more keys later gets them only
/// with records that change from then on, and reads the zone again from the beginning to have them all.
public struct ZoneChangeToken: Sendable, Hashable {
    let bytes: [UInt8]

    init(_ content: TokenContent) {
        bytes = content.encoded()
    }

    /// A token from the bytes of ``data``. Total: throws `invalidArguments` for any other bytes, with the detail
    /// `damaged`, or `wrongKind` for a database's token.
    public init(data: Data) throws(ChangeFeedError) {
        bytes = try checkedTokenBytes(data, kind: .zone)
    }

    /// The token's bytes, to be kept on disk or sent over a network.
    public var data: Data { Data(bytes) }
}

/// A point in the history of one database (rules T1, T2). See ``ZoneChangeToken``: the two are not interchangeable.
public struct DatabaseChangeToken: Sendable, Hashable {
    let bytes: [UInt8]

    init(_ content: TokenContent) {
        bytes = content.encoded()
    }

    /// A token from the bytes of ``data``. Total: throws `invalidArguments` for any other bytes, with the detail
    /// `damaged`, or `wrongKind` for a zone's token.
    public init(data: Data) throws(ChangeFeedError) {
        bytes = try checkedTokenBytes(data, kind: .database)
    }

    /// The token's bytes, to be kept on disk or sent over a network.
    public var data: Data { Data(bytes) }
}

extension ZoneChangeToken {
    /// Whether both are of one zone of one database of one store.
    package func isOfSameZone(as other: ZoneChangeToken) -> Bool {
        TokenContent.feedBytes(of: bytes).elementsEqual(TokenContent.feedBytes(of: other.bytes))
    }
}

extension ZoneChangeToken: Codable, CustomStringConvertible {
    /// Decodes the token's bytes, checking them.
    public init(from decoder: any Decoder) throws {
        try self.init(data: decoder.singleValueContainer().decode(Data.self))
    }

    /// Encodes the token's bytes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }

    /// The kind and a short digest: enough to tell tokens apart in a log, and no more.
    public var description: String { "zone token \(shortDigest(bytes))" }
}

extension DatabaseChangeToken: Codable, CustomStringConvertible {
    /// Decodes the token's bytes, checking them.
    public init(from decoder: any Decoder) throws {
        try self.init(data: decoder.singleValueContainer().decode(Data.self))
    }

    /// Encodes the token's bytes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }

    /// The kind and a short digest: enough to tell tokens apart in a log, and no more.
    public var description: String { "database token \(shortDigest(bytes))" }
}

private func checkedTokenBytes(_ data: Data, kind: TokenContent.Kind) throws(ChangeFeedError) -> [UInt8] {
    // A token is short; do not copy megabytes to find that out.
    let bytes = [UInt8](data.prefix(4096))
    let content = try tokenContent(bytes)
    guard content.kind == kind else {
        throw ChangeFeedError(
            .invalidArguments,
            "This is the token of a \(content.kind), where that of a \(kind) belongs. Keep the two kinds apart.",
            rule: "T2",
            detail: .wrongKind
        )
    }
    return bytes
}

/// What the bytes of a token say; throws `invalidArguments` for bytes that no token has.
func tokenContent(_ bytes: [UInt8]) throws(ChangeFeedError) -> TokenContent {
    do throws(MalformedBytes) {
        return try TokenContent(decoding: bytes)
    } catch {
        throw ChangeFeedError(
            .invalidArguments,
            "These bytes are no change token: the byte string \(error.reason). "
                + "Drop what depends on it and fetch with none.",
            rule: "6.2",
            detail: .damaged
        )
    }
}

private func shortDigest(_ bytes: [UInt8]) -> String {
    var hash = StableHash()
    bytes.withUnsafeBytes { hash.combine($0) }
    let digits = String(hash.value & 0xFFFF_FFFF, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
}
