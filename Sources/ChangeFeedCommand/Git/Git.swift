#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How `git` is run over one repository: the same way wherever the command was started from and whatever its user has
/// configured.
struct Git: Sendable {
    /// A path in the repository: its top level, a subfolder, a bare repository, a linked worktree.
    let path: String
    /// The name or path of the program.
    let program: String
    let environment: [String: String]

    init(path: String, program: String = "git", inheriting: [String: String] = ProcessInfo.processInfo.environment) {
        self.path = path
        self.program = program
        environment = Self.environment(from: inheriting)
    }

    /// Starts `git` with `arguments`; its output is read as it comes.
    func start(_ arguments: [String], takesInput: Bool = false) throws(GitError) -> ChildProcess {
        do {
            return try ChildProcess(
                program,
                arguments: ["--no-pager", "-C", path] + arguments,
                environment: environment,
                takesInput: takesInput
            )
        } catch {
            throw error.isMissingProgram ? .gitMissing : .system(reason: error.message)
        }
    }

    /// A short answer of `git`, whole.
    struct Answer {
        let output: [UInt8]
        let ending: ChildProcess.Ending
        let errorText: String

        /// The output as text without the line's end.
        var line: String {
            String(decoding: output.last == UInt8(ascii: "\n") ? output.dropLast() : output[...], as: UTF8.self)
        }
    }

    /// Runs `git` to its end and gives back what it wrote, whether it succeeded or not.
    func run(_ arguments: [String]) throws(GitError) -> Answer {
        let process = try start(arguments)
        do {
            var output: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4_096)
            var count = try process.read(into: &chunk)
            while count > 0 {
                output.append(contentsOf: chunk.prefix(count))
                count = try process.read(into: &chunk)
            }
            let ending = try process.finish()
            return Answer(output: output, ending: ending, errorText: process.errorText)
        } catch {
            throw .system(reason: error.message)
        }
    }

    /// Ends `process`, which has been read to its end, and throws unless it succeeded.
    static func finish(_ process: ChildProcess, command: String) throws(GitError) {
        let ending: ChildProcess.Ending
        do {
            ending = try process.finish()
        } catch {
            throw .system(reason: error.message)
        }
        guard ending == .exited(0) else {
            throw .failed(command: command, reason: reason(of: ending, errorText: process.errorText))
        }
    }

    /// Why a run failed: the error that `git` named, else how it ended.
    static func reason(of ending: ChildProcess.Ending, errorText: String) -> String {
        let lines = errorText.split(whereSeparator: \.isNewline)
        if let fatal = lines.first(where: { $0.hasPrefix("fatal: ") || $0.hasPrefix("error: ") }) {
            return PathText.printable(Array(fatal.dropFirst("fatal: ".count).utf8))
        }
        switch ending {
        case .exited(let status): return "it ended with status \(status)"
        case .killed(let signal): return "it was ended by signal \(signal)"
        }
    }

    /// The environment for `git`: what was inherited, without the variables that would point it at another repository
    /// (a hook sets them) or change what it shows, and with messages in the language that is looked at here.
    private static func environment(from inherited: [String: String]) -> [String: String] {
        var result = inherited.filter { name, _ in
            !name.hasPrefix("GIT_") || keptVariables.contains { name.hasPrefix($0) }
        }
        result["LC_ALL"] = "C"
        result["GIT_OPTIONAL_LOCKS"] = "0"
        result["GIT_TERMINAL_PROMPT"] = "0"
        // The history as it was committed: no replaced objects, no grafts, nothing fetched on demand.
        result["GIT_NO_REPLACE_OBJECTS"] = "1"
        // (The name of no file: git warns of any graft file there is.)
        result["GIT_GRAFT_FILE"] = "/dev/null/none"
        result["GIT_NO_LAZY_FETCH"] = "1"
        return result
    }

    /// Where git is installed and which configuration its user has, and in which folders it may look for a repository.
    private static let keptVariables = [
        "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    ]
}
