import ChangeFeed
import ChangeFeedTesting
import XCTest

/// Simulations, and what is told of one that fails.
final class SimulationTests: XCTestCase {
    func testNothingIsWrongForManySeeds() async throws {
        var summary = SimulationReport()
        for seed: UInt64 in 1...20 {
            summary.add(try await Simulation(seed: seed, devices: 3, steps: 200).run())
        }
        XCTAssertEqual(summary.runs, 20)
        XCTAssertEqual(summary.steps, 4_000)
        XCTAssertGreaterThan(summary.edits, 200)
        XCTAssertGreaterThan(summary.errors.count, 60, "errors of many kinds")
        XCTAssertGreaterThan(summary.triggers.count, 30, "triggers in many situations")
    }

    func testEqualSeedsGiveEqualJournalsAndOthersDoNot() async throws {
        for seed: UInt64 in 1...3 {
            let first = try await Simulation(seed: seed, devices: 4, steps: 200).run()
            let second = try await Simulation(seed: seed, devices: 4, steps: 200).run()
            XCTAssertEqual(first, second)
            let other = try await Simulation(seed: seed + 10, devices: 4, steps: 200).run()
            XCTAssertNotEqual(first.digest, other.digest)
        }
    }

    /// A server that has nothing any more after a restart.
    func testAServerThatForgetsEverythingIsFoundOutByAShortScriptThatCanBePasted() async throws {
        let storage: @Sendable () -> SimulationStore = {
            let numbers = SeededNumbers(seed: 1)
            return SimulationStore(open: { InMemoryStore { numbers.next() } }, close: { _ in })
        }
        do {
            for seed: UInt64 in 1...20 {
                try await Simulation(seed: seed, devices: 3, steps: 200, storage: storage).run()
            }
            XCTFail("nothing was found")
        } catch let failure as SimulationFailure {
            XCTAssertLessThan(failure.script.count, 20, "\(failure)")
            XCTAssertTrue(failure.script.contains { $0.kind == .restart }, "\(failure)")
            XCTAssertTrue(failure.description.contains("func testSimulationSeed\(failure.seed)() async throws {"))
            do {
                try await Simulation(seed: failure.seed, devices: 3, script: failure.script, storage: storage).run()
                XCTFail("the short script shows nothing")
            } catch let again as SimulationFailure {
                XCTAssertEqual(again.sentence, failure.sentence)
            }
        }
    }
}
