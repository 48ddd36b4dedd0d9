import ChangeFeed
import ChangeFeedTesting
import XCTest

final class StoreConformanceTests: XCTestCase {
    func testTheStoreInMemoryKeepsEveryPromise() async {
        let failures = await StoreConformance(seed: 1) { InMemoryStore() }.run()

        XCTAssertEqual(failures, [])
    }

    func testTheStoreInMemoryKeepsThePromisesThatChanceTestsForOtherSeeds() async {
        let random: Set = ["model.random", "undo.nested", "meta.order", "meta.many"]
        for seed in [2, 3, 4] as [UInt64] {
            let failures = await StoreConformance(seed: seed) { InMemoryStore() }.run(only: random)

            XCTAssertEqual(failures, [])
        }
    }

    func testEveryCheckHasANameOfItsOwnAndASentence() {
        let checks = StoreConformance.checks

        XCTAssertEqual(Set(checks.map(\.id)).count, checks.count)
        XCTAssertEqual(checks.filter { !$0.sentence.hasSuffix(".") }.map(\.id), [])
    }

    func testAFailureSaysWhatIsBrokenAndHowToSeeItAgain() async {
        let failures = await StoreConformance(seed: 42) { FaultyStore(.takesEmptyForNone) }.run(only: ["meta.empty"])

        XCTAssertEqual(
            failures.map(\.description),
            [
                "\"An empty value is a value, and differs from none.\" is not kept: reading, expected Optional([]), "
                    + "found nil. Only this again: StoreConformance(seed: 42) { … }.run(only: [\"meta.empty\"])."
            ])
    }

    func testACheckThatDoesNotExistIsAFailure() async {
        let failures = await StoreConformance { InMemoryStore() }.run(only: ["no.such"])

        XCTAssertEqual(failures.map(\.check.id), ["no.such"])
    }

    func testAStoreThatCannotBeMadeFailsEveryCheckThatIsRun() async {
        let conformance = StoreConformance { () async throws -> InMemoryStore in throw ChangeFeedError(.zoneBusy, "No.")
        }

        let failures = await conformance.run(only: ["meta.empty", "links.put"])

        XCTAssertEqual(failures.map(\.step), ["making a store", "making a store"])
    }
}
