import Foundation
import XCTest

@testable import ChangeFeed

/// References where the order of things or the origin of a record could matter.
final class HardenedReferenceTests: XCTestCase {
    private typealias Feed = FeedFixture

    func testR11_aCascadeHasAnOrderOfItsOwn() async throws {
        try await overEveryStore {
            // Given the same history in several stores, each with hashes of its own
            for _ in 0..<5 {
                let feed = FeedFixture()
                let zone = try await feed.makeZone()
                try await feed.save("owner", in: zone)
                let names = (0..<9).map { "k\($0)" }
                try await feed.modify(
                    saving: names.shuffled().map { Feed.note($0, in: zone, owner: "owner") }, in: zone)
                let token = try await feed.token(of: zone)
                try await feed.delete("owner", in: zone)

                let page = try await feed.database.recordZoneChanges(inZoneWith: zone, since: token)

                XCTAssertEqual(page.deletions.map(\.recordID.recordName), ["owner"] + names)
            }
        }
    }

    func testR13_allKeysBringsNoParentThatWasNotChecked() async throws {
        try await overEveryStore {
            let feed = FeedFixture()
            let (zone, other) = (try await feed.makeZone("A"), try await feed.makeZone("B"))
            let saved = try await feed.saved("a", in: zone)
            let system = try XCTUnwrap(saved.base.system)
            for parent in [
                Record.Reference(recordID: Feed.id("p", in: other)),
                Record.Reference(recordID: Feed.id("p", in: zone), action: .deleteSelf),
            ] {
                // Given a record whose parent came with it and was never set
                let forged = Record(
                    version: RecordVersion(
                        recordID: saved.recordID, recordType: saved.recordType, system: system, parent: parent,
                        payload: saved.base.payload))

                let results = try await feed.database.modifyRecords(saving: [forged], savePolicy: .allKeys)

                XCTAssertEqual(results.story, ["+a invalidArguments"])
            }
        }
    }

    func testR9_aTouchedParentIsAmongWhatWasChanged() async throws {
        try await overEveryStore {
            let feed = FeedFixture { $0.compatibility.touchesParents = true }
            let zone = try await feed.makeZone()
            let folder = Record(recordType: "Folder", recordID: Feed.id("folder", in: zone))
            try await feed.database.save(folder)
            var child = Feed.note("child", in: zone)
            child.setParent(folder.recordID)
            let request = RecordModifyRequest(saving: [child])
            let rules = ChangeFeed.Feed(configuration: feed.container.configuration)

            let written = try await feed.store.write { (store) throws(ChangeFeedError) in
                try rules.modifyRecords(request, in: .private("anna"), by: "anna", to: store)
            }

            XCTAssertEqual(written.changes.first?.recordTypes.contains("Folder"), true)
        }
    }
}
