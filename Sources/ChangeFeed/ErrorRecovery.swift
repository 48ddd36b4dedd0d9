extension ChangeFeedError {
    /// What to do about an error: the retry column of section 1.12 of the semantics.
    public enum Recovery: String, Sendable, Hashable, Codable, CaseIterable {
        /// The same request may succeed later, and a sync engine repeats it by itself (section 2.7).
        case retry
        /// The same request may succeed after a delay, and nobody repeats it by itself.
        case wait
        /// The app has to decide: merge, split, fetch anew, ask the user.
        case app
        /// The request cannot succeed: do not repeat it.
        case fatal
        /// The error only holds others: look at each of ``ChangeFeedError/partialErrors``.
        case inspect
        /// The code is never raised.
        case none
    }

    /// Whether the same request may succeed when it is repeated later, after ``retryAfter`` if that is given: the
    /// code's ``Code/recovery`` is `retry` or `wait`, or it is a partial failure of nothing but such errors.
    public var isRetryable: Bool {
        switch code.recovery {
        case .retry, .wait: true
        case .inspect: !partialErrors.isEmpty && partialErrors.values.allSatisfy(\.isRetryable)
        case .app, .fatal, .none: false
        }
    }
}

extension ChangeFeedError.Code {
    /// What to do about errors of this code.
    public var recovery: ChangeFeedError.Recovery {
        switch self {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .notAuthenticated,
            .zoneBusy, .accountTemporarilyUnavailable:
            .retry
        case .assetNotAvailable:
            .wait
        case .unknownItem, .serverRecordChanged, .assetFileNotFound, .assetFileModified, .constraintViolation,
            .operationCancelled, .changeTokenExpired, .batchRequestFailed, .quotaExceeded, .zoneNotFound,
            .limitExceeded, .userDeletedZone, .tooManyParticipants, .alreadyShared, .referenceViolation,
            .participantMayNeedVerification, .serverResponseLost, .participantAlreadyInvited:
            .app
        case .internalError, .badContainer, .missingEntitlement, .permissionFailure, .invalidArguments,
            .serverRejectedRequest, .incompatibleVersion, .badDatabase, .managedAccountRestricted:
            .fatal
        case .partialFailure:
            .inspect
        case .resultsTruncated:
            .none
        }
    }
}
