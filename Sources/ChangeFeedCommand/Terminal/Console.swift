#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a command's words go: what was asked for to the output, everything else to the error stream.
enum OutputChannel: Sendable {
    case output
    case error
}

/// What a command speaks to: the process's standard streams, or a test's recording of them.
protocol Console: Sendable {
    /// Writes `text` as it is.
    ///
    /// - Throws: `OutputError` where the output cannot be written. The error stream never throws: a command's result
    ///   does not depend on whether somebody watches it.
    func write(_ text: String, to channel: OutputChannel) throws(OutputError)

    /// The width of the terminal behind `channel` in characters; nil where there is none that can redraw a line.
    func columns(of channel: OutputChannel) -> Int?
}

/// The output could not be written.
enum OutputError: Error, Equatable {
    /// Nobody reads it any more, as after `| head`.
    case closed
    case failed(reason: String)
}

/// The standard output and the standard error of this process.
struct StandardConsole: Console {
    func write(_ text: String, to channel: OutputChannel) throws(OutputError) {
        do {
            try writeAll(Array(text.utf8), to: descriptor(of: channel))
        } catch {
            guard channel == .output else { return }
            throw error.isClosedPipe ? .closed : .failed(reason: error.message)
        }
    }

    func columns(of channel: OutputChannel) -> Int? {
        guard isatty(descriptor(of: channel)) == 1, ProcessInfo.processInfo.environment["TERM"] != "dumb" else {
            return nil
        }
        var size = winsize()
        guard ioctl(descriptor(of: channel), numericCast(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private func descriptor(of channel: OutputChannel) -> Int32 {
        switch channel {
        case .output: STDOUT_FILENO
        case .error: STDERR_FILENO
        }
    }
}
