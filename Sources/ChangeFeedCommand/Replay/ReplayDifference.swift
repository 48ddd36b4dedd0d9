/// A path at which a device does not hold what the tree of the last commit has.
struct ReplayDifference: Equatable, Sendable {
    /// The device's name.
    var device: String
    var path: [UInt8]
    /// What the tree has; nil for nothing.
    var expected: GitFile?
    /// What the device holds; nil for nothing.
    var found: GitFile?

    /// Every difference between a tree and what a device holds, by the bytes of their paths.
    static func all(
        between tree: [[UInt8]: GitFile], and files: [[UInt8]: GitFile], of device: String
    ) -> [ReplayDifference] {
        if tree == files { return [] }
        return Set(tree.keys).union(files.keys)
            .filter { tree[$0] != files[$0] }
            .sorted { $0.lexicographicallyPrecedes($1) }
            .map { ReplayDifference(device: device, path: $0, expected: tree[$0], found: files[$0]) }
    }

    /// The difference in one line.
    var sentence: String {
        "\(device): \"\(PathText.printable(path))\": expected \(Self.text(expected) ?? "nothing"), "
            + "found \(Self.text(found) ?? "nothing")"
    }

    /// A file as `git ls-tree -l` orders its parts.
    private static func text(_ file: GitFile?) -> String? {
        file.map { "\($0.mode) \($0.blobID) \($0.size)" }
    }
}

extension ReplayDifference: Encodable {
    private enum CodingKeys: CodingKey {
        case device, path, expected, found
    }

    /// All four keys are always there; nothing is null.
    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: CodingKeys.self)
        try object.encode(device, forKey: .device)
        try object.encode(PathText.printable(path), forKey: .path)
        try object.encode(Self.text(expected), forKey: .expected)
        try object.encode(Self.text(found), forKey: .found)
    }
}
