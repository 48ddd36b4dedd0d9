import ChangeFeed
import Foundation
import XCTest

#if canImport(CryptoKit)
    import CryptoKit
#endif

/// The example of ``FieldEncryption``'s documentation, with CryptoKit where there is one and a test cipher elsewhere.
final class EncryptionExampleTests: XCTestCase {
    #if canImport(CryptoKit)
        private func encryption() -> FieldEncryption {
            let key = SymmetricKey(size: .bits256)
            return FieldEncryption(
                seal: { plain, field in
                    let box = try AES.GCM.seal(plain, using: key, authenticating: field.authenticatedData)
                    guard let combined = box.combined else { throw CryptoKitError.incorrectParameterSize }
                    return combined
                },
                open: { sealed, field in
                    try AES.GCM.open(.init(combined: sealed), using: key, authenticating: field.authenticatedData)
                }
            )
        }
    #else
        private func encryption() -> FieldEncryption { TestCipher().encryption }
    #endif

    func testR10_theExampleKeepsASecret() async throws {
        // Given a container with an encryption
        var configuration = Container.Configuration()
        configuration.encryption = encryption()
        let container = Container(identifier: "example", configuration: configuration)
        let database = container.database(.private, for: "ada")
        let zone = try await database.save(RecordZone(zoneName: "Diary"))

        // When a record is saved with a secret
        var entry = Record(recordType: "Entry", recordID: Record.ID(recordName: "e1", zoneID: zone.zoneID))
        entry["mood"] = "calm"
        entry.encryptedValues["text"] = "Dear diary"
        try await database.save(entry)

        // Then whoever fetches it can read it
        let fetched = try await database.record(for: entry.recordID)
        XCTAssertEqual(fetched.encryptedValues["text"], "Dear diary")
        XCTAssertEqual(fetched.allKeys, ["mood"])
    }
}
