import Foundation
import XCTest

@testable import ChangeFeedCommand

/// A temporary folder with git repositories made for one test, apart from the configuration of whoever runs it.
final class GitSandbox {
    /// The folder that everything here lies in.
    let folder: String
    /// What `git` is run with here: no system configuration, a home of its own, fixed names and dates.
    var environment: [String: String]

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("changefeed-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        folder = url.resolvingSymlinksInPath().path
        environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "HOME": folder,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": folder,
            "GIT_AUTHOR_NAME": "Author",
            "GIT_AUTHOR_EMAIL": "author@example.org",
            "GIT_AUTHOR_DATE": "1000000000 +0000",
            "GIT_COMMITTER_NAME": "Committer",
            "GIT_COMMITTER_EMAIL": "committer@example.org",
            "GIT_COMMITTER_DATE": "1000000000 +0000",
        ]
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// How the command reads the repository at `path`, a path relative to the folder.
    func git(_ path: String, program: String = "git") -> Git {
        Git(path: folder + "/" + path, program: program, inheriting: environment)
    }

    /// Runs `git` in the folder and gives back its output; a failure fails the test.
    @discardableResult
    func run(
        _ arguments: [String],
        input: [UInt8]? = nil,
        file: StaticString = #filePath,
        line: UInt = #line
    ) throws -> String {
        let process = try ChildProcess(
            "git",
            arguments: ["-C", folder, "-c", "protocol.file.allow=always"] + arguments,
            environment: environment,
            takesInput: input != nil
        )
        if let input { try process.write(input) }
        process.endInput()
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while case let count = try process.read(into: &chunk), count > 0 {
            output.append(contentsOf: chunk.prefix(count))
        }
        XCTAssertEqual(try process.finish(), .exited(0), process.errorText, file: file, line: line)
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// Makes a bare repository at `path` with the history that `script` tells, its `HEAD` on branch "main".
    func makeRepository(_ path: String = "repository", history script: ImportScript) throws {
        try run(["init", "--quiet", "--bare", "--initial-branch=main", path])
        try run(["-C", path, "fast-import", "--quiet"], input: script.bytes)
    }

    /// Writes an executable shell script and gives back its path.
    func makeProgram(_ name: String, _ script: String) throws -> String {
        let path = folder + "/" + name
        try ("#!/bin/sh\n" + script + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }
}
