import Foundation

@testable import ChangeFeedCommand

/// A console that keeps what is written, and says it is a terminal or none as the test wants it.
final class RecordedConsole: Console, @unchecked Sendable {
    // Sendable: every access to the texts holds the lock, and the rest never changes.
    private let lock = NSLock()
    private var outputText = ""
    private var errorText = ""
    private let width: Int?
    private let outputIsClosed: Bool

    init(columns: Int? = nil, outputIsClosed: Bool = false) {
        width = columns
        self.outputIsClosed = outputIsClosed
    }

    var output: String { lock.withLock { outputText } }
    var error: String { lock.withLock { errorText } }

    func write(_ text: String, to channel: OutputChannel) throws(OutputError) {
        if channel == .output, outputIsClosed { throw .closed }
        lock.withLock {
            switch channel {
            case .output: outputText += text
            case .error: errorText += text
            }
        }
    }

    func columns(of channel: OutputChannel) -> Int? { width }
}
