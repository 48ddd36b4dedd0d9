import ChangeFeed
import ChangeFeedSQLite
import Foundation
import XCTest

/// The kinds of store that the feed's stories are told over.
enum StoreKind: String, CaseIterable {
    case memory = "InMemoryStore"
    case sqlite = "SQLiteStore"

    /// The kind that the test under way is told over; nil where it goes through all by itself.
    static var current: StoreKind? {
        get { currentKind.withLock { $0 } }
        set { currentKind.withLock { $0 = newValue } }
    }
    private static let currentKind = Locked<StoreKind?>(nil)

    /// A new, empty store.
    func make(randomness: @escaping @Sendable () -> UInt64) -> any ChangeStore {
        switch self {
        case .memory: return InMemoryStore(randomness: randomness)
        case .sqlite:
            do {
                // What is tested here is what the store answers; others test what survives.
                let configuration = SQLiteStore.Configuration(
                    durability: .normal, readers: 2, cacheSize: 1 << 20, randomness: randomness)
                return try SQLiteStore(opening: TestFiles.newURL(), configuration)
            } catch {
                preconditionFailure("\(error)")
            }
        }
    }
}

/// Files of this process, which go with it.
enum TestFiles {
    private static let directory: URL = {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("feed-tests-\(UUID().uuidString)")
        try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        atexit { TestFiles.removeAll() }
        return directory
    }()
    private static let count = Locked(0)

    static func newURL() -> URL {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return directory.appendingPathComponent("\(number).db")
    }

    private static func removeAll() {
        try? FileManager.default.removeItem(at: directory)
    }
}

extension XCTestCase {
    /// Tells a story once over each kind of store, as `FeedFixture()` makes it.
    func overEveryStore(_ story: () async throws -> Void) async throws {
        for kind in StoreKind.allCases {
            StoreKind.current = kind
            defer { StoreKind.current = nil }
            do {
                try await story()
            } catch {
                // A test that is skipped is no failure.
                if !(error is XCTSkip) { XCTFail("over \(kind.rawValue): \(error)") }
                throw error
            }
        }
    }
}
