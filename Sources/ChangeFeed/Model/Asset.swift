#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Content that lives apart from the record that refers to it (rule AS1): a photo, a recording, a document.
///
/// An asset *is* its content: two assets are equal if size and SHA-256 are. The name and the extension of the file it
/// was made from are not kept (case B96); keep them in a field of their own if they matter. To drop an asset, set the
/// field to nil and save: the server collects content that nothing refers to (rule AS3).
///
/// An asset comes in one of two forms:
///
/// - **Local**, made from a file or from bytes. Making one costs nothing; a file is read, piece by piece and never as a
///   whole, when the record is saved. The file has to stay as it is until the save returns: if it is missing, the
///   record's save fails with `assetFileNotFound`, if it changes meanwhile, with `assetFileModified`, for that record
///   alone (rule AS6).
/// - **Fetched**, from a record that a server gave. It costs no bytes until it is looked at. ``fileURL`` and ``data()``
///   work as long as any copy of the record, or of this asset, is alive: keep the page until it is acknowledged. If
///   the content cannot be had, the error is `assetNotAvailable`, for this asset alone: fetch the record again. To
///   fetch records without their assets, leave the keys out of `desiredKeys` (rule AS4). The server's record in a
///   conflict carries the identity only (rule AS5).
///
/// An archived record (``Record/encoded()``) keeps the identity of an asset, not the content and not the file's place.
/// Saving it again costs no bytes where the server has the content, and is `assetFileNotFound` where it has not.
///
/// - Important: A local asset's identity is that of the content its file had when it was first read. Comparing,
///   hashing or archiving a local asset reads its file, once. If the file cannot be read then, the asset has no
///   content from then on: it is equal to every other without, and cannot be saved. Make another asset to try again.
public struct Asset: Sendable {
    enum Form: Sendable {
        case local(LocalAsset)
        case stored(StoredAsset)
    }

    let form: Form

    /// An asset with the content of a file. Nothing is read yet.
    public init(fileURL: URL) {
        form = .local(LocalAsset(.file(fileURL)))
    }

    /// An asset with the given content.
    public init(data: Data) {
        form = .local(LocalAsset(.bytes(data)))
    }

    init(_ stored: StoredAsset) {
        form = .stored(stored)
    }

    /// What the content is known by. Reads the file of a local asset if it has not been read; nil if it cannot be.
    package var content: AssetContent? {
        switch form {
        case .local(let local): local.content
        case .stored(let stored): stored.content
        }
    }

    /// Bytes of the content. Of a local file that has not been read yet, the bytes that it has now; nil if there is no
    /// such file.
    public var size: Int? {
        switch form {
        case .local(let local): local.size
        case .stored(let stored): stored.content?.size
        }
    }

    /// The content's SHA-256 as 64 lower-case hexadecimal digits. Reads the file of a local asset if it has not been
    /// read; nil if it cannot be.
    public var contentHash: String? {
        content?.hash.hexadecimal
    }
}

// MARK: - Reading

extension Asset {
    /// A file with the content: of a local asset the one it was made from, nil if it was made from bytes; of a fetched
    /// asset a copy of its own, nil if there is none to be had. ``loadFile()`` tells why.
    ///
    /// The copy is made at the first access. It belongs to the app: move it where it is to stay (rule AS2), or write
    /// to it, the server's content stays as it is. If it has been moved away, the next access makes another at the same
    /// place. It is removed with the last copy of the record and the asset.
    public var fileURL: URL? {
        try? loadFile()
    }

    /// The file of ``fileURL``, or the reason why there is none.
    ///
    /// Throws `assetNotAvailable` for a fetched asset whose content cannot be had, or that came without content; and
    /// for a local one that was made from bytes.
    public func loadFile() throws(ChangeFeedError) -> URL {
        switch form {
        case .local(let local):
            if case .file(let url) = local.origin { return url }
            throw ChangeFeedError(
                .assetNotAvailable, "The asset was made from bytes and has no file: read its data.", rule: "AS2")
        case .stored(let stored):
            return try stored.loadFile()
        }
    }

    /// The content as a whole. Of a local file, what it has now.
    ///
    /// Throws `assetFileNotFound` or `assetFileModified` for a local file, `assetNotAvailable` for a fetched asset;
    /// then with the detail `damaged` if the stored bytes are not what the asset's hash says.
    public func data() throws(ChangeFeedError) -> Data {
        if case .local(let local) = form, case .bytes(let data) = local.origin { return data }
        let stream = try stream()
        var data = Data()
        while let chunk = try stream.next() { data.append(contentsOf: chunk) }
        return data
    }

    /// The content piece by piece, without holding all of it. Throws like ``data()``, as do the pieces: what is damaged
    /// is never given as a whole, so use the pieces for good only when the end has been reached.
    public func stream() throws(ChangeFeedError) -> any AssetStream {
        switch form {
        case .local(let local): try local.stream()
        case .stored(let stored): try stored.stream()
        }
    }
}

extension Asset: Hashable {
    /// Whether both have the same content. Reads local files that have not been read.
    public static func == (left: Asset, right: Asset) -> Bool {
        if case .local(let left) = left.form, case .local(let right) = right.form, left === right { return true }
        return left.content == right.content
    }

    /// Hashes what the content is known by. Reads a local file that has not been read.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(content)
    }
}
