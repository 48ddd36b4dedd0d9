/// The port that a storage for the contents of assets fulfils: bytes under a key.
///
/// It has no opinion, as a ``ChangeStore`` has none: what a content's key is, which contents are referred to and when
/// one may be removed is decided above this port, once. Calls are synchronous, as ``Asset/fileURL`` is, and may come
/// from any thread at any time.
///
/// What an asset store promises:
/// - A content is there as a whole or not at all. It becomes visible when ``AssetUpload/finish(as:)`` returns, and is
///   then as durable as the store says it is. An upload that is let go unfinished leaves nothing behind.
/// - A content is stored once for each key. Storing it again leaves the store as it was; of any number of uploads of
///   the same key at the same time, all succeed.
/// - A stream that was opened gives its content to the end, whatever is stored or removed meanwhile.
/// - Keys are used as names as they are: they hold nothing that came from outside but digests.
/// - What the storage itself cannot do (a full disk, missing rights) is thrown as a ``ChangeFeedError``:
///   `serviceUnavailable` if it may pass, `internalError` if it will not.
///
/// The store need not look at what it stores. Bytes are held against their digest by whoever reads them.
public protocol AssetStore: Sendable {
    /// Which contents may not be removed now: one object for the life of the store, made by it.
    var pins: AssetPins { get }

    /// The directory in which readers' copies of contents are put; nil for the system's temporary directory.
    var stagingPath: String? { get }

    /// Begins to store a content.
    func beginUpload() throws(ChangeFeedError) -> any AssetUpload
    /// The bytes of a content from the beginning; nil if it is not there.
    func open(_ key: AssetKey) throws(ChangeFeedError) -> (any AssetStream)?
    /// How many bytes are stored for a content; nil if it is not there.
    func size(of key: AssetKey) throws(ChangeFeedError) -> Int?
    /// Removes a content for good; one that is not there is no error.
    func remove(_ key: AssetKey) throws(ChangeFeedError)
    /// Visits the keys of all contents after the given one, or all if it is nil, in ascending order of their text.
    func scan(
        after key: AssetKey?, _ visit: (AssetKey) throws(ChangeFeedError) -> ScanStep
    ) throws(ChangeFeedError)
}

extension AssetStore {
    /// The system's temporary directory.
    public var stagingPath: String? { nil }
}

/// A content on its way into an ``AssetStore``. Used by one caller at a time; released unfinished, it leaves nothing.
public protocol AssetUpload: AnyObject {
    /// Adds bytes.
    func write(_ bytes: [UInt8]) throws(ChangeFeedError)
    /// Makes the bytes that were written the content of a key, durably. Called once, last.
    func finish(as key: AssetKey) throws(ChangeFeedError)
}

/// Bytes that are read piece by piece, from the beginning to the end. Used by one caller at a time.
public protocol AssetStream: AnyObject {
    /// The next piece, never empty; nil at the end.
    func next() throws(ChangeFeedError) -> [UInt8]?
}

/// Where a content stands: under whom, and which it is. Both are SHA-256 digests.
///
/// Contents are shared within one user only, so that nobody can find out what others have stored.
public struct AssetKey: Sendable, Hashable {
    package let owner: AssetHash
    package let content: AssetHash

    package init(owner: AssetHash, content: AssetHash) {
        self.owner = owner
        self.content = content
    }

    /// The key of a content of a database's owner.
    package init(_ content: AssetHash, in databaseID: DatabaseID) {
        self.init(owner: AssetKey.owner(of: databaseID), content: content)
    }

    /// A key from its names; nil unless both are 64 lower-case hexadecimal digits.
    public init?(ownerName: String, contentName: String) {
        guard let owner = AssetHash(hexadecimal: ownerName), let content = AssetHash(hexadecimal: contentName)
        else { return nil }
        self.init(owner: owner, content: content)
    }

    /// A digest of whose database it is: 64 lower-case hexadecimal digits.
    public var ownerName: String { owner.hexadecimal }
    /// The digest of the content: 64 lower-case hexadecimal digits.
    public var contentName: String { content.hexadecimal }
    /// Both names, one after the other: what keys are ordered by.
    public var text: String { ownerName + contentName }

    /// A key from its text; nil for any other text.
    package init?(text: String) {
        let utf8 = text.utf8
        guard utf8.count == 4 * SHA256.byteCount else { return nil }
        let middle = utf8.index(utf8.startIndex, offsetBy: 2 * SHA256.byteCount)
        self.init(ownerName: String(text[..<middle]), contentName: String(text[middle...]))
    }

    /// The digest of whose database it is. The scope is part of it: the public database belongs to nobody.
    package static func owner(of databaseID: DatabaseID) -> AssetHash {
        var hasher = SHA256()
        hasher.update(CollectionOfOne(UInt8(truncatingIfNeeded: databaseID.scope.rawValue)))
        hasher.update(databaseID.userID.utf8)
        return AssetHash(hasher)
    }
}

/// The most bytes of a piece that is read or written at once: what an asset of any size needs of the memory.
let assetChunkBytes = 128 * 1024
