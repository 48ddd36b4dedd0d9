#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What went wrong, with which item, and by which rule.
///
/// Codes and their numbers are CloudKit's (section 1.12 of the semantics). An error is one pointer in size; make one
/// with ``init(_:_:recordID:zoneID:rule:limit:detail:retryAfter:partialErrors:serverRecord:clientRecord:ancestorRecord:)``.
public struct ChangeFeedError: Error, Sendable {
    /// What kind of error it is.
    public enum Code: Int, Sendable, Hashable, Codable, CaseIterable {
        /// An unexpected failure within the library.
        case internalError = 1
        /// Some items failed: see ``ChangeFeedError/partialErrors``.
        case partialFailure = 2
        /// There is no network.
        case networkUnavailable = 3
        /// There is a network, but the service cannot be reached.
        case networkFailure = 4
        /// The container is unknown.
        case badContainer = 5
        /// The server is busy: wait for ``ChangeFeedError/retryAfter``.
        case serviceUnavailable = 6
        /// Too many requests: wait for ``ChangeFeedError/retryAfter``.
        case requestRateLimited = 7
        /// The app lacks an entitlement.
        case missingEntitlement = 8
        /// Nobody is signed in.
        case notAuthenticated = 9
        /// The user may not do this.
        case permissionFailure = 10
        /// The record or other item does not exist.
        case unknownItem = 11
        /// The request is malformed.
        case invalidArguments = 12
        /// Never raised.
        case resultsTruncated = 13
        /// The record on the server is not the version that the client changed.
        case serverRecordChanged = 14
        /// The server refuses the request for good.
        case serverRejectedRequest = 15
        /// An asset's file is missing.
        case assetFileNotFound = 16
        /// An asset's file changed while it was saved.
        case assetFileModified = 17
        /// The app is too old for the server.
        case incompatibleVersion = 18
        /// A value that must be unique is not.
        case constraintViolation = 19
        /// The caller cancelled.
        case operationCancelled = 20
        /// The token is too old: drop the cache and fetch with none.
        case changeTokenExpired = 21
        /// Another item of the atomic batch failed.
        case batchRequestFailed = 22
        /// Too many writers in the zone.
        case zoneBusy = 23
        /// The operation does not belong in this database.
        case badDatabase = 24
        /// The user's storage is full.
        case quotaExceeded = 25
        /// The zone does not exist.
        case zoneNotFound = 26
        /// Too many items or bytes: split the request.
        case limitExceeded = 27
        /// The user deleted the zone in the system's settings.
        case userDeletedZone = 28
        /// The share has too many participants.
        case tooManyParticipants = 29
        /// The record is in a share already.
        case alreadyShared = 30
        /// The target of a checked reference is missing.
        case referenceViolation = 31
        /// The account is restricted by policy.
        case managedAccountRestricted = 32
        /// An invited address needs proof.
        case participantMayNeedVerification = 33
        /// The answer was lost: whether the request was carried out is not known.
        case serverResponseLost = 34
        /// An asset cannot be loaded now.
        case assetNotAvailable = 35
        /// The account exists but is not ready.
        case accountTemporarilyUnavailable = 36
        /// The participant is invited already.
        case participantAlreadyInvited = 37
    }

    /// What makes an error of one code differ from another of the same.
    public enum Detail: String, Sendable, Hashable, Codable, CaseIterable {
        /// A token: something after it has been discarded.
        case expired
        /// A token: the zone was deleted and created again since.
        case zoneRecreated
        /// A token: the store no longer has the history that it names.
        case historyReset
        /// A token: of the database where one of a zone belongs, or the reverse.
        case wrongKind
        /// A token: of another store, database or zone.
        case foreign
        /// A token or an archive: not the bytes that the library made.
        case damaged
        /// A zone: deleted because the user reset the encrypted data (rule E3).
        case encryptedDataReset
        /// A zone: something was written to it since the token that a request named (section 6.13.1).
        case zoneChanged
        /// A server that says "more" and gives nothing new.
        case noProgress
    }

    /// A bound that a request went over.
    public struct Limit: Sendable, Hashable, Codable {
        /// The name of the bound, as in ``Limits``.
        public let name: String
        /// The most that is allowed.
        public let allowed: Int
        /// What the request has.
        public let found: Int

        /// A bound and what was found.
        public init(name: String, allowed: Int, found: Int) {
            self.name = name
            self.allowed = allowed
            self.found = found
        }
    }

    /// What the errors within a partial failure are about (rule E2).
    public enum ItemID: Sendable, Hashable {
        /// A record.
        case record(Record.ID)
        /// A zone.
        case zone(RecordZone.ID)
        /// A subscription, by its id.
        case subscription(String)
    }

