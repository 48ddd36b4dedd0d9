import Foundation
import XCTest

/// Another process, of the program `ChangeFeedCrashChild`, and what it says.
final class Child {
    private let process = Process()
    private let pipe = Pipe()
    private var rest = Data()

    init(_ arguments: String...) throws {
        process.executableURL = try XCTUnwrap(Child.executable, "the other process's program was not built")
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        // The child has the only end that writes, so that what it said ends when it does.
        try pipe.fileHandleForWriting.close()
    }

    /// Beside the tests: on Linux the bundle is the folder that it is in, elsewhere a folder of its own.
    private static var executable: URL? {
        let bundle = Bundle(for: Child.self).bundleURL
        return [bundle, bundle.deletingLastPathComponent()].map { $0.appendingPathComponent("ChangeFeedCrashChild") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The next whole line; nil when there is no more.
    func nextLine() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                return line
            }
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            rest += more
        }
    }

    /// All lines that are left, and whether the process ended by itself and not by a signal.
    func finish() -> (lines: [String], endedByItself: Bool) {
        var lines: [String] = []
        while let line = nextLine() { lines.append(line) }
        process.waitUntilExit()
        return (lines, process.terminationReason == .exit)
    }

    func kill() {
        _ = Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
