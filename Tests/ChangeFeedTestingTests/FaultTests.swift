import ChangeFeed
import ChangeFeedTesting
import XCTest

final class FaultTests: XCTestCase {
    private func conformance(of fault: Fault?, seed: UInt64 = 1) -> StoreConformance {
        StoreConformance(seed: seed, reopening: { try await $0.reopened() }) { FaultyStore(fault) }
    }

    func testADecoratorWithoutAFaultKeepsEveryPromise() async {
        let failures = await conformance(of: nil).run()

        XCTAssertEqual(failures, [])
    }

    func testEachFaultIsFoundByTheCheckThatIsNamedForIt() async {
        for fault in Fault.allCases {
            let failures = await conformance(of: fault).run(only: [fault.checkID])

            XCTAssertEqual(failures.map(\.check.id), [fault.checkID], "\(fault)")
        }
    }

    func testTheRandomCheckFindsFaultsOfEveryKindAndTellsWhatWasDone() async {
        let faults: [Fault] = [
            .keepsWhatThrew, .rollsLinksNotBack, .rollsMetaNotBack, .reversesZones, .forgetsHorizons,
            .appendsTombstones, .normalisesNames, .discardsNoTombstone, .mixesKindsOfLinks, .removesNoKey,
        ]
        for fault in faults {
            let failures = await conformance(of: fault).run(only: ["model.random"])

            XCTAssertEqual(failures.count, 1, "\(fault)")
            XCTAssertFalse(failures.first?.history.isEmpty ?? true, "\(fault)")
        }
    }

    func testAFailureIsTheSameForTheSameSeedAndAnotherForAnother() async {
        let first = await conformance(of: .discardsNoTombstone, seed: 7).run(only: ["model.random"])
        let again = await conformance(of: .discardsNoTombstone, seed: 7).run(only: ["model.random"])
        let other = await conformance(of: .discardsNoTombstone, seed: 8).run(only: ["model.random"])

        XCTAssertEqual(first.count, 1)
        XCTAssertEqual(first, again)
        XCTAssertNotEqual(first, other)
    }
}
