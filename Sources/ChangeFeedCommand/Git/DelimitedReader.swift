/// Reads a program's output piece by piece, each piece ended by one delimiter, holding no more of it in memory than a
/// chunk and the piece that is being read.
struct DelimitedReader {
    private let process: ChildProcess
    private let command: String
    private let delimiter: UInt8
    private var chunk = [UInt8](repeating: 0, count: 65_536)
    private var start = 0
    private var end = 0

    /// Reads the output of `process`, called `command` in errors.
    init(_ process: ChildProcess, command: String, delimiter: UInt8) {
        self.process = process
        self.command = command
        self.delimiter = delimiter
    }

    /// Puts the next piece without its delimiter into `piece`; false at the end of the output.
    ///
    /// - Throws: `GitError.failed` where the output ends and the program has failed, `.unexpectedOutput` where it has
    ///   not failed but ended within a piece.
    mutating func next(into piece: inout [UInt8]) throws(GitError) -> Bool {
        piece.removeAll(keepingCapacity: true)
        while true {
            if let found = chunk[start..<end].firstIndex(of: delimiter) {
                piece.append(contentsOf: chunk[start..<found])
                start = found + 1
                return true
            }
            piece.append(contentsOf: chunk[start..<end])
            start = 0
            do {
                end = try process.read(into: &chunk)
            } catch {
                throw .system(reason: error.message)
            }
            if end == 0 {
                try Git.finish(process, command: command)
                if piece.isEmpty { return false }
                throw .unexpectedOutput(command: command, detail: "it ends in the middle of an entry")
            }
        }
    }
}
