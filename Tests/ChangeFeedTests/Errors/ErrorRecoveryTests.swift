import ChangeFeed
import XCTest

/// The retry column of section 1.12.
final class ErrorRecoveryTests: XCTestCase {
    /// The column as the semantics have it, by number.
    private let column: [Int: ChangeFeedError.Recovery] = [
        1: .fatal, 2: .inspect, 3: .retry, 4: .retry, 5: .fatal, 6: .retry, 7: .retry, 8: .fatal, 9: .retry,
        10: .fatal, 11: .app, 12: .fatal, 13: .none, 14: .app, 15: .fatal, 16: .app, 17: .app, 18: .fatal, 19: .app,
        20: .app, 21: .app, 22: .app, 23: .retry, 24: .fatal, 25: .app, 26: .app, 27: .app, 28: .app, 29: .app,
        30: .app, 31: .app, 32: .fatal, 33: .app, 34: .app, 35: .wait, 36: .retry, 37: .app,
    ]

    func test1_12_theTableIsTotal() {
        XCTAssertEqual(Set(ChangeFeedError.Code.allCases.map(\.rawValue)), Set(1...37))
        for code in ChangeFeedError.Code.allCases {
            XCTAssertEqual(code.recovery, column[code.rawValue], "\(code)")
        }
    }

    func test2_7_theEngineRetriesExactlyTheCodesOfItsOwnList() {
        let engine: Set<ChangeFeedError.Code> = [
            .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy,
        ]
        XCTAssertEqual(Set(ChangeFeedError.Code.allCases.filter { $0.recovery == .retry }), engine)
    }

    func test1_12_whatPassesByItselfIsRetryable() {
        for code in ChangeFeedError.Code.allCases where code != .partialFailure {
            let isRetryable = [.retry, .wait].contains(code.recovery)
            XCTAssertEqual(ChangeFeedError(code, "").isRetryable, isRetryable, "\(code)")
        }
    }

    func testE5_aPartialFailureIsAsRetryableAsWhatItHolds() {
        func failure(_ codes: ChangeFeedError.Code...) -> ChangeFeedError {
            let errors = codes.enumerated().map { index, code in
                (ChangeFeedError.ItemID.record(Record.ID(recordName: "r\(index)")), ChangeFeedError(code, ""))
            }
            return ChangeFeedError(.partialFailure, "", partialErrors: Dictionary(uniqueKeysWithValues: errors))
        }
        XCTAssertTrue(failure(.zoneBusy, .assetNotAvailable).isRetryable)
        XCTAssertFalse(failure(.zoneBusy, .serverRecordChanged).isRetryable)
        XCTAssertFalse(failure().isRetryable)
    }
}
