import ChangeFeed
import Foundation
import XCTest

/// What is the file store's own: names, crashes, a file system that says no.
final class FileAssetStoreTests: XCTestCase {
    func testNamesAreMadeOfDigestsOnly() throws {
        let directory = try TemporaryDirectory()
        let store = try FileAssetStore(directory: directory.url)
        let key = try store.put("hello", of: .private("../../anna/\u{0}"))
        XCTAssertEqual(
            directory.files(below: "contents"),
            ["\(key.ownerName)/\(key.contentName.prefix(2))/\(key.contentName)"])
        XCTAssertEqual(directory.files().count, 1)
    }

    func testContentsOutliveTheStore() throws {
        let directory = try TemporaryDirectory()
        let key = try FileAssetStore(directory: directory.url).put("hello")
        let again = try FileAssetStore(directory: directory.url)
        XCTAssertEqual(try again.bytes(of: key), [UInt8]("hello".utf8))
        XCTAssertEqual(try again.keys(), [key])
    }

    func testWhatACrashLeftIsRemoved() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let manager = FileManager.default
            for leftover in ["uploads/session-abcdef", "uploads/session-locked", "staging/session-uvwxyz"] {
                let path = directory.url.appendingPathComponent(leftover)
                try manager.createDirectory(at: path, withIntermediateDirectories: true)
                try Data("half".utf8).write(to: path.appendingPathComponent("1"))
            }
            // A lock file of a process that is no more is free.
            _ = try directory.file("uploads/session-locked/lock", "")

            let store = try FileAssetStore(directory: directory.url)
            XCTAssertEqual(directory.files(below: "uploads"), [])
            // Copies for readers are looked after when the first is made.
            let story = try await AssetStory(store)
            let record = try await story.save("r1", photo: "hello")
            let file = try story.photo(of: record).loadFile()
            XCTAssertEqual(directory.files(below: "staging").count, 1)
            XCTAssertEqual(try Data(contentsOf: file), Data("hello".utf8))
        }
    }

    func testALivingUploadIsNobodysLeftover() throws {
        let directory = try TemporaryDirectory()
        let store = try FileAssetStore(directory: directory.url)
        let upload = try store.beginUpload()
        try upload.write([UInt8]("hel".utf8))
        let other = try FileAssetStore(directory: directory.url)
        try upload.write([UInt8]("lo".utf8))
        let key = AssetKey(AssetHash(digest: SHA256.hash("hello".utf8)), in: .private("anna"))
        try upload.finish(as: key)
        XCTAssertEqual(try other.bytes(of: key), [UInt8]("hello".utf8))
    }

    func testAStoreLeavesNoDirectoryOfItsOwnBehind() throws {
        let directory = try TemporaryDirectory()
        _ = try FileAssetStore(directory: directory.url).put("hello")
        let uploads = directory.url.appendingPathComponent("uploads").path
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: uploads), [])
    }

    func testStrangeFilesAreNoContents() throws {
        let directory = try TemporaryDirectory()
        let store = try FileAssetStore(directory: directory.url)
        let key = try store.put("hello")
        let folder = "contents/\(key.ownerName)/\(key.contentName.prefix(2))"
        _ = try directory.file("\(folder)/.DS_Store", "")
        _ = try directory.file("\(folder)/\(String(repeating: "0", count: 64))", "in the wrong folder")
        _ = try directory.file("contents/readme", "")
        XCTAssertEqual(try store.keys(), [key])
    }

    func testAFileSystemThatSaysNoIsATypedError() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("file", "no directory")
        expectAssetError(.internalError) { try FileAssetStore(directory: file) }
        expectAssetError(.internalError) {
            try FileAssetStore(directory: directory.url.appendingPathComponent("no/parent"))
        }

        let store = try FileAssetStore(directory: directory.url)
        try FileManager.default.removeItem(at: directory.url.appendingPathComponent("uploads"))
        expectAssetError(.internalError) { try store.put("hello") }
    }

    func testAFullDiskMayPass() {
        XCTAssertEqual(SystemError(ENOSPC).failure(of: "write").code, .serviceUnavailable)
        XCTAssertEqual(SystemError(EMFILE).failure(of: "write").code, .serviceUnavailable)
        XCTAssertEqual(SystemError(EACCES).failure(of: "write").code, .internalError)
        XCTAssertTrue(SystemError(ENOSPC).failure(of: "write").isRetryable)
    }
}
