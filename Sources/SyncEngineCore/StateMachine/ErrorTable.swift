import ChangeFeed

/// What becomes of a pending change whose sending failed: every code is in exactly one class (section 2.7, case B43).
enum FailureClass: String, Sendable, CaseIterable {
    /// It stays pending and is sent again by itself.
    case retry
    /// It stays pending, the app is told, and it is sent again once something else has changed.
    case blocked
    /// It leaves pending; the app decides with the server's record at hand.
    case conflict
    /// The request is divided; an item alone leaves pending.
    case split
    /// Another item of an atomic request is to blame: it stays pending, and the app is not told.
    case sibling
    /// Whether it was carried out is not known: the very same request is repeated.
    case lost
    /// It leaves pending, and the app is told.
    case permanent
}

extension ChangeFeedError.Code {
    /// What becomes of a pending change whose sending failed with this code.
    var failureClass: FailureClass {
        switch self {
        case .networkUnavailable, .serviceUnavailable, .requestRateLimited, .notAuthenticated, .zoneBusy,
            .accountTemporarilyUnavailable, .assetNotAvailable:
            .retry
        case .networkFailure, .serverResponseLost, .operationCancelled:
            .lost
        case .quotaExceeded, .referenceViolation, .zoneNotFound, .userDeletedZone:
            .blocked
        case .serverRecordChanged, .unknownItem:
            .conflict
        case .limitExceeded:
            .split
        case .batchRequestFailed:
            .sibling
        case .internalError, .partialFailure, .badContainer, .missingEntitlement, .permissionFailure,
            .invalidArguments, .resultsTruncated, .serverRejectedRequest, .assetFileNotFound, .assetFileModified,
            .incompatibleVersion, .constraintViolation, .changeTokenExpired, .badDatabase, .tooManyParticipants,
            .alreadyShared, .managedAccountRestricted, .participantMayNeedVerification, .participantAlreadyInvited:
            .permanent
        }
    }

    /// Whether a failed request says that the next one will fail too, whatever it asks.
    var stopsPass: Bool {
        switch self {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
            .accountTemporarilyUnavailable, .operationCancelled, .serverResponseLost:
            true
        default: false
        }
    }

    /// Whether a failed request is worth repeating later by itself.
    var isRepeated: Bool {
        switch failureClass {
        case .retry, .lost: true
        case .blocked, .conflict, .split, .sibling, .permanent: false
        }
    }
}

extension ChangeFeedError {
    /// Whether the token of the request is of no use any more, so that reading has to begin again.
    var voidsToken: Bool {
        switch (code, detail) {
        case (.changeTokenExpired, _), (.invalidArguments, .foreign), (.invalidArguments, .damaged),
            (.invalidArguments, .wrongKind):
            true
        default: false
        }
    }

    static func foreignAnswer(_ zoneID: RecordZone.ID, _ what: String) -> ChangeFeedError {
        ChangeFeedError(
            .internalError,
            "The server answered a request for the changes of the zone with \(what) of another zone. Nothing of the "
                + "answer was kept.",
            zoneID: zoneID, rule: "6.3", detail: .foreign)
    }

    static func makesNoProgress(_ zoneID: RecordZone.ID?) -> ChangeFeedError {
        ChangeFeedError(
            .internalError,
            "The server says that more is coming, but gives nothing new: it is asked again later.",
            zoneID: zoneID, rule: "6.3.2", detail: .noProgress)
    }
}