    private final class Context: Sendable {
        let code: Code
        let message: String
        let recordID: Record.ID?
        let zoneID: RecordZone.ID?
        let rule: String?
        let limit: Limit?
        let detail: Detail?
        let retryAfter: Duration?
        let partialErrors: [ItemID: ChangeFeedError]
        let serverRecord: Record?
        let clientRecord: Record?
        let ancestorRecord: Record?

        init(
            _ code: Code, _ message: String, _ recordID: Record.ID?, _ zoneID: RecordZone.ID?, _ rule: String?,
            _ limit: Limit?, _ detail: Detail?, _ retryAfter: Duration?, _ partialErrors: [ItemID: ChangeFeedError],
            _ serverRecord: Record?, _ clientRecord: Record?, _ ancestorRecord: Record?
        ) {
            self.code = code
            self.message = message
            self.recordID = recordID
            self.zoneID = zoneID
            self.rule = rule
            self.limit = limit
            self.detail = detail
            self.retryAfter = retryAfter
            self.partialErrors = partialErrors
            self.serverRecord = serverRecord
            self.clientRecord = clientRecord
            self.ancestorRecord = ancestorRecord
        }
    }

    private let context: Context

    /// An error from all its parts.
    public init(
        _ code: Code,
        _ message: String,
        recordID: Record.ID? = nil,
        zoneID: RecordZone.ID? = nil,
        rule: String? = nil,
        limit: Limit? = nil,
        detail: Detail? = nil,
        retryAfter: Duration? = nil,
        partialErrors: [ItemID: ChangeFeedError] = [:],
        serverRecord: Record? = nil,
        clientRecord: Record? = nil,
        ancestorRecord: Record? = nil
    ) {
        context = Context(
            code, message, recordID, zoneID ?? recordID?.zoneID, rule, limit, detail, retryAfter, partialErrors,
            serverRecord, clientRecord, ancestorRecord
        )
    }

    /// What kind of error it is.
    public var code: Code { context.code }
    /// What happened, to which item, and what to do: one or two sentences for a person.
    public var message: String { context.message }
    /// The record that is to blame.
    public var recordID: Record.ID? { context.recordID }
    /// The zone that is to blame, or that the record to blame is in.
    public var zoneID: RecordZone.ID? { context.zoneID }
    /// The id of the rule that was broken, such as "M3".
    public var rule: String? { context.rule }
    /// The bound that was exceeded.
    public var limit: Limit? { context.limit }
    /// What tells this error from another with the same code.
    public var detail: Detail? { context.detail }
    /// How long to wait before trying again; any error may carry it (rule E1).
    public var retryAfter: Duration? { context.retryAfter }
    /// For a partial failure, the errors of the items that failed (rule E5).
    public var partialErrors: [ItemID: ChangeFeedError] { context.partialErrors }
    /// In a conflict, the record as the server has it: merge into this one (rule M18).
    public var serverRecord: Record? { context.serverRecord }
    /// In a conflict, the record that was to be saved.
    public var clientRecord: Record? { context.clientRecord }
    /// In a conflict, the version that the client had changed, if it brought its values (section 6.9a).
    public var ancestorRecord: Record? { context.ancestorRecord }
}

extension ChangeFeedError: LocalizedError, CustomStringConvertible {
    /// The message.
    public var errorDescription: String? { message }

    /// Code, item and message.
    public var description: String {
        let item = recordID.map { " [\($0)]" } ?? zoneID.map { " [\($0)]" } ?? ""
        let because = rule.map { " (rule \($0))" } ?? ""
        return "\(code)\(item): \(message)\(because)"
    }
}

// MARK: - Errors that are thrown in several places

extension ChangeFeedError {
    static var cancelled: ChangeFeedError {
        ChangeFeedError(.operationCancelled, "The request was cancelled before it began.")
    }

    /// A server that says "more" must move the token on (rule 6.3.2). An empty page on the way is no fault.
    static func noProgress(zoneID: RecordZone.ID?) -> ChangeFeedError {
        ChangeFeedError(
            .internalError,
            "The server says that more is coming, but gives nothing new: try again later.",
            zoneID: zoneID, rule: "6.3.2", detail: .noProgress)
    }

    /// The same error, about one record.
    func naming(_ recordID: Record.ID) -> ChangeFeedError {
        ChangeFeedError(
            code, message, recordID: recordID, rule: rule, limit: limit, detail: detail, retryAfter: retryAfter)
    }
}
