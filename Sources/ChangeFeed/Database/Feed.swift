#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rules of the feed: what each request means, as synchronous functions over one transaction of a store.
///
/// The rules stand in files named after what they rule, as extensions of this type: `Changes/` for reading,
/// `Modify/` for writing.
package struct Feed: Sendable {
    package let limits: Limits
    let names: NameRules
    let shapes = FieldShapes()
    let encryption: FieldEncryption?
    let compatibility: Compatibility
    let retention: RetentionPolicy
    let quota: @Sendable (String) -> Int?
    let environment: Schema.Environment
    let schemas = SchemaCache()
    package let now: @Sendable () -> Date
    private let randomness: @Sendable () -> UInt64
    /// The nonce of the epoch that this feed began. The first write after the store was opened, restored or imported
    /// begins one (rule 6.1.5); if that write is rolled back, the store does not know the nonce and the next begins
    /// another.
    private let ownEpoch = Locked<UInt64?>(nil)

    package init(configuration: Container.Configuration) {
        limits = configuration.limits.atLeastOne
        names = NameRules(limits: limits)
        encryption = configuration.encryption
        compatibility = configuration.compatibility
        retention = configuration.retention
        quota = configuration.quota
        environment = configuration.environment
        now = configuration.now
        randomness = configuration.randomness
    }

    /// Where and in which epoch the next item is written.
    struct Stamp {
        let position: ChangePosition
        let epoch: UInt64

        var changeTag: RecordChangeTag { RecordChangeTag(epoch: epoch, position: position) }
    }

    /// Allocates a position, beginning an epoch first if one is due.
    func nextStamp(in store: any StoreWriter) throws(ChangeFeedError) -> Stamp {
        let epochs = try store.epochs
        let own = ownEpoch.withLock { $0 }
        if let own, let last = epochs.last, last.nonce == own || epochs.contains(where: { $0.nonce == own }) {
            return Stamp(position: try store.allocatePosition(), epoch: last.nonce)
        }
        var nonce = randomness()
        // 0 stands for the time before all epochs; and a seeded source may well repeat itself.
        while nonce == 0 || epochs.contains(where: { $0.nonce == nonce }) { nonce = nonce &+ 1 }
        try store.beginEpoch(nonce: nonce)
        ownEpoch.withLock { $0 = nonce }
        return Stamp(position: try store.allocatePosition(), epoch: nonce)
    }

    /// To be called when the store was put back to an earlier state.
    func beginEpochWithNextWrite() {
        ownEpoch.withLock { $0 = nil }
    }
}
