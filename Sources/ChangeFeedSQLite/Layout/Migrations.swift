import ChangeFeed

/// The versions of the file's layout, and how a file gets from each to the next.
///
/// A file says in `PRAGMA user_version` which version it has, and in `PRAGMA application_id` that it is a store at all.
/// Each step runs in a transaction of its own. What a released version made is never changed here: a new layout is a
/// new step at the end, with a file of the version before it among the tests' fixtures.
enum Migrations {
    /// "CFSQ" in ASCII.
    static let applicationID: Int64 = 0x4346_5351

    /// The SQL that leads from version n to n + 1, in order; the first makes an empty file a store.
    static let steps = [Layout.version1]

    static var latestVersion: Int { steps.count }

    /// What a file turned out to be.
    private enum Kind {
        case empty
        case store(version: Int)
    }

    /// Brings a file that nobody else may write to to the latest version. Throws without having changed anything if it is not a store, or one of a
    /// later version; `internalError` with the detail `damaged` if it cannot be read.
    static func run(on connection: SQLiteConnection, describing path: String) throws(ChangeFeedError) {
        var version =
            switch try kind(of: connection, path: path) {
            case .empty: 0
            case .store(let version): version
            }
        // Only where nothing is yet: a file with content it would change at once.
        if version == 0 { try connection.execute("PRAGMA auto_vacuum = INCREMENTAL") }
        while version < latestVersion {
            try connection.execute("BEGIN IMMEDIATE")
            do throws(ChangeFeedError) {
                try connection.execute(steps[version])
                version += 1
                try connection.execute(
                    "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version); COMMIT")
            } catch {
                try? connection.execute("ROLLBACK")
                throw error
            }
        }
    }

    /// Checks that a file that is to be read only has the latest version.
    static func check(_ connection: SQLiteConnection, describing path: String) throws(ChangeFeedError) {
        guard case .store(let version) = try kind(of: connection, path: path) else {
            throw ChangeFeedError(.invalidArguments, "The file \"\(path)\" is empty: there is nothing to read.")
        }
        guard version == latestVersion else {
            throw ChangeFeedError(
                .incompatibleVersion,
                "The store \"\(path)\" has version \(version) of its layout. Open it once for writing to bring it to "
                    + "version \(latestVersion).")
        }
    }

    private static func kind(of connection: SQLiteConnection, path: String) throws(ChangeFeedError) -> Kind {
        let application = try connection.number("PRAGMA application_id") ?? 0
        let version = Int(try connection.number("PRAGMA user_version") ?? 0)
        if application == 0, version == 0, try connection.number("SELECT count(*) FROM sqlite_schema") == 0 {
            return .empty
        }
        guard application == applicationID, version > 0 else {
            throw ChangeFeedError(
                .invalidArguments,
                "The file \"\(path)\" is a database of something else, not a store of this library. Nothing was changed.",
                detail: .foreign)
        }
        guard version <= latestVersion else {
            throw ChangeFeedError(
                .incompatibleVersion,
                "The store \"\(path)\" was made by a later version of this library: its layout has version \(version), "
                    + "and this one knows up to \(latestVersion). Nothing was changed. Update the library.")
        }
        return .store(version: version)
    }
}
