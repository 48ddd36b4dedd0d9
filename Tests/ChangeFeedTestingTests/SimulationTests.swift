import ChangeFeedTesting
import XCTest

final class SimulationTests: XCTestCase {
    func testManySeedsShowNothingWrong() async throws {
        for seed: UInt64 in 1...300 {
            try await Simulation(seed: seed, devices: 5, steps: 300).run()
        }
    }
}
