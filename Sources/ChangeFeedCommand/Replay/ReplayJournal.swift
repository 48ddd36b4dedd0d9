import ChangeFeed
import SyncEngineCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The journals of a replay's devices, in one file: a JSON object a line, with the device's name and the entry.
///
/// The same history and seed give the same bytes.
final class ReplayJournal: Sendable {
    private struct Line: Encodable {
        let device: String
        let entry: SyncEngine.JournalEntry
    }

    private struct Content {
        var file: OpenFile
        var bytes: [UInt8] = []
        var failure: SystemError?
        let encoder: JSONEncoder

        mutating func flush() {
            defer { bytes.removeAll(keepingCapacity: true) }
            guard failure == nil else { return }
            do throws(SystemError) {
                try file.write(bytes)
            } catch {
                failure = error
            }
        }
    }

    private let path: String
    private let content: Locked<Content>

    /// A journal in a file, in place of what is there.
    init(at path: String) throws(ReplayFailure) {
        self.path = path
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .secondsSince1970
        do throws(SystemError) {
            _ = try FileSystem.remove(path)
            content = Locked(Content(file: try OpenFile(creating: path), encoder: encoder))
        } catch {
            throw ReplayJournal.failure(path, error)
        }
    }

    func write(_ entry: SyncEngine.JournalEntry, of device: String) {
        content.withLock { content in
            guard let line = try? content.encoder.encode(Line(device: device, entry: entry)) else { return }
            content.bytes += line
            content.bytes.append(UInt8(ascii: "\n"))
            if content.bytes.count > 1 << 16 { content.flush() }
        }
    }

    /// Writes what has not been written. Throws if anything could not be.
    func close() throws(ReplayFailure) {
        let failure = content.withLock { content in
            content.flush()
            return content.failure
        }
        if let failure { throw ReplayJournal.failure(path, failure) }
    }

    private static func failure(_ path: String, _ error: SystemError) -> ReplayFailure {
        ReplayFailure("the journal \(shown(path)) could not be written: \(error.text)")
    }
}
