import ChangeFeed
import Foundation
import XCTest

/// The feed beside a naive full log with the rules written the slow way, under random operations.
final class ReferenceModelTests: XCTestCase {
    func testReference_theFeedSaysWhatTheFullLogSays() async throws {
        try await overEveryStore {
            var counts: [String: Int] = [:]
            var steps = 0
            for seed in 1...UInt64(180) {
                let run = ReferenceRun(.init(seed: seed))
                do {
                    try await run.run()
                } catch {
                    XCTFail("\(error)")
                    return
                }
                steps += run.settings.steps
                counts.merge(run.counts) { $0 + $1 }
            }
            XCTAssertGreaterThanOrEqual(steps, 20_000)

            // The steps are worth something only if they reach what is to be compared
            for what in [
                "serverRecordChanged", "unknownItem", "referenceViolation", "batchRequestFailed", "invalidArguments",
                "zoneNotFound", "userDeletedZone", "serverRecordChanged of a deletion",
                "referenceViolation of a deletion",
                "changeTokenExpired expired", "changeTokenExpired zoneRecreated", "changeTokenExpired historyReset",
                "zoneNotFound encryptedDataReset", "database: changeTokenExpired expired",
                "database: changeTokenExpired historyReset", "cascaded", "deleted", "restore", "compacted true true",
            ] {
                XCTAssertGreaterThan(counts[what, default: 0], 20, what)
            }
        }
    }

    func testReference_aMistakeOfEitherSideIsNoticed() async throws {
        try await overEveryStore {
            for flaw in ReferenceLog.Flaw.allCases {
                var isNoticed = false
                for seed in 1...UInt64(40) where !isNoticed {
                    do {
                        try await ReferenceRun(.init(seed: seed, flaw: flaw)).run()
                    } catch let disagreement as ReferenceRun.Disagreement {
                        // It is the mistake that was noticed if there is no disagreement without it
                        isNoticed = (try? await ReferenceRun(.init(seed: seed)).run()) != nil
                        XCTAssertTrue(disagreement.description.contains("seed: \(seed)"))
                    }
                }
                XCTAssertTrue(isNoticed, "\(flaw) was not noticed")
            }
        }
    }

    func testReference_aSeedIsAStory() async throws {
        try await overEveryStore {
            let (one, two) = (ReferenceRun(.init(seed: 7)), ReferenceRun(.init(seed: 7)))
            try await one.run()
            try await two.run()
            XCTAssertEqual(one.counts, two.counts)
            XCTAssertEqual(one.knownTags, two.knownTags)
        }
    }
}
