import ChangeFeed

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SyncEngine.JournalEntry: CustomStringConvertible {
    /// Time, number, pass and event, in one line.
    public var description: String {
        let time = time.formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
        return "\(time) #\(number)" + (pass.map { " pass \($0)" } ?? "") + " \(event)"
    }
}

extension SyncEngine.JournalEntry.Event: CustomStringConvertible {
    /// What happened, as words.
    public var description: String {
        switch self {
        case .created(let revision, let user, let policy):
            "created from " + (revision.map { "revision \($0)" } ?? "no state") + " of "
                + (user ?? "nobody") + ", policy \(policy)"
        case .stopped: "stopped"
        case .triggered(let kind, let decision, let situation):
            "trigger \(kind.rawValue) while \(situation.rawValue): \(decision)"
        case .called(let call, let decision, let situation): "call \(call) while \(situation.rawValue): \(decision)"
        case .cancelled(let what): "cancelled: \(what)"
        case .began(let kind, let reason, let triggers):
            "began \(kind), \(reason)"
                + (triggers.isEmpty ? "" : ", for \(triggers.map(\.rawValue).joined(separator: ", "))")
        case .ended(let result): "ended: \(result)"
        case .requested(let request): "request: \(request)"
        case .answered(let answer): "answer: \(answer)"
        case .failed(let request, let code, let retryAfter):
            "failed: \(request): \(code)" + (retryAfter.map { ", again in \($0)" } ?? "")
        case .dropped(let what): "dropped, for it came too late: \(what)"
        case .delivered(let event, let delivery): "handed over \(event) as \(delivery)"
        case .acknowledged(let event, let delivery): "acknowledged \(event), \(delivery)"
        case .refused(let event, let delivery, let error): "not acknowledged \(event), \(delivery): \(error)"
        case .asked(let what, let answer): "asked for \(what): \(answer)"
        case .resync(let zone, let reason):
            "resync of " + (zone.map { "\($0)" } ?? "the database") + ": \(reason)"
        case .quarantined(let record, let reason): "quarantined \(record): \(reason)"
        case .parked(let zone, let count): "parked \(count) changes of \(zone)"
        case .held(let record, let reason): "held back \(record): \(reason)"
        case .satisfied(let record, let reason): "nothing to send of \(record): \(reason)"
        case .divided(let items, let parts, let reason): "divided \(items) items into \(parts): \(reason)"
        case .account(let result): "account: \(result)"
        case .retryScheduled(let delay, let floor, let work):
            "repetition of \(work) in \(delay)" + (floor.map { ", the server wants \($0)" } ?? "")
        case .pending(let added, let removed, let total): "pending: \(added) added, \(removed) removed, \(total) in all"
        case .persisted(let revision, let bytes): "stored revision \(revision) with \(bytes) bytes"
        case .notPersisted(let reason): "not stored: \(reason)"
        }
    }
}

extension SyncEngine.Decision: CustomStringConvertible {
    /// The decision, with its reason.
    public var description: String {
        switch self {
        case .starts: "starts"
        case .joins: "joins"
        case .queued: "queued"
        case .deferred(let wait, let reason): "deferred for \(wait), \(reason.rawValue)"
        case .ignored(let reason): "ignored, \(reason.rawValue)"
        }
    }
}
