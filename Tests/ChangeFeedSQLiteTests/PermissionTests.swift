import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// Files and folders that may only be read.
final class PermissionTests: XCTestCase {
    func testAFileThatMayOnlyBeReadIsRefusedForWritingAndRead() async throws {
        let (folder, before) = try await readOnly(file: 0o444, folder: 0o755)
        await expectError(.permissionFailure) {
            try await SQLiteStore.open(at: folder.file(), configuration: .small())
        }
        XCTAssertEqual(try Data(contentsOf: folder.file()), before)
        var configuration = SQLiteStore.Configuration.small()
        configuration.access = .readOnly
        let store = try await SQLiteStore.open(at: folder.file(), configuration: configuration)
        let texts = try await Notes(over: store).texts()
        XCTAssertEqual(texts, ["a": "one"])
        await store.close()
        XCTAssertEqual(try Data(contentsOf: folder.file()), before)
    }

    func testAFolderThatMayOnlyBeReadIsRefusedForWriting() async throws {
        let (folder, before) = try await readOnly(file: 0o644, folder: 0o555)
        await expectError(.permissionFailure, "a store that is there") {
            try await SQLiteStore.open(at: folder.file(), configuration: .small())
        }
        await expectError(.permissionFailure, "a new store") {
            try await SQLiteStore.open(at: folder.file("new.db"), configuration: .small())
        }
        XCTAssertEqual(try Data(contentsOf: folder.file()), before)
        // So that it can be removed.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
    }

    /// A closed store with one note, and its bytes.
    private func readOnly(file: Int, folder mode: Int) async throws -> (StoreFolder, Data) {
        if geteuid() == 0 { throw XCTSkip("For the superuser there are no permissions.") }
        let folder = try StoreFolder()
        let store = try await SQLiteStore.open(at: folder.file(), configuration: .small())
        let notes = Notes(over: store)
        try await notes.makeZone()
        try await notes.save(["a"], "one")
        await store.close()
        try FileManager.default.setAttributes([.posixPermissions: file], ofItemAtPath: folder.file().path)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.url.path)
        return (folder, try Data(contentsOf: folder.file()))
    }
}
