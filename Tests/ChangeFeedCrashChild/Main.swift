import ChangeFeed
import ChangeFeedSQLite
import Foundation

/// What tests need another process for.
///
/// - `ChangeFeedCrashChild FILE ROUND WRITERS` writes to a store until somebody kills it.
/// - `ChangeFeedCrashChild read FILE TIMES` reads a store that somebody else may write to.
/// - `ChangeFeedCrashChild use FILE` reads a store and writes to it, once.
@main
struct Main {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 3, arguments[0] == "read", let times = Int(arguments[2]) {
            try await Visitor(file: arguments[1]).read(times: times)
        } else if arguments.count == 2, arguments[0] == "use" {
            try await Visitor(file: arguments[1]).use()
        } else if arguments.count == 3, let round = Int(arguments[1]), let writers = Int(arguments[2]) {
            try await Batches(file: arguments[0], round: round).write(writers: writers)
        } else {
            exit(2)
        }
    }
}

/// One line in one write, so that the lines of several writers do not mix.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// Opens a store, or says why it is refused and ends the process.
func openOrEnd(_ file: String, _ access: SQLiteStore.Configuration.Access = .readWrite) async -> SQLiteStore {
    do {
        return try await SQLiteStore.open(
            at: URL(fileURLWithPath: file), configuration: SQLiteStore.Configuration(access: access))
    } catch {
        say("refused: \(error.message)")
        exit(1)
    }
}
