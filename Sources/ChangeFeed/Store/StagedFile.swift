#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A copy of a content that belongs to one reader. It goes with this object, unless the app has moved it away.
final class StagedFile: Sendable {
    let url: URL
    private let path: String
    /// Keeps the directory as long as there is a file in it.
    private let directory: SessionDirectory

    /// A place for a file; nothing is written yet.
    init(in directory: SessionDirectory) {
        self.directory = directory
        path = directory.newPath()
        url = URL(fileURLWithPath: path)
    }

    deinit {
        _ = try? FileSystem.remove(path)
    }

    /// Whether the file is still at its place.
    var isThere: Bool { FileSignature(path: path) != nil }

    /// Writes the bytes of a stream. What was written goes if they cannot all be had.
    func fill(from stream: any AssetStream) throws(ChangeFeedError) {
        var isComplete = false
        defer { if !isComplete { _ = try? FileSystem.remove(path) } }
        let file = try writing { () throws(SystemError) in try OpenFile(creating: path) }
        while let chunk = try stream.next() {
            try writing { () throws(SystemError) in try file.write(chunk) }
        }
        isComplete = true
    }

    private func writing<Result>(_ body: () throws(SystemError) -> Result) throws(ChangeFeedError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw AssetLibrary.notAvailable(because: "Its file could not be written: \(error.text).")
        }
    }
}
