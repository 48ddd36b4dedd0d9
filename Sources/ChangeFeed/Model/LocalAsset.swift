#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An asset that an app made, and what has been learnt of its content.
///
/// The identity is learnt once, at the first need, and stays: equality and hash of a value may not change.
final class LocalAsset: Sendable {
    enum Origin: Sendable {
        case file(URL)
        case bytes(Data)
    }

    private enum Identity: Sendable {
        case unread
        case known(AssetContent, FileSignature?)
        case unreadable
    }

    let origin: Origin
    private let identity = Locked(Identity.unread)

    init(_ origin: Origin) {
        self.origin = origin
    }

    /// The identity; reads the content if that has not been done. Nil if it cannot be read.
    var content: AssetContent? {
        identity.withLock { identity in
            if case .unread = identity { identity = read() }
            guard case .known(let content, _) = identity else { return nil }
            return content
        }
    }

    /// The identity as far as it is known without reading.
    enum Known {
        case nothing
        case unreadable
        case content(AssetContent)
    }

    /// What is known without reading a file.
    var known: Known {
        if case .bytes = origin { return content.map(Known.content) ?? .unreadable }
        return identity.withLock { identity in
            switch identity {
            case .unread: .nothing
            case .known(let content, _): .content(content)
            case .unreadable: .unreadable
            }
        }
    }

    /// Whether the bytes are, as far as the file's size and dates tell, still those that were read.
    var isUnchanged: Bool {
        guard case .file(let url) = origin else { return true }
        guard case .known(_, let signature?) = identity.withLock({ $0 }) else { return false }
        return FileSignature(path: url.path) == signature
    }

    /// Bytes of the content; of a file that has not been read, those it has now.
    var size: Int? {
        switch origin {
        case .bytes(let data): return data.count
        case .file(let url):
            switch known {
            case .content(let content): return content.size
            case .nothing, .unreadable: return FileSignature(path: url.path)?.size
            }
        }
    }

    /// Keeps what was found while the content was saved, if nothing was known; gives what is known now.
    func learn(_ content: AssetContent, _ signature: FileSignature?) -> AssetContent? {
        identity.withLock { identity in
            switch identity {
            case .unread:
                identity = .known(content, signature)
                return content
            case .known(let known, _):
                // The same content after a touch: the next save need not read it again.
                if known == content { identity = .known(content, signature) }
                return known
            case .unreadable:
                return nil
            }
        }
    }

    /// The bytes, piece by piece.
    func stream() throws(ChangeFeedError) -> any AssetStream {
        switch origin {
        case .file(let url): try AssetFileStream(url)
        case .bytes(let data): AssetDataStream(data)
        }
    }

    private func read() -> Identity {
        do throws(ChangeFeedError) {
            let stream = try stream()
            var hasher = SHA256()
            var size = 0
            while let chunk = try stream.next() {
                hasher.update(chunk)
                size += chunk.count
            }
            let signature = (stream as? AssetFileStream)?.signature
            return .known(AssetContent(size: size, hash: AssetHash(hasher)), signature)
        } catch {
            return .unreadable
        }
    }
}

/// The bytes of a local file, held to stay as they are while they are read (rule AS6).
final class AssetFileStream: AssetStream {
    private let url: URL
    private let file: OpenFile
    /// The file as it was when it was opened.
    let signature: FileSignature
    private var offset = 0

    init(_ url: URL) throws(ChangeFeedError) {
        self.url = url
        guard url.isFileURL else { throw AssetFileStream.notFound(url, "is no file on this machine") }
        do throws(SystemError) {
            file = try OpenFile(reading: url.path)
            signature = try file.signature()
        } catch {
            throw AssetFileStream.notFound(url, "cannot be opened (\(error.text))")
        }
        guard signature.isRegular else { throw AssetFileStream.notFound(url, "is no regular file") }
    }

    func next() throws(ChangeFeedError) -> [UInt8]? {
        let chunk: [UInt8]
        let now: FileSignature
        do throws(SystemError) {
            chunk = try file.read(upTo: assetChunkBytes)
            now = try file.signature()
        } catch {
            throw AssetFileStream.notFound(url, "cannot be read (\(error.text))")
        }
        offset += chunk.count
        if !chunk.isEmpty, offset <= signature.size, now == signature { return chunk }
        // At the end the file has to be in its place, too: another may have been put there.
        guard chunk.isEmpty, offset == signature.size, now == signature, FileSignature(path: url.path) == signature
        else { throw AssetFileStream.modified(url) }
        return nil
    }

    private static func notFound(_ url: URL, _ reason: String) -> ChangeFeedError {
        ChangeFeedError(
            .assetFileNotFound, "The asset's file \"\(url.path)\" \(reason): set the field again from a file.",
            rule: "AS6")
    }

    static func modified(_ url: URL) -> ChangeFeedError {
        ChangeFeedError(
            .assetFileModified,
            "The asset's file \"\(url.path)\" changed while it was saved: make a new asset from it and save again.",
            rule: "AS6")
    }
}

/// Bytes in memory, piece by piece.
final class AssetDataStream: AssetStream {
    private var rest: Data

    init(_ data: Data) {
        rest = data
    }

    func next() -> [UInt8]? {
        if rest.isEmpty { return nil }
        let chunk = rest.prefix(assetChunkBytes)
        rest = rest.dropFirst(chunk.count)
        return [UInt8](chunk)
    }
}
