/// How the schema is kept in a store: one row, as JSON (rule R5).
extension Feed {
    private static let schemaKey = "schema"

    /// The schema as a transaction sees it.
    func schema(in store: any StoreReader) throws(ChangeFeedError) -> Schema {
        try schemas.schema(of: try store.metaValue(Feed.schemaKey, of: .schema))
    }

    func setSchema(_ schema: Schema, in store: any StoreWriter) throws(ChangeFeedError) {
        try store.setMetaValue(schema.encoded, for: Feed.schemaKey, of: .schema)
    }
}

extension Container {
    /// The schema: in development what was learned so far, in production what was deployed.
    public func schema() async throws(ChangeFeedError) -> Schema {
        let feed = feed
        return try await store.read { (store) throws(ChangeFeedError) in try feed.schema(in: store) }
    }

    /// Adds the record types and keys of a schema, most often that of a container in development. Nothing is removed
    /// or changed: throws `invalidArguments` if a key is something else already.
    public func deploySchema(_ schema: Schema) async throws(ChangeFeedError) {
        let feed = feed
        try await store.write { (store) throws(ChangeFeedError) in
            let present = try feed.schema(in: store)
            let merged = try present.merging(schema)
            if merged != present { try feed.setSchema(merged, in: store) }
        }
    }
}
