/// What a tree holds at one path.
struct GitFile: Hashable, Sendable {
    /// Git's mode in octal digits: "100644", "100755", "120000" (a symbolic link) or "160000" (a submodule).
    var mode: String
    /// The id of its content, in hexadecimal digits; of a submodule, the commit's.
    var blobID: String
    /// Bytes of its content; 0 for a submodule, whose content is not in this repository.
    var size: Int

    static let submoduleMode = "160000"
}

/// One path's change against the first parent. A path is any bytes but NUL, its components separated by "/".
enum GitChange: Equatable, Sendable {
    case put(path: [UInt8], GitFile)
    case remove(path: [UInt8])

    var path: [UInt8] {
        switch self {
        case .put(let path, _), .remove(let path): path
        }
    }
}

/// A commit and what it changed against its first parent, in git's order; a root commit adds all its files. A file
/// that makes room for a folder, or the other way round, is a removal among the changes.
struct GitCommit: Equatable, Sendable {
    var id: String
    var changes: [GitChange]
}
