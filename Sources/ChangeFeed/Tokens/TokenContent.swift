/// What a token says, and the one codec of both kinds (section 6.2).
///
/// | bytes | content |
/// |---|---|
/// | 1 | format version |
/// | 1 | kind: 1 database, 2 zone; plus 16 if a start follows, plus 32 if a head follows |
/// | 16 | store |
/// | 8 | digest of database and, for the zone kind, zone |
/// | 8 | nonce of the epoch that the latest of the positions lies in |
/// | variable | position, incarnation of the zone (zone kind), start, head (read under way) |
/// | 8 | check value over all before |
struct TokenContent: Equatable {
    enum Kind: UInt8 {
        case database = 1
        case zone = 2
    }

    let kind: Kind
    let storeID: StoreID
    let feedDigest: UInt64
    let epoch: UInt64
    let position: ChangePosition
    /// The position at which the zone was created; at the beginning for the database kind.
    let incarnation: ChangePosition
    /// Of a zone's first read that has not come so far yet, and of every read of a database that is not finished: where
    /// the read began (sections 6.4, 6.5).
    let start: ChangePosition?
    /// Of a page that was not the last: the latest event of the feed when the page was made. What stood in the feed
    /// then is what the reader has seen, so a history without that event is another one, even if it has the position.
    let head: ChangePosition?

    /// The later of position and start: nothing up to here is missing from what the reader has or will get.
    var reach: ChangePosition { max(position, start ?? position) }
    /// The latest of all positions: the history that the token is of.
    var latest: ChangePosition { max(reach, head ?? reach) }

    private static let formatVersion: UInt8 = 1
    private static let startFlag: UInt8 = 16
    private static let headFlag: UInt8 = 32
    /// The longest token there is: fixed parts and four positions of two numbers, ten bytes each at most.
    private static let maximumLength = 2 + 16 + 8 + 8 + 4 * 20 + 8

    /// Names a database, or a zone of it, within its store.
    static func feedDigest(of databaseID: DatabaseID, zone zoneID: RecordZone.ID? = nil) -> UInt64 {
        var hash = StableHash()
        hash.combine(UInt64(databaseID.scope.rawValue))
        hash.combine(databaseID.userID)
        if let zoneID {
            hash.combine(zoneID.zoneName)
            hash.combine(zoneID.ownerName)
        }
        return hash.value
    }

    /// The part of a token's bytes that names store, database and zone.
    static func feedBytes(of bytes: [UInt8]) -> ArraySlice<UInt8> { bytes.dropFirst(2).prefix(16 + 8) }

    func encoded() -> [UInt8] {
        var writer = ByteWriter(reserving: 64)
        writer.byte(TokenContent.formatVersion)
        writer.byte(
            kind.rawValue | (start == nil ? 0 : TokenContent.startFlag) | (head == nil ? 0 : TokenContent.headFlag))
        writer.word(storeID.high)
        writer.word(storeID.low)
        writer.word(feedDigest)
        writer.word(epoch)
        writer.write(position)
        if kind == .zone { writer.write(incarnation) }
        if let start { writer.write(start) }
        if let head { writer.write(head) }
        writer.word(writer.bytes.withUnsafeBytes(TokenContent.check))
        return writer.bytes
    }

    /// Total: any bytes but those of ``encoded()`` throw.
    init(decoding bytes: [UInt8]) throws(MalformedBytes) {
        guard bytes.count <= TokenContent.maximumLength else { throw MalformedBytes(reason: "is too long") }
        self = try bytes.decode { (reader) throws(MalformedBytes) in try TokenContent(&reader, bytes: bytes) }
    }

    private init(_ reader: inout ByteReader, bytes: [UInt8]) throws(MalformedBytes) {
        guard try reader.byte() == TokenContent.formatVersion else {
            throw MalformedBytes(reason: "has an unknown version")
        }
        let kindAndFlags = try reader.byte()
        let flags = TokenContent.startFlag | TokenContent.headFlag
        guard let kind = Kind(rawValue: kindAndFlags & ~flags) else {
            throw MalformedBytes(reason: "has an unknown kind")
        }
        self.kind = kind
        let high = try reader.word()
        let low = try reader.word()
        storeID = StoreID(high: high, low: low)
        feedDigest = try reader.word()
        epoch = try reader.word()
        position = try reader.position()
        incarnation = kind == .zone ? try reader.position() : .beginning
        start = kindAndFlags & TokenContent.startFlag == 0 ? nil : try reader.position()
        head = kindAndFlags & TokenContent.headFlag == 0 ? nil : try reader.position()
        let covered = reader.offset
        let check = try reader.word()
        guard reader.isAtEnd else { throw MalformedBytes(reason: "goes on after its end") }
        let expected = bytes.withUnsafeBytes { TokenContent.check(UnsafeRawBufferPointer(rebasing: $0[..<covered])) }
        guard check == expected else { throw MalformedBytes(reason: "fails its check value") }
    }

    init(
        kind: Kind, storeID: StoreID, feedDigest: UInt64, epoch: UInt64, position: ChangePosition,
        incarnation: ChangePosition, start: ChangePosition?, head: ChangePosition? = nil
    ) {
        self.kind = kind
        self.storeID = storeID
        self.feedDigest = feedDigest
        self.epoch = epoch
        self.position = position
        self.incarnation = incarnation
        self.start = start
        self.head = head
    }

    private static func check(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash = StableHash(seed: 0x7465_6B6F_7446_4321)
        hash.combine(bytes)
        return hash.value
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ position: ChangePosition) {
        number(position.high)
        number(position.low)
    }
}

extension ByteReader {
    fileprivate mutating func position() throws(MalformedBytes) -> ChangePosition {
        let high = try number()
        let low = try number()
        return ChangePosition(high: high, low: low)
    }
}
