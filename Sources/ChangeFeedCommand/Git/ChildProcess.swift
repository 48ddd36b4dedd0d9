#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// One run of another program, spoken to through pipes: its output is read here, its input written here if asked for,
/// and the first few kilobytes of its error output are kept for a message.
///
/// Only the pipes meant for it reach the program: every descriptor made here closes itself in any other child. The
/// program starts with default signal handling, whatever this process has changed. Used from one thread at a time.
final class ChildProcess {
    /// How a program ended.
    enum Ending: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    /// A program that could not be started, or a pipe that failed: the system's error number.
    struct Failure: Error, Equatable {
        let number: Int32

        var isMissingProgram: Bool { number == ENOENT }
        var isClosedPipe: Bool { number == EPIPE }
        var message: String { String(cString: strerror(number)) }
    }

    /// The most bytes that a single `write` hands over without waiting for the program to read: what the smallest pipe
    /// of the supported systems holds.
    static let unreadInputLimit = 4_096

    private static let errorTextLimit = 4_096

    private var process: pid_t
    private var input: Descriptor?
    private var output: Descriptor?
    private var errors: Descriptor?
    private var errorBytes: [UInt8] = []
    private var ending: Ending?

    /// Starts `program`, looked up along `PATH`, with exactly this environment. Without `takesInput` it reads the end
    /// of file at once.
    init(
        _ program: String,
        arguments: [String],
        environment: [String: String],
        takesInput: Bool = false
    ) throws(Failure) {
        BrokenPipes.arriveAsErrors()
        let outputPipe = try PipeEnds()
        let errorPipe = try PipeEnds()
        let inputPipe = takesInput ? try PipeEnds() : nil
        let standardInput: Descriptor
        if let inputPipe {
            standardInput = inputPipe.readingEnd
        } else {
            standardInput = try Descriptor(opening: "/dev/null")
        }
        process = try spawn(
            [program] + arguments,
            environment: environment,
            standardDescriptors: [standardInput, outputPipe.writingEnd, errorPipe.writingEnd].map(\.number)
        )
        input = inputPipe?.writingEnd
        output = outputPipe.readingEnd
        errors = errorPipe.readingEnd
    }

    deinit {
        guard ending == nil else { return }
        // Nobody waits for its result: it must neither linger nor stay a zombie.
        kill(process, SIGTERM)
        input = nil
        output = nil
        errors = nil
        _ = wait(for: process)
    }

    /// What the program wrote to its error output so far, at most 4 096 bytes of it.
    var errorText: String { String(decoding: errorBytes, as: UTF8.self) }

    /// Reads what the program has written into the front of `bytes`, waiting for the first byte, and says how many
    /// arrived: 0 at the end of its output.
    func read(into bytes: inout [UInt8]) throws(Failure) -> Int {
        while let output {
            guard try awaitBytes(on: output) else { continue }
            return try output.read(into: &bytes)
        }
        return 0
    }

    /// Hands `bytes` to the program. Up to `unreadInputLimit` bytes never wait for it, provided that it has read all
    /// that went before.
    func write(_ bytes: [UInt8]) throws(Failure) {
        guard let input else { throw Failure(number: EPIPE) }
        try input.write(bytes)
    }

    /// Ends the program's input: it reads the end of file.
    func endInput() {
        input = nil
    }

    /// Ends the program's input, reads its outputs to their end and waits until it is gone.
    func finish() throws(Failure) -> Ending {
        if let ending { return ending }
        endInput()
        var rest = [UInt8](repeating: 0, count: 4_096)
        while try read(into: &rest) > 0 {}
        output = nil
        while errors != nil { try keepErrors() }
        let ending = wait(for: process)
        self.ending = ending
        return ending
    }

    /// Waits until `descriptor` can be read; false where only error output has arrived, which is then kept. Both are
    /// watched, for a program blocked on a full error pipe would write no output either.
    private func awaitBytes(on descriptor: Descriptor) throws(Failure) -> Bool {
        let wanted = Int16(POLLIN)
        var waits = [pollfd(fd: descriptor.number, events: wanted, revents: 0)]
        if let errors { waits.append(pollfd(fd: errors.number, events: wanted, revents: 0)) }
        while poll(&waits, nfds_t(waits.count), -1) < 0 {
            if errno != EINTR { throw Failure(number: errno) }
        }
        if waits.count == 2, waits[1].revents != 0 { try keepErrors() }
        return waits[0].revents != 0
    }

    private func keepErrors() throws(Failure) {
        guard let errors else { return }
        var bytes = [UInt8](repeating: 0, count: 1_024)
        let count = try errors.read(into: &bytes)
        if count == 0 { self.errors = nil }
        errorBytes.append(contentsOf: bytes.prefix(count).prefix(Self.errorTextLimit - errorBytes.count))
    }
}

/// Makes writing to a pipe that nobody reads an error of that write, instead of the end of this process.
enum BrokenPipes {
    private static let changed: Void = {
        signal(SIGPIPE, SIG_IGN)
    }()

    static func arriveAsErrors() { changed }
}
