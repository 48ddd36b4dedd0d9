import ChangeFeed
import Foundation

/// A cipher for tests and for nothing else: it hides bytes behind a key stream that anybody could guess, and binds
/// them to their field with a check value, as a real one does with its authentication tag.
final class TestCipher: Sendable {
    struct Failure: Error {}

    private struct State {
        var broken: Set<String> = []
        var unsealable: Set<String> = []
        var sealed = 0
    }

    private let key: UInt64
    private let state = Locked(State())

    init(key: UInt64 = 0x5EA1) {
        self.key = key
    }

    /// Records that cannot be opened, by name.
    func breakOpening(ofRecordsNamed names: Set<String>) { state.withLock { $0.broken = names } }

    /// Records that cannot be sealed, by name.
    func breakSealing(ofRecordsNamed names: Set<String>) { state.withLock { $0.unsealable = names } }

    /// How many values have been sealed.
    var sealedCount: Int { state.withLock { $0.sealed } }

    var encryption: FieldEncryption {
        FieldEncryption(seal: { try self.seal($0, $1) }, open: { try self.open($0, $1) })
    }

    private func seal(_ plain: Data, _ field: FieldEncryption.Field) throws -> Data {
        let mayNot = state.withLock { state in
            state.sealed += 1
            return state.unsealable.contains(field.recordID.recordName)
        }
        if mayNot { throw Failure() }
        return mixed(plain) + check(plain, field)
    }

    private func open(_ sealed: Data, _ field: FieldEncryption.Field) throws -> Data {
        if state.withLock({ $0.broken.contains(field.recordID.recordName) }) { throw Failure() }
        guard sealed.count >= 8 else { throw Failure() }
        let plain = mixed(sealed.dropLast(8))
        guard sealed.suffix(8) == check(plain, field) else { throw Failure() }
        return plain
    }

    private func mixed(_ data: Data) -> Data {
        var random = FeedFixture.Random(seed: key)
        return Data(data.map { $0 ^ UInt8(truncatingIfNeeded: random.next()) })
    }

    private func check(_ plain: Data, _ field: FieldEncryption.Field) -> Data {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325 ^ key
        for byte in field.authenticatedData + plain { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }
}

extension FeedFixture {
    /// A server that seals with the test cipher.
    static func sealing(with cipher: TestCipher) -> FeedFixture {
        FeedFixture { $0.encryption = cipher.encryption }
    }

    /// A record with a plain title and a secret.
    static func secret(_ name: String, _ secret: RecordValue?, title: String = "", in zoneID: RecordZone.ID) -> Record {
        var record = note(name, in: zoneID)
        record["title"] = title
        record.encryptedValues["secret"] = secret
        return record
    }
}
