import ChangeFeed
@testable import SyncEngineCore
import XCTest

/// The tables of the article on triggers, against the code.
final class TriggerTableTests: XCTestCase {
    private static let situations: [SyncEngine.Situation] = [
        .idle, .fetchingBeforeDatabaseStep, .fetchingAfterDatabaseStep, .sending, .coolingDown, .noAccount, .stopped,
    ]

    /// The cells of the table that follows a marker in the article, without its header.
    private func table(_ marker: String) throws -> [[String]] {
        let article = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Sources/SyncEngineCore/SyncEngineCore.docc/TriggersAndDecisions.md"
        ).standardized
        let lines = try String(contentsOf: article, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try XCTUnwrap(lines.firstIndex(of: "<!-- \(marker) -->"))
        return lines[(start + 3)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    func test6_8_theArticleHasTheDecisionOfEveryTriggerInEverySituation() throws {
        XCTAssertEqual(Set(Self.situations), Set(SyncEngine.Situation.allCases))
        let rows = SyncEngine.TriggerKind.allCases.map { kind in
            [kind.rawValue]
                + Self.situations.map { situation in
                    let decision = TriggerDecision.decide(
                        kind,
                        in: .init(
                            rule: SyncEngine.TriggerPolicy.automatic[kind], situation: situation,
                            cooldown: .seconds(1)))
                    return String("\(decision)".prefix { $0.isLetter })
                }
        }
        XCTAssertEqual(try table("decisions"), rows)
    }

    func test6_8_theArticleHasTheRulesOfThePresets() throws {
        let presets: [SyncEngine.TriggerPolicy] = [.automatic, .manual, .cloudKit]
        let rows = SyncEngine.TriggerKind.allCases.map { kind in
            [kind.rawValue] + presets.map { $0[kind].rawValue }
        }
        XCTAssertEqual(try table("rules"), rows)
    }

    func test6_8_nothingIsStartedThatThePolicyDoesNotAskFor() {
        for kind in SyncEngine.TriggerKind.allCases {
            for situation in SyncEngine.Situation.allCases {
                for rule in [SyncEngine.TriggerPolicy.Rule.note, .ignore] {
                    let decision = TriggerDecision.decide(kind, in: .init(rule: rule, situation: situation))
                    guard case .ignored = decision else { return XCTFail("\(kind) \(situation): \(decision)") }
                }
                let decision = TriggerDecision.decide(
                    kind, in: .init(rule: .send, situation: situation, hasPendingChanges: false))
                guard case .ignored = decision else { return XCTFail("\(kind) \(situation): \(decision)") }
            }
        }
    }
}
