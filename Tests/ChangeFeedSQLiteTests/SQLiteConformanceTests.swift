import ChangeFeed
import ChangeFeedSQLite
import ChangeFeedTesting
import XCTest

/// The durable store keeps every promise of its port.
final class SQLiteConformanceTests: XCTestCase {
    func testTheStoreKeepsEveryPromise() async throws {
        let folder = try StoreFolder()
        let count = Locked(0)
        for seed in [UInt64(1), 2] {
            let conformance = StoreConformance(
                seed: seed,
                reopening: { (store: SQLiteStore) in
                    await store.close()
                    return try await SQLiteStore.open(at: store.url, configuration: .small())
                },
                makeStore: {
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    var configuration = SQLiteStore.Configuration.small()
                    // Each store is to have an identity of its own.
                    configuration.randomness = SQLiteStore.Configuration().randomness
                    return try await SQLiteStore.open(at: folder.file("\(number).db"), configuration: configuration)
                })
            let failures = await conformance.run()
            XCTAssertEqual(failures, [])
        }
    }
}
