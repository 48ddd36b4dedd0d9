/// The sizes of blobs, asked of one `git cat-file` that stays up as long as this value's process does.
///
/// A blob that moves or comes back is asked for once, as long as it is among the last `remembered` to twice as many.
final class BlobSizes {
    private static let command = "cat-file"

    private let process: ChildProcess
    private var answers: DelimitedReader
    private let remembered: Int
    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]

    init(_ git: Git, remembering remembered: Int = 65_536) throws(GitError) {
        process = try git.start(["cat-file", "--batch-check=%(objectsize)"], takesInput: true)
        answers = DelimitedReader(process, command: Self.command, delimiter: UInt8(ascii: "\n"))
        self.remembered = remembered
    }

    /// The size of each blob in `ids`, in their order.
    func sizes(of ids: [String]) throws(GitError) -> [Int] {
        var found: [String: Int] = [:]
        var missing: [String] = []
        for id in ids where found[id] == nil {
            if let size = recent[id] ?? older[id] {
                found[id] = size
            } else {
                // Claimed, so that a second file with the same content does not ask again.
                found[id] = 0
                missing.append(id)
            }
        }
        try askInRounds(missing) { id, size in found[id] = size }
        return ids.map { found[$0] ?? 0 }
    }

    /// Ends `git`, and throws if it did not end well.
    func finish() throws(GitError) {
        try Git.finish(process, command: Self.command)
    }

    /// Asks for `ids`, so many at a time as the pipe takes without git reading them. Writing never waits then, so that
    /// git and this process cannot wait for each other; each round is answered before the next is asked.
    private func askInRounds(_ ids: [String], answer: (String, Int) -> Void) throws(GitError) {
        var round: [String] = []
        var question: [UInt8] = []
        for id in ids {
            if question.count + id.utf8.count + 1 > ChildProcess.unreadInputLimit {
                try ask(round, question, answer: answer)
                round.removeAll(keepingCapacity: true)
                question.removeAll(keepingCapacity: true)
            }
            round.append(id)
            question.append(contentsOf: id.utf8)
            question.append(UInt8(ascii: "\n"))
        }
        if !round.isEmpty { try ask(round, question, answer: answer) }
    }

    private func ask(_ ids: [String], _ question: [UInt8], answer: (String, Int) -> Void) throws(GitError) {
        do {
            try process.write(question)
        } catch {
            // Where git is gone, how it ended says more than that its pipe is closed.
            try finish()
            throw .system(reason: error.message)
        }
        var line: [UInt8] = []
        for id in ids {
            guard try answers.next(into: &line) else {
                throw .unexpectedOutput(command: Self.command, detail: "it ends before the size of \(id)")
            }
            guard let size = Int(String(decoding: line, as: UTF8.self)) else {
                throw .unexpectedOutput(command: Self.command, detail: "there is no object \(id)")
            }
            remember(size, of: id)
            answer(id, size)
        }
    }

    private func remember(_ size: Int, of id: String) {
        if recent.count >= remembered {
            older = recent
            recent = [:]
        }
        recent[id] = size
    }
}
