#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An asset as a record's stored fields know it: an identity and, if the record was fetched, the way to the content.
final class StoredAsset: Sendable {
    /// Nil for an asset that was archived while its file could not be read.
    let content: AssetContent?
    private let access: (assets: RecordAssets, slot: AssetSlot)?

    init(content: AssetContent?, access: (assets: RecordAssets, slot: AssetSlot)? = nil) {
        self.content = content
        self.access = access
    }

    /// Whether there is a way to the content.
    var isLoaded: Bool { content != nil && access != nil }

    func loadFile() throws(ChangeFeedError) -> URL {
        guard let content, let access else { throw notLoaded }
        return try access.assets.file(of: content, at: access.slot)
    }

    func stream() throws(ChangeFeedError) -> any AssetStream {
        guard let content, let access else { throw notLoaded }
        return try access.assets.stream(of: content)
    }

    private var notLoaded: ChangeFeedError {
        ChangeFeedError(
            .assetNotAvailable, "The asset came without its content: fetch its record to read it.", rule: "AS5")
    }
}
