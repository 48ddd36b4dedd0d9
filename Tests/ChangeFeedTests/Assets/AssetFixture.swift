import ChangeFeed
import Foundation
import XCTest

/// A directory of a test's own, gone with it.
final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("assets-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// Writes a file and says where it is.
    func file(_ name: String, _ content: String) throws -> URL {
        try file(name, Data(content.utf8))
    }

    func file(_ name: String, _ content: Data) throws -> URL {
        let file = url.appendingPathComponent(name)
        try content.write(to: file)
        return file
    }

    /// The paths of all files below a directory, relative to this one, sorted; locks aside.
    func files(below folder: String = ".") -> [String] {
        let root = url.appendingPathComponent(folder).standardized.path
        return (FileManager.default.enumerator(atPath: root)?.allObjects as? [String] ?? [])
            .filter { path in
                var isDirectory: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isDirectory)
                return !isDirectory.boolValue && !path.hasSuffix("/lock")
            }
            .sorted()
    }
}

extension AssetStore {
    /// All keys, in the order in which the store gives them.
    func keys(after key: AssetKey? = nil) throws -> [AssetKey] {
        var keys: [AssetKey] = []
        try scan(after: key) { key in
            keys.append(key)
            return .next
        }
        return keys
    }

    /// A content as it is stored, unchecked.
    func bytes(of key: AssetKey) throws -> [UInt8]? {
        guard let stream = try open(key) else { return nil }
        var bytes: [UInt8] = []
        while let piece = try stream.next() { bytes += piece }
        return bytes
    }

    /// Stores bytes under the key that they have for a user.
    @discardableResult
    func put(_ text: String, of databaseID: DatabaseID = .private("anna")) throws -> AssetKey {
        try put(Data(text.utf8), of: databaseID)
    }

    @discardableResult
    func put(_ data: Data, of databaseID: DatabaseID = .private("anna")) throws -> AssetKey {
        let key = AssetKey(AssetHash(digest: SHA256.hash(data)), in: databaseID)
        let upload = try beginUpload()
        try upload.write([UInt8](data))
        try upload.finish(as: key)
        return key
    }
}

extension XCTestCase {
    /// Tells a story once over every kind of asset store there is.
    func forEachAssetStore(_ story: (any AssetStore) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        let kinds: [(name: String, store: any AssetStore)] = [
            ("InMemoryAssetStore", InMemoryAssetStore()),
            ("FileAssetStore", try FileAssetStore(directory: directory.url.appendingPathComponent("store"))),
        ]
        for kind in kinds {
            do {
                try await story(kind.store)
            } catch {
                XCTFail("over \(kind.name): \(error)")
                throw error
            }
            XCTAssertTrue(kind.store.pins.isEmpty, "\(kind.name): something is still pinned")
            XCTAssertEqual(directory.files(below: "store/uploads"), [], "\(kind.name): an upload is left")
            XCTAssertEqual(directory.files(below: "store/staging"), [], "\(kind.name): a copy is left")
        }
    }

    /// Expects an error with exactly these parts.
    @discardableResult
    func expectAssetError<Success>(
        _ code: ChangeFeedError.Code, detail: ChangeFeedError.Detail? = nil, file: StaticString = #filePath,
        line: UInt = #line, from body: () throws -> Success
    ) -> ChangeFeedError? {
        do {
            let success = try body()
            XCTFail("no error but \(success)", file: file, line: line)
        } catch let error as ChangeFeedError {
            XCTAssertEqual(error.code, code, "\(error)", file: file, line: line)
            XCTAssertEqual(error.detail, detail, "\(error)", file: file, line: line)
            XCTAssertFalse(error.message.isEmpty, file: file, line: line)
            return error
        } catch {
            XCTFail("an untyped error, \(error)", file: file, line: line)
        }
        return nil
    }
}
