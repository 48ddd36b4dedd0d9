import ChangeFeed
import Foundation
import XCTest

/// Compaction collects contents that nothing refers to (rule AS3, section 6.6): in steps, and nothing else.
final class AssetCollectionTests: XCTestCase {
    func testAS3_aCompactionGoesInBoundedStepsAndPassesOverWhatIsPinned() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                // Given: contents that nothing refers to, known and unknown to the feed; some of each are in use.
                let story = try await AssetStory(store)
                try await story.save("living", photo: "living")
                var kept: [AssetKey] = []
                for number in 0..<10 {
                    try await story.save("r\(number)", photo: "photo \(number)")
                    try await story.delete("r\(number)")
                    try store.put("stray \(number)", of: story.databaseID)
                    if number < 3 { kept += [story.key("photo \(number)"), story.key("stray \(number)")] }
                }
                do {
                    let lease = AssetLease(store.pins)
                    for key in kept { lease.keep(key) }

                    // When: compaction runs in small steps.
                    let steps = try await story.compact(stepBudget: 2)

                    // Then: all others go, no step takes more than it may.
                    XCTAssertEqual(steps.map(\.assets).reduce(0, +), 14)
                    XCTAssertTrue(steps.allSatisfy { $0.total <= 2 && $0.assetFailure == nil })
                    XCTAssertEqual(Set(try store.keys()), Set(kept + [story.key("living")]))
                    withExtendedLifetime(lease) {}
                }
                let removed = try await story.collect()
                XCTAssertEqual(removed, 6)
                XCTAssertEqual(try store.keys(), [story.key("living")])
            }
        }
    }

    func test6_6_contentsAreReportedBesideOtherGarbageAndNoBudgetIsOverrun() async throws {
        try await overEveryStore {
            for budget in 1...6 {
                // Given: tombstones of records and zones, outcomes of requests and contents, all of them garbage.
                let story = try await AssetStory {
                    $0.retention = RetentionPolicy(maximumAge: .seconds(5), maximumTombstonesPerZone: nil)
                }
                for number in 0..<5 {
                    let request = RecordModifyRequest(
                        saving: [story.record("r\(number)", photo: "photo \(number)")], requestID: "\(number)")
                    _ = try await story.database.modifyRecords(request)
                    try await story.delete("r\(number)")
                    let zone = try await story.fixture.makeZone("zone \(number)")
                    try await story.fixture.deleteZone(zone)
                }
                try await story.save("living", photo: "living")
                story.fixture.clock.advance(by: 10)

                // When: compaction runs to its end.
                let steps = try await story.compact(stepBudget: budget)

                // Then: every kind is reported to the last, within the budget.
                XCTAssertEqual(steps.map(\.assets).reduce(0, +), 5, "\(budget)")
                XCTAssertEqual(steps.map(\.recordTombstones).reduce(0, +), 5, "\(budget)")
                XCTAssertEqual(steps.map(\.zoneTombstones).reduce(0, +), 5, "\(budget)")
                XCTAssertEqual(steps.map(\.requests).reduce(0, +), 5, "\(budget)")
                XCTAssertEqual(steps.map(\.total).filter { $0 > budget }, [], "\(budget)")
                XCTAssertEqual(try story.store.keys(), [story.key("living")], "\(budget)")

                // And: once more, there is nothing to do.
                let again = try await story.compact(stepBudget: budget)
                XCTAssertEqual(again.map(\.total).reduce(0, +), 0, "\(budget)")
            }
        }
    }

    func test6_6_whatComesToBeGarbageBetweenTwoStepsIsCollectedInTheEnd() async throws {
        try await overEveryStore {
            let story = try await AssetStory()
            for number in 0..<8 { try await story.save("r\(number)", photo: "photo \(number)") }

            // When: a record goes between every two steps.
            for number in 0..<8 {
                _ = try await story.fixture.container.compact(stepBudget: 1)
                try await story.delete("r\(number)")
            }
            try await story.collect()
            try await story.collect()

            XCTAssertEqual(try story.store.keys(), [])
        }
    }

    func testAS3_aFetchedAssetThatIsAliveIsNotCollected() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let story = try await AssetStory(store)
                var record: Record? = try await story.save("r1", photo: "photo")
                try await story.delete("r1")
                var removed = try await story.collect()
                XCTAssertEqual(removed, 0)
                XCTAssertEqual(try story.photo(of: record).data(), Data("photo".utf8))
                record = nil
                removed = try await story.collect()
                XCTAssertEqual(removed, 1)
            }
        }
    }

    func testAS3_aCrashBetweenContentAndRowLosesNothingAndLeavesNothing() async throws {
        try await overEveryStore {
            let feed = InterruptedStore()
            let story = try await AssetStory(over: feed)
            try await story.save("r1", photo: "photo")
            try await story.delete("r1")

            // When: the content goes, and the transaction does not come to its end.
            feed.cutNextWrite()
            await expectError(.internalError) { try await story.fixture.container.compact() }
            XCTAssertEqual(try story.store.keys(), [])
            var orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [story.key("photo").text])

            // Then: somebody saves it again, and it is there and stays.
            try await story.save("r2", photo: "photo")
            let removed = try await story.collect()
            XCTAssertEqual(removed, 0)
            XCTAssertEqual(try story.store.keys(), [story.key("photo")])
            orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [])
        }
    }

    func testAS3_aCrashAfterTheUploadLeavesAContentThatIsCollected() async throws {
        try await overEveryStore {
            try await forEachAssetStore { store in
                let feed = InterruptedStore()
                let story = try await AssetStory(store, over: feed)
                feed.cutNextWrite()
                await expectError(.internalError) { try await story.database.save(story.record("r1", photo: "photo")) }
                XCTAssertEqual(try store.keys(), [story.key("photo")])

                let removed = try await story.collect()

                XCTAssertEqual(removed, 1)
                XCTAssertEqual(try store.keys(), [])
            }
        }
    }

    func testAS3_aContentThatCannotBeRemovedDoesNotStopTheOthers() async throws {
        try await overEveryStore {
            let directory = try TemporaryDirectory()
            let store = try FileAssetStore(directory: directory.url)
            let story = try await AssetStory(store)
            for text in ["one", "two", "three"] {
                try await story.save(text, photo: text)
                try await story.delete(text)
            }
            // Given: a directory where a content should be, which cannot be removed like one.
            let url = directory.url.appendingPathComponent(story.path("two"))
            try FileManager.default.removeItem(at: url)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)

            // When: compaction runs to its end, it tells of the one and takes the others.
            let steps = try await story.compact(stepBudget: 1)
            XCTAssertEqual(steps.map(\.assets).reduce(0, +), 2)
            XCTAssertEqual(Set(steps.compactMap(\.assetFailure).map(\.code)), [.internalError])
            var orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [story.key("two").text])

            // Then: another time, with the obstacle gone, nothing is left.
            try FileManager.default.removeItem(at: url)
            let again = try await story.compact()
            XCTAssertNil(again.compactMap(\.assetFailure).first)
            orphans = try await story.rows(of: .orphanedAssets)
            XCTAssertEqual(orphans, [])
        }
    }
}
