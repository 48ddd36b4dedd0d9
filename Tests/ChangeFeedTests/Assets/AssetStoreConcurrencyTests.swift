import ChangeFeed
import Foundation
import XCTest

/// Many at once: the same content, reading while storing, collecting while saving.
final class AssetStoreConcurrencyTests: XCTestCase {
    func testTheSameContentMayBeStoredByManyAtOnce() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let text = String(repeating: "the same ", count: 5_000)
                let keys = try await withThrowingTaskGroup(of: String.self) { group in
                    for number in 0..<16 {
                        group.addTask {
                            try store.put("content \(number)")
                            let key = try store.put(text)
                            guard try store.bytes(of: key) == [UInt8](text.utf8) else {
                                throw ChangeFeedError(.internalError, "half a content was visible")
                            }
                            return key.text
                        }
                    }
                    return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                }
                XCTAssertEqual(keys.count, 1)
                XCTAssertEqual(try store.keys().count, 17)
            }
        }
    }

    func testManyMayReadOneAssetAtOnce() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                let record = try await story.save("r1", photo: "photo")
                let files = try await withThrowingTaskGroup(of: URL.self) { group in
                    for _ in 0..<16 {
                        group.addTask {
                            let photo = try story.photo(of: record)
                            guard try photo.data() == Data("photo".utf8) else {
                                throw ChangeFeedError(.internalError, "other bytes")
                            }
                            return try photo.loadFile()
                        }
                    }
                    return try await group.reduce(into: Set<URL>()) { $0.insert($1) }
                }
                XCTAssertEqual(files.count, 1)
                withExtendedLifetime(record) { XCTAssertTrue(files.allSatisfy(\.isThere)) }
            }
        }
    }

    /// Some save and drop the same content all the time while others collect: whoever refers to it finds it.
    func testAS3_collectingNeverTakesWhatASaveCameToReferTo() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<4 {
                        group.addTask {
                            for _ in 0..<40 {
                                let outcome = try await story.outcome(
                                    saving: story.record("r\(writer)", photo: "contended"), policy: .allKeys)
                                await Task.yield()
                                guard outcome == ["+r\(writer)"], try store.size(of: story.key("contended")) == 9 else {
                                    throw ChangeFeedError(.internalError, "a content that is referred to was collected")
                                }
                                try await story.delete("r\(writer)")
                            }
                        }
                    }
                    for _ in 0..<2 {
                        group.addTask {
                            for _ in 0..<40 {
                                try await story.collect()
                                await Task.yield()
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                // What was left by a step under way is found by the next look.
                try await story.collect()
                try await story.collect()
                XCTAssertEqual(try store.keys(), [])
            }
        }
    }
}
