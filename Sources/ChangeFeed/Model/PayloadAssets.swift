/// Finding the assets in a record's stored fields without decoding anything else.
extension Payload {
    /// Whether a field holds an asset, be it in a list.
    var hasAssets: Bool {
        guard mayLink else { return false }
        var found = false
        forEachValue { _, value in found = found || ValueCodec.hasAssets(value) }
        return found
    }

    /// The contents of all assets, each once.
    var assetContents: Set<AssetContent> {
        var contents: Set<AssetContent> = []
        forEachValue { _, value in
            ValueCodec.forEachAsset(in: value) { contents.insert($0) }
        }
        return contents
    }
}
