import XCTest

@testable import ChangeFeedCommand

/// Sizes of blobs, asked of one long-lived `git cat-file`.
final class BlobSizesTests: XCTestCase {
    func testSizesComeInTheOrderAskedWithRepeatsAndForgottenOnes() throws {
        let sandbox = try GitSandbox()
        let count = 700
        var script = ImportScript()
        script.commit((0..<count).map { .put("f\($0)", String(repeating: "x", count: $0)) })
        try sandbox.makeRepository(history: script)
        let history = try GitHistory(sandbox.git("repository"))
        let tree = try history.tree(at: history.lastCommitID)
        let files = Array(tree.values)
        let ids = files.map(\.blobID)

        // So small a memory that most sizes are forgotten between two questions, and asked again.
        let sizes = try BlobSizes(sandbox.git("repository"), remembering: 10)
        XCTAssertEqual(try sizes.sizes(of: ids + ids), files.map(\.size) + files.map(\.size))
        XCTAssertEqual(try sizes.sizes(of: ids.reversed()), files.map(\.size).reversed())
        XCTAssertEqual(try sizes.sizes(of: []), [])
        XCTAssertEqual(try sizes.sizes(of: [ids[3]]), [files[3].size])
        try sizes.finish()
    }

    func testASizeThatIsRememberedIsNotAskedAgain() throws {
        let sandbox = try GitSandbox()
        // Answers each question with how many there have been.
        let counter = try sandbox.makeProgram("counter", #"n=0; while read -r id; do n=$((n+1)); echo $n; done"#)
        let sizes = try BlobSizes(sandbox.git(".", program: counter), remembering: 2)

        XCTAssertEqual(try sizes.sizes(of: ["a", "b", "a"]), [1, 2, 1])
        XCTAssertEqual(try sizes.sizes(of: ["a", "c"]), [1, 3])
        XCTAssertEqual(try sizes.sizes(of: ["b", "d", "e"]), [2, 4, 5])
        XCTAssertEqual(try sizes.sizes(of: ["a", "e"]), [6, 5], "a is no longer among the last")
        try sizes.finish()
    }
}
